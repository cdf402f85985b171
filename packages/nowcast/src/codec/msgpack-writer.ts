import { NowcastError } from "../errors/nowcast-error.js";
import {
  className,
  DEPTH_MAX,
  holdsNamedValues,
  MsgpackExtension,
  MsgpackTimestamp,
  type MsgpackValue,
} from "./msgpack-value.js";

/** Encodes a value in its shortest form into a new array. */
export function encodeMsgpack(value: MsgpackValue): Uint8Array<ArrayBuffer> {
  const writer = new MsgpackWriter();
  writer.value(value);
  return writer.take();
}

/** Writes values into one growing buffer, which is reused. */
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
    if (!holdsNamedValues(value)) {
      throw new NowcastError("misuse", `MessagePack has no ${className(value)}`, {
        cause: "its values would be lost",
        cure: "convert it to a list, a map, a number or a text",
      });
    }
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

/** Length in UTF-8. A lone surrogate counts as U+FFFD, which is written for it. */
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
    if (unit > 0xdbff || !(next >= 0xdc00 && next <= 0xdfff)) continue;
    // A pair of surrogates stands for four bytes. All four are counted already: two as units, one
    // because the first unit is at least 0x80, and one because it is at least 0x800.
    i++;
  }
  return length;
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
