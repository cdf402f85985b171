import { NowcastError } from "../errors/nowcast-error.js";
import { integerWriter, writeVarint } from "./integer-writer.js";
import { allocate } from "./memory.js";
import { CODING } from "./number-columns.js";

/**
 * Initial memory. It is large enough for the bodies of most programs, because code that is later
 * bound to other memory is compiled to slower loops.
 */
const MEMORY_BYTES = 1024 * 1024;
/** Copies of bodies are placed in chunks of this size. */
const CHUNK_BYTES = 64 * 1024;
/** Bodies that are long compared with a chunk get separate memory. */
const CUT_BYTES_MAX = CHUNK_BYTES / 8;
/** Views are made once and reused if their length, or their offset, is at most this number of bytes. */
const KEPT_VIEWS = 1024;
/** Maximum size of a column in addition to its raw values. */
const COLUMN_HEAD_BYTES = 12;
/** Maximum padding that aligns a column. */
const ALIGNMENT_BYTES = 8;
/** Maximum size of the two counts in front of a list. */
const COUNTS_BYTES = 16;
/**
 * Up to this length, a loop over the units costs less than a call of the engine's text encoder. A call of the encoder
 * costs more in browsers than in Node.
 */
const LOOP_UNITS_MAX = "process" in globalThis ? 24 : 224;

/**
 * The writer that generated code uses. Each body begins at the first byte of memory that is reused
 * for the next body. So offsets are constants, and the views for the engine's encoder can be
 * reused. Code is bound to that memory, and must be bound again when the memory is replaced by a
 * larger one.
 */
export class MessageEncoder {
  memory = allocate(MEMORY_BYTES);
  /** The body's end. */
  at = 0;
  #writeIntegers = integerWriter(this.memory);
  /** The offset at which the next column's values wait until they are encoded. */
  #waiting = 0;
  #chunk = new Uint8Array(CHUNK_BYTES);
  #chunkAt = 0;
  /** Views of the first bytes, by length, and of the following bytes, by offset. */
  #heads: Uint8Array<ArrayBuffer>[] = [];
  #tails: Uint8Array<ArrayBuffer>[] = [];

  /** The body in the reused memory, which the next body overwrites. */
  shared(): Uint8Array<ArrayBuffer> {
    const { at } = this;
    const head = at < KEPT_VIEWS ? this.#heads[at] : undefined;
    if (head !== undefined) return head;
    const fresh = this.memory.bytes.subarray(0, at);
    if (at < KEPT_VIEWS) this.#heads[at] = fresh;
    return fresh;
  }

  /**
   * A copy of the body. Short bodies share chunks that are never overwritten, because separate memory for each would
   * cost more.
   */
  copy(): Uint8Array<ArrayBuffer> {
    const { at } = this;
    if (at > CUT_BYTES_MAX) return this.memory.bytes.slice(0, at);
    if (this.#chunkAt + at > CHUNK_BYTES) {
      this.#chunk = new Uint8Array(CHUNK_BYTES);
      this.#chunkAt = 0;
    }
    const start = this.#chunkAt;
    this.#chunkAt = start + at;
    this.#chunk.set(this.shared(), start);
    return this.#chunk.subarray(start, start + at);
  }

  /** Makes room for a body with this many bytes. Returns false if the memory was replaced. */
  room(length: number): boolean {
    if (length <= this.memory.bytes.length) return true;
    this.memory = allocate(length * 2);
    this.#writeIntegers = integerWriter(this.memory);
    this.#heads = [];
    this.#tails = [];
    return false;
  }

  /** Whether a loop encodes a text with `units` units faster than the engine's encoder does. */
  isShort(units: number): boolean {
    return units <= LOOP_UNITS_MAX;
  }

