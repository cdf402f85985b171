import { NowcastError } from "../errors.js";
import { writeIntegers, writeVarint } from "./integer-column.js";

const CHUNK_BYTES = 64 * 1024;
/** The most that a column takes besides its raw values. */
const COLUMN_HEAD_BYTES = 12;
/** The most that the two counts in front of a list take. */
const COUNTS_BYTES = 16;
/** Up to here a loop over the units costs less than a call into the engine's encoder, which is dearer in browsers. */
const LOOP_UNITS_MAX = "process" in globalThis ? 24 : 64;

/**
 * What generated code writes with. Bodies are cut from chunks that are never written again: a small array of its own for
 * every body would cost more than writing it.
 */
export class MessageEncoder {
  bytes: Uint8Array<ArrayBuffer> = new Uint8Array(CHUNK_BYTES);
  view = new DataView(this.bytes.buffer);
  at = 0;
  private start = 0;
  private column = new Float64Array(64);

  begin(): void {
    this.start = this.at;
  }

  /** The body since `begin`. */
  finish(): Uint8Array<ArrayBuffer> {
    return this.bytes.subarray(this.start, this.at);
  }

  /** Moves on by `length` bytes, with room for `more` behind them; returns where they begin. */
  reserve(length: number, more = 0): number {
    if (this.at + length + more > this.bytes.length) this.move(length + more);
    const at = this.at;
    this.at = at + length;
    return at;
  }

  /** Writes a text for which there is room; returns its length in bytes. What has no UTF-8 form becomes U+FFFD. */
  text(text: string): number {
    const { bytes, at } = this;
    const { length } = text;
    if (length <= LOOP_UNITS_MAX) {
      let i = 0;
      for (; i < length; i++) {
        const unit = text.charCodeAt(i);
        if (unit >= 0x80) break;
        bytes[at + i] = unit;
      }
      if (i === length) {
        this.at = at + length;
        return length;
      }
    }
    const { written } = utf8.encodeInto(text, bytes.subarray(at));
    this.at = at + written;
    return written;
  }

  /**
   * Begins a body of one list: `count` rows of `width` bytes in so many columns, and `text` units of text behind them. Makes
   * room for all of it, so that `bytes` and `view` stay what they are.
   */
  rows(count: number, width: number, columns: number, text: number): void {
    this.reserve(0, COUNTS_BYTES + count * width + columns * COLUMN_HEAD_BYTES + text * 3);
    this.at = writeVarint(this.bytes, writeVarint(this.bytes, this.at, text), count);
  }

  /** Where integers are put before `integers` or `textLengths` writes them. */
  scratch(count: number): Float64Array {
    if (this.column.length < count) this.column = new Float64Array(count * 2);
    return this.column;
  }

  /** A column that is written as it stands; returns where its values go. */
  rawColumn(length: number): number {
    const at = this.at + 1;
    this.bytes[at - 1] = 0;
    this.at = at + length;
    return at;
  }

  /** The integers in `scratch`, of `width` bytes. */
  integers(count: number, width: number): void {
    this.at = writeIntegers(this.bytes, this.at, this.column, count, width);
  }

  /** A column of text whose lengths are in `scratch`. */
  textLengths(count: number): void {
    this.bytes[this.at++] = 0;
    this.integers(count, 4);
  }

  /** A number that is whole and between two bounds. */
  whole(value: number, min: number, max: number, field: string): number {
    // Engines keep small integers apart from doubles; the first question is free for them.
    if ((value | 0) === value ? value < min || value > max : !isWhole(value, min, max)) misfit(value, field);
    return value;
  }

  u64(at: number, value: number | bigint, field: string): void {
    const big = toBigInt(value, field);
    if (BigInt.asUintN(64, big) !== big) misfit(value, field);
    this.view.setBigUint64(at, big, true);
  }

  i64(at: number, value: number | bigint, field: string): void {
    const big = toBigInt(value, field);
    if (BigInt.asIntN(64, big) !== big) misfit(value, field);
    this.view.setBigInt64(at, big, true);
  }

  /** The index of a variant's name. */
  variant(names: readonly string[], name: string, field: string): number {
    const index = names.indexOf(name);
    if (index < 0) misfit(name, field);
    return index;
  }

  private move(length: number): void {
    const written = this.at - this.start;
    const bytes = new Uint8Array(Math.max(CHUNK_BYTES, (written + length) * 2));
    bytes.set(this.bytes.subarray(this.start, this.at));
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer);
    this.start = 0;
    this.at = written;
  }
}

const utf8 = new TextEncoder();

function isWhole(value: number, min: number, max: number): boolean {
  return value >= min && value <= max && Math.floor(value) === value;
}

function toBigInt(value: number | bigint, field: string): bigint {
  if (typeof value === "number" && !Number.isSafeInteger(value)) misfit(value, field);
  return BigInt(value);
}

function misfit(value: unknown, field: string): never {
  throw new NowcastError("misuse", `${field}: ${String(value)} does not fit`);
}
