import { NowcastError, WireError } from "../errors/nowcast-error.js";
import { copyOf } from "./copy-of.js";

/**
 * MessagePack (https://github.com/msgpack/msgpack/blob/master/spec.md), whole and small.
 *
 * Integers that a double holds exactly are numbers, others bigints. A map is a plain object if all its keys are
 * strings, otherwise a `Map`. Floats are decoded to numbers, so 1.0 and 1 are the same value.
 */
export type MsgpackValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | MsgpackExtension
  | MsgpackTimestamp
  | readonly MsgpackValue[]
  | ReadonlyMap<MsgpackValue, MsgpackValue>
  | { readonly [key: string]: MsgpackValue | undefined };

/** An application's own type, passed through unchanged. */
export class MsgpackExtension {
  constructor(
    /** −128 to 127; negative ones are the specification's. */
    readonly type: number,
    readonly data: Uint8Array,
  ) {}
}

/** Extension type −1: a point in time with nanoseconds, which a `Date` would lose. */
export class MsgpackTimestamp {
  constructor(
    /** Since 1970, may be negative. */
    readonly seconds: bigint,
    /** 0 to 999,999,999. */
    readonly nanoseconds: number,
  ) {}
}

export interface MsgpackDecodeOptions {
  /** Levels of arrays and maps. 128 by default. */
  readonly depthMax?: number;
}

const DEPTH_MAX = 128;

/** Decodes exactly one value; throws a {@link WireError} for all other input. Binary values are copies. */
export function decodeMsgpack(bytes: Uint8Array, options?: MsgpackDecodeOptions): MsgpackValue {
  const reader = new MsgpackReader(bytes, options?.depthMax ?? DEPTH_MAX);
  const value = reader.value();
  reader.end();
  return value;
}

