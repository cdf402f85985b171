import { WireError } from "../errors/nowcast-error.js";
import { copyOf } from "./copy-of.js";
import { DEPTH_MAX, MsgpackExtension, MsgpackTimestamp, type MsgpackValue } from "./msgpack-value.js";

export interface MsgpackDecodeOptions {
  /** Maximum nesting of arrays and maps; 128 by default. */
  readonly depthMax?: number;
}

/**
 * Decodes exactly one value. Throws a {@link WireError} for all other input. Binary values are
 * copies.
 */
export function decodeMsgpack(bytes: Uint8Array, options?: MsgpackDecodeOptions): MsgpackValue {
  const reader = new MsgpackReader(bytes, options?.depthMax ?? DEPTH_MAX);
  const value = reader.value();
  reader.end();
  return value;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Reads consecutive values from one message. It never reads past the end, and never allocates by an unchecked length.
 */
export class MsgpackReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #depthMax: number;
  #offset = 0;
  #depth = 0;

  constructor(bytes: Uint8Array, depthMax = DEPTH_MAX) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#depthMax = depthMax;
  }

  /** Throws unless everything has been read. */
  end(): void {
    if (this.#offset !== this.#bytes.length) {
      throw new WireError(`${this.#bytes.length - this.#offset} bytes left over`, this.#offset);
    }
  }

  value(): MsgpackValue {
    const at = this.#advance(1, "a value");
    const head = this.#bytes[at]!;
    if (head < 0x80) return head;
    if (head < 0x90) return this.#map(head & 0x0f, at);
    if (head < 0xa0) return this.#array(head & 0x0f, at);
    if (head < 0xc0) return this.#text(head & 0x1f);
    if (head >= 0xe0) return head - 0x100;
    return this.#tagged(head, at);
  }

  #tagged(head: number, at: number): MsgpackValue {
    switch (head) {
      case 0xc0:
        return null;
      case 0xc2:
        return false;
      case 0xc3:
        return true;
      case 0xc4:
      case 0xc5:
      case 0xc6:
        return copyOf(this.#raw(this.#length(head - 0xc4), "binary data"));
      case 0xc7:
      case 0xc8:
      case 0xc9:
        return this.#extension(this.#length(head - 0xc7), at);
      case 0xca:
        return this.#view.getFloat32(this.#advance(4, "a float 32"));
      case 0xcb:
        return this.#view.getFloat64(this.#advance(8, "a float 64"));
      case 0xcc:
      case 0xcd:
      case 0xce:
        return this.#length(head - 0xcc);
      case 0xcf:
        return narrow(this.#view.getBigUint64(this.#advance(8, "a uint 64")));
      case 0xd0:
        return this.#view.getInt8(this.#advance(1, "an int 8"));
      case 0xd1:
        return this.#view.getInt16(this.#advance(2, "an int 16"));
      case 0xd2:
        return this.#view.getInt32(this.#advance(4, "an int 32"));
      case 0xd3:
        return narrow(this.#view.getBigInt64(this.#advance(8, "an int 64")));
      case 0xd4:
      case 0xd5:
      case 0xd6:
      case 0xd7:
      case 0xd8:
        return this.#extension(1 << (head - 0xd4), at);
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.#text(this.#length(head - 0xd9));
      case 0xdc:
      case 0xdd:
        return this.#array(this.#length(head - 0xdc + 1), at);
      case 0xde:
      case 0xdf:
        return this.#map(this.#length(head - 0xde + 1), at);
      default:
        throw new WireError("0xc1, which MessagePack never uses", at);
    }
  }

  /** An unsigned integer of 1, 2 or 4 bytes, for `width` 0, 1 or 2. */
  #length(width: number): number {
    const at = this.#advance(1 << width, "a length");
    if (width === 0) return this.#bytes[at]!;
    return width === 1 ? this.#view.getUint16(at) : this.#view.getUint32(at);
  }

  #array(count: number, at: number): MsgpackValue[] {
    this.#enter(count, 1, at);
    const values: MsgpackValue[] = [];
    for (let i = 0; i < count; i++) values.push(this.value());
    this.#depth--;
    return values;
  }

  #map(count: number, at: number): MsgpackValue {
    this.#enter(count, 2, at);
    const object: Record<string, MsgpackValue> = {};
    let map: Map<MsgpackValue, MsgpackValue> | undefined;
    for (let i = 0; i < count; i++) {
      const key = this.value();
      if (map === undefined && typeof key !== "string") map = new Map(Object.entries(object));
      const value = this.value();
      if (map !== undefined) map.set(key, value);
      else setOwn(object, key as string, value);
    }
    this.#depth--;
    return map ?? object;
  }

  /** A count is accepted only if the remaining bytes can hold that many values. */
  #enter(count: number, bytesEach: number, at: number): void {
    if (count * bytesEach > this.#bytes.length - this.#offset) {
      throw new WireError(`a count of ${count}, more than the message holds`, at);
    }
    if (++this.#depth > this.#depthMax) throw new WireError(`more than ${this.#depthMax} levels`, at);
  }

  #text(length: number): string {
    const at = this.#offset;
    const raw = this.#raw(length, "a string");
    if (length < 16) {
      const short = ascii(raw);
      if (short !== undefined) return short;
    }
    try {
      return utf8.decode(raw);
    } catch {
      throw new WireError("a string that is not UTF-8", at);
    }
  }

  #extension(length: number, at: number): MsgpackExtension | MsgpackTimestamp {
    const type = this.#view.getInt8(this.#advance(1, "an extension type"));
    const data = copyOf(this.#raw(length, "an extension"));
    return type === -1 ? readTimestamp(data, at) : new MsgpackExtension(type, data);
  }

  #raw(length: number, what: string): Uint8Array {
    const at = this.#advance(length, what);
    return this.#bytes.subarray(at, at + length);
  }

  #advance(length: number, what: string): number {
    const at = this.#offset;
    if (length > this.#bytes.length - at) throw new WireError(`the message ends inside ${what}`, at);
    this.#offset = at + length;
    return at;
  }
}

/** Sets an own property even for the key `__proto__`, which would otherwise replace the object's prototype. */
export function setOwn<T>(object: Record<string, T>, key: string, value: T): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    object[key] = value;
  }
}

function ascii(raw: Uint8Array): string | undefined {
  let text = "";
  for (let i = 0; i < raw.length; i++) {
    const unit = raw[i]!;
    if (unit >= 0x80) return undefined;
    text += String.fromCharCode(unit);
  }
  return text;
}

function narrow(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

function readTimestamp(data: Uint8Array, at: number): MsgpackTimestamp {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  let nanoseconds = 0;
  let seconds: bigint;
  if (data.length === 4) {
    seconds = BigInt(view.getUint32(0));
  } else if (data.length === 8) {
    const packed = view.getBigUint64(0);
    nanoseconds = Number(packed >> 34n);
    seconds = packed & 0x3_ffff_ffffn;
  } else if (data.length === 12) {
    nanoseconds = view.getUint32(0);
    seconds = view.getBigInt64(4);
  } else {
    throw new WireError(`a timestamp of ${data.length} bytes`, at);
  }
  if (nanoseconds > 999_999_999) throw new WireError(`a timestamp with ${nanoseconds} nanoseconds`, at);
  return new MsgpackTimestamp(seconds, nanoseconds);
}