  /**
   * Writes ASCII text into reserved room. Returns the bitwise or of all units, which exceeds 127 for any other text.
   */
  ascii(text: string, at: number): number {
    const { bytes } = this.memory;
    const { length } = text;
    let all = 0;
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i);
      all |= unit;
      bytes[at + i] = unit;
    }
    return all;
  }

  /** Writes a text into reserved room, and returns the text's end. A lone surrogate becomes U+FFFD. */
  utf8(text: string, at: number): number {
    const tail = (at < KEPT_VIEWS ? this.#tails[at] : undefined) ?? this.#tail(at);
    return at + utf8.encodeInto(text, tail).written;
  }

  /** Ends a body with a text in reserved room. Returns whether the text was ASCII, with one byte for each unit. */
  ascii7(text: string): boolean {
    const start = this.at;
    this.at = this.utf8(text, start);
    return this.at - start === text.length;
  }

  /**
   * Begins a body that is one list: `count` rows of `rowBytes` each while they wait, in `columns` columns, followed by
   * `text` units of text. Reserves space for the whole message. Returns false if the memory was replaced.
   *
   * One loop over the rows puts their values into aligned columns. There they wait, after enough
   * room for the largest possible heads of columns. Then each column is moved to its final place,
   * in order. The final place is never beyond the place where it waits.
   */
  rows(count: number, rowBytes: number, columns: number, text: number): boolean {
    const heads = COUNTS_BYTES + columns * COLUMN_HEAD_BYTES;
    if (!this.room(heads + columns * ALIGNMENT_BYTES + count * rowBytes + text * 3)) return false;
    const { bytes } = this.memory;
    this.#waiting = heads;
    this.at = writeVarint(bytes, writeVarint(bytes, 0, text), count);
    return true;
  }

  /**
   * Reserves a waiting column for `count` values with `width` bytes each. Returns its index in the view of that width.
   */
  column(count: number, width: number): number {
    const at = Math.ceil(this.#waiting / width);
    this.#waiting = (at + count) * width;
    return at;
  }

  /** Moves a column that waits at a byte offset to its final place, unpacked. */
  raw(from: number, length: number): void {
    const { at } = this;
    const { bytes } = this.memory;
    bytes[at] = CODING.raw;
    bytes.copyWithin(at + 1, from, from + length);
    this.at = at + 1 + length;
  }

  /**
   * Moves a column of integers that waits at a word offset to its final place, with `width` bytes
   * for each integer if they are unpacked.
   */
  integers(from: number, count: number, width: number, isUnsigned: boolean): void {
    this.at = this.#writeIntegers(this.at, from, count, width, isUnsigned);
  }

  /** Writes a column of text whose lengths wait at a word offset. */
  textLengths(from: number, count: number): void {
    this.memory.bytes[this.at++] = CODING.raw;
    this.integers(from, count, 4, true);
  }

  /** Checks that a number is whole and between two bounds. */
  whole(value: number, min: number, max: number, field: string): number {
    // Engines represent small integers differently from doubles, so this first test costs nothing
    // for them.
    if ((value | 0) === value ? value < min || value > max : !isWhole(value, min, max)) misfit(value, field);
    return value;
  }

  u64(at: number, value: number | bigint, field: string): void {
    const big = toBigInt(value, field);
    if (BigInt.asUintN(64, big) !== big) misfit(value, field);
    this.memory.view.setBigUint64(at, big, true);
  }

  i64(at: number, value: number | bigint, field: string): void {
    const big = toBigInt(value, field);
    if (BigInt.asIntN(64, big) !== big) misfit(value, field);
    this.memory.view.setBigInt64(at, big, true);
  }

  /** A variant's index, by name. */
  variant(names: readonly string[], name: string, field: string): number {
    const index = names.indexOf(name);
    if (index < 0) misfit(name, field);
    return index;
  }

  #tail(at: number): Uint8Array<ArrayBuffer> {
    const fresh = this.memory.bytes.subarray(at);
    if (at < KEPT_VIEWS) this.#tails[at] = fresh;
    return fresh;
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