/** Encodes a value in its shortest form into a new array. */
export function encodeMsgpack(value: MsgpackValue): Uint8Array<ArrayBuffer> {
  const writer = new MsgpackWriter();
  writer.value(value);
  return writer.take();
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

  /** A count is believed only as far as the bytes that are left could hold it. */
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

/** Writes values into one growing buffer that is used again. */
export class MsgpackWriter {
  #bytes: Uint8Array<ArrayBuffer> = new Uint8Array(256);
  #view = new DataView(this.#bytes.buffer);
  #offset = 0;
  #depth = 0;

  /** Returns a copy of the written bytes, and starts again. */
  take(): Uint8Array<ArrayBuffer> {
    const taken = this.#bytes.slice(0, this.#offset);
    this.#offset = 0;
    this.#depth = 0;
    return taken;
  }

  value(value: MsgpackValue | undefined): void {
    if (value === null || value === undefined) return this.#byte(0xc0);
    switch (typeof value) {
      case "boolean":
        return this.#byte(value ? 0xc3 : 0xc2);
      case "number":
        return this.#number(value);
      case "bigint":
        return this.#bigint(value);
      case "string":
        return this.#text(value);
      case "object":
        return this.#object(value);
      default:
        throw new NowcastError("misuse", `MessagePack has no ${typeof value}`);
    }
  }

  #object(value: MsgpackValue & object): void {
    if (value instanceof Uint8Array) {
      this.#head(value.length, 0xc4, 0xc5, 0xc6);
      return this.#raw(value);
    }
    if (value instanceof MsgpackExtension) return this.#extension(value.type, value.data);
    if (value instanceof MsgpackTimestamp) return this.#extension(-1, timestampBytes(value));
    if (++this.#depth > DEPTH_MAX) {
      throw new NowcastError("misuse", `more than ${DEPTH_MAX} levels: does the value contain itself?`);
    }
    if (Array.isArray(value)) {
      this.#collection(value.length, 0x90, 0xdc);
      for (const item of value as readonly MsgpackValue[]) this.value(item);
    } else if (value instanceof Map) {
      this.#collection(value.size, 0x80, 0xde);
      for (const [key, item] of value as ReadonlyMap<MsgpackValue, MsgpackValue>) {
        this.value(key);
        this.value(item);
      }
    } else {
      this.#record(value as { readonly [key: string]: MsgpackValue | undefined });
    }
    this.#depth--;
  }

  /** A key with the value `undefined` is omitted, as in JSON. */
  #record(value: { readonly [key: string]: MsgpackValue | undefined }): void {
    const keys = Object.keys(value).filter((key) => value[key] !== undefined);
    this.#collection(keys.length, 0x80, 0xde);
    for (const key of keys) {
      this.#text(key);
      this.value(value[key]);
    }
  }

  #number(value: number): void {
    if (Number.isSafeInteger(value) && !Object.is(value, -0)) return this.#integer(value);
    // Uses the shorter form if it is exact. −0 and NaN are rare, and use the wider form.
    if (Math.fround(value) === value && value !== 0) {
      const at = this.#tag(0xca, 4);
      this.#view.setFloat32(at, value);
    } else {
      const at = this.#tag(0xcb, 8);
      this.#view.setFloat64(at, value);
    }
  }

  #integer(value: number): void {
    if (value >= 0) {
      if (value < 0x80) this.#byte(value);
      else if (value < 0x100) this.#fixed8(0xcc, value);
      else if (value < 0x1_0000) this.#fixed16(0xcd, value);
      else if (value < 0x1_0000_0000) this.#fixed32(0xce, value);
      else this.#fixed64(0xcf, BigInt(value));
    } else if (value >= -0x20) this.#byte(value & 0xff);
    else if (value >= -0x80) this.#fixed8(0xd0, value);
    else if (value >= -0x8000) this.#fixed16(0xd1, value);
    else if (value >= -0x8000_0000) this.#fixed32(0xd2, value);
    else this.#fixed64(0xd3, BigInt(value));
  }

  #bigint(value: bigint): void {
    if (value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER)) {
      this.#integer(Number(value));
    } else if (BigInt.asUintN(64, value) === value) {
      this.#fixed64(0xcf, value);
    } else if (BigInt.asIntN(64, value) === value) {
      this.#fixed64(0xd3, value);
    } else {
      throw new NowcastError("misuse", `${value} does not fit into 64 bits`);
    }
  }

  #text(value: string): void {
    const length = utf8Length(value);
    if (length < 32) this.#byte(0xa0 | length);
    else this.#head(length, 0xd9, 0xda, 0xdb);
    const at = this.#reserve(length);
    if (length === value.length && length < 32) {
      for (let i = 0; i < length; i++) this.#bytes[at + i] = value.charCodeAt(i);
    } else {
      new TextEncoder().encodeInto(value, this.#bytes.subarray(at, at + length));
    }
  }

  #extension(type: number, data: Uint8Array): void {
    const power = Math.log2(data.length);
    if (Number.isInteger(power) && power <= 4) this.#byte(0xd4 + power);
    else this.#head(data.length, 0xc7, 0xc8, 0xc9);
    this.#byte(type & 0xff);
    this.#raw(data);
  }

  #collection(count: number, fixed: number, tag16: number): void {
    if (count < 16) this.#byte(fixed | count);
    else if (count < 0x1_0000) this.#fixed16(tag16, count);
    else this.#fixed32(tag16 + 1, count);
  }

  #head(length: number, tag8: number, tag16: number, tag32: number): void {
    if (length < 0x100) this.#fixed8(tag8, length);
    else if (length < 0x1_0000) this.#fixed16(tag16, length);
    else this.#fixed32(tag32, length);
  }

  #fixed8(tag: number, value: number): void {
    const at = this.#tag(tag, 1);
    this.#view.setUint8(at, value);
  }

  #fixed16(tag: number, value: number): void {
    const at = this.#tag(tag, 2);
    this.#view.setUint16(at, value);
  }

  #fixed32(tag: number, value: number): void {
    const at = this.#tag(tag, 4);
    this.#view.setUint32(at, value);
  }

  #fixed64(tag: number, value: bigint): void {
    const at = this.#tag(tag, 8);
    this.#view.setBigUint64(at, value);
  }

  /**
   * Writes a tag and returns the position of its `length` bytes. Call it before using `view`, which may be replaced.
   */
  #tag(tag: number, length: number): number {
    const at = this.#reserve(1 + length);
    this.#bytes[at] = tag;
    return at + 1;
  }

  #byte(value: number): void {
    const at = this.#reserve(1);
    this.#bytes[at] = value;
  }

  #raw(data: Uint8Array): void {
    const at = this.#reserve(data.length);
    this.#bytes.set(data, at);
  }

  #reserve(length: number): number {
    const at = this.#offset;
    this.#offset = at + length;
    if (this.#offset > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(this.#offset, this.#bytes.length * 2));
      grown.set(this.#bytes);
      this.#bytes = grown;
      this.#view = new DataView(grown.buffer);
    }
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

/** Length in UTF-8; throws for a lone surrogate, which has none. */
export function utf8Length(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    length++;
    if (unit < 0x800) continue;
    length++;
    if (unit < 0xd800 || unit > 0xdfff) continue;
    const next = text.charCodeAt(i + 1);
    if (unit > 0xdbff || !(next >= 0xdc00 && next <= 0xdfff)) {
      throw new NowcastError("misuse", `a lone surrogate at index ${i} has no UTF-8 form`);
    }
    // Two units stand for four bytes. Two are counted as units, one as above 0x7f, and one as above 0x7ff.
    i++;
  }
  return length;
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

function timestampBytes({ seconds, nanoseconds }: MsgpackTimestamp): Uint8Array {
  if (!(Number.isInteger(nanoseconds) && nanoseconds >= 0 && nanoseconds <= 999_999_999)) {
    throw new NowcastError("misuse", `a timestamp with ${nanoseconds} nanoseconds`);
  }
  if (seconds >= 0n && seconds < 1n << 34n) {
    if (nanoseconds === 0 && seconds < 1n << 32n) {
      const view = new DataView(new ArrayBuffer(4));
      view.setUint32(0, Number(seconds));
      return new Uint8Array(view.buffer);
    }
    const view = new DataView(new ArrayBuffer(8));
    view.setBigUint64(0, (BigInt(nanoseconds) << 34n) | seconds);
    return new Uint8Array(view.buffer);
  }
  const view = new DataView(new ArrayBuffer(12));
  view.setUint32(0, nanoseconds);
  view.setBigInt64(4, seconds);
  return new Uint8Array(view.buffer);
}

/** Length in UTF-8 of text without lone surrogates, such as every text that arrived in a WebSocket frame. */
export function utf8LengthWellFormed(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    length += unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 1 : 2;
  }
  return length;
}
