import { NowcastError } from "../errors.js";
import { writeIntegers, writeVarint } from "./integer-column.js";
import { CODING } from "./number-columns.js";

const SCRATCH_BYTES = 64 * 1024;
/** Earlier bodies are cut from chunks of this size. */
const CHUNK_BYTES = 64 * 1024;
/** Bodies longer than a good part of a chunk get memory of their own. */
const CUT_BYTES_MAX = CHUNK_BYTES / 8;
/** Views of up to so many bytes, and from so many bytes on, are made once. */
const KEPT_VIEWS = 1024;
/** The most that a column takes besides its raw values. */
const COLUMN_HEAD_BYTES = 12;
/** The most that the two counts in front of a list take. */
const COUNTS_BYTES = 16;
/** Up to here a loop over the units costs less than a call into the engine's encoder, which is dearer in browsers. */
const LOOP_UNITS_MAX = "process" in globalThis ? 24 : 224;

/**
 * What generated code writes with. A body begins at the first byte of a buffer that is used again for the next one, so that
 * offsets are constants and the views that the engine's encoder wants can be kept.
 */
export class MessageEncoder {
  bytes: Uint8Array<ArrayBuffer> = new Uint8Array(SCRATCH_BYTES);
  view = new DataView(this.bytes.buffer);
  /** Where the body ends. */
  at = 0;
  /** The same bytes as integers of 32 bits. */
  private words = new Int32Array(this.bytes.buffer);
  /** Where columns of integers wait, and where the next one goes. */
  private waitingIntegers = 0;
  private stagedIntegers = 0;
  /** Where raw columns wait, and where the next one goes. */
  private waiting = 0;
  private staged = 0;
  private chunk = new Uint8Array(CHUNK_BYTES);
  private chunkAt = 0;
  /** Views of the first bytes, by length, and of what follows, by offset. */
  private heads: Uint8Array<ArrayBuffer>[] = [];
  private tails: Uint8Array<ArrayBuffer>[] = [];

  /** The body, where the next one will be written over it. */
  shared(): Uint8Array<ArrayBuffer> {
    const { at } = this;
    const head = at < KEPT_VIEWS ? this.heads[at] : undefined;
    if (head !== undefined) return head;
    const fresh = this.bytes.subarray(0, at);
    if (at < KEPT_VIEWS) this.heads[at] = fresh;
    return fresh;
  }

  /** A copy of the body. Short ones share chunks that are never written again: memory of its own for each would cost more. */
  copy(): Uint8Array<ArrayBuffer> {
    const { at } = this;
    if (at > CUT_BYTES_MAX) return this.bytes.slice(0, at);
    if (this.chunkAt + at > CHUNK_BYTES) {
      this.chunk = new Uint8Array(CHUNK_BYTES);
      this.chunkAt = 0;
    }
    const start = this.chunkAt;
    this.chunkAt = start + at;
    this.chunk.set(this.shared(), start);
    return this.chunk.subarray(start, start + at);
  }

  /** Makes room for a body of so many bytes. */
  room(length: number): void {
    if (length > this.bytes.length) this.grow(length);
  }

  /** Whether text of so many units is better written by a loop. */
  isShort(units: number): boolean {
    return units <= LOOP_UNITS_MAX;
  }

  /** Writes ASCII, for which there is room; returns all units or'ed together, so more than 127 for anything else. */
  ascii(text: string, at: number): number {
    const { bytes } = this;
    const { length } = text;
    let all = 0;
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i);
      all |= unit;
      bytes[at + i] = unit;
    }
    return all;
  }

  /** Writes a text for which there is room; returns where it ends. What has no UTF-8 form becomes U+FFFD. */
  utf8(text: string, at: number): number {
    const tail = (at < KEPT_VIEWS ? this.tails[at] : undefined) ?? this.tail(at);
    return at + utf8.encodeInto(text, tail).written;
  }

  /** Ends a body with a text for which there is room; whether it was ASCII, so that units were bytes. */
  ascii7(text: string): boolean {
    const start = this.at;
    this.at = this.utf8(text, start);
    return this.at - start === text.length;
  }

  /**
   * Begins a body of one list: `count` rows with `raw` bytes that are written as they stand and so many `integers`, all in so many
   * columns, and `text` units of text behind them. Makes room for all of it, so that `view` stays what it is.
   *
   * Because engines are quickest when a loop stores into one view, one loop over the rows puts everything there before
   * anything is known of the integers: raw columns wait behind the room that columns of integers take at most, and the
   * integers behind them.
   */
  rows(count: number, raw: number, integers: number, columns: number, text: number): void {
    const integerBytes = count * integers * 4;
    const heads = COUNTS_BYTES + columns * COLUMN_HEAD_BYTES;
    this.waiting = heads + integerBytes;
    this.staged = this.waiting;
    this.waitingIntegers = Math.ceil((this.waiting + count * raw + columns) / 4) * 4;
    this.stagedIntegers = this.waitingIntegers;
    this.room(this.waitingIntegers + integerBytes + text * 3);
    this.at = writeVarint(this.bytes, writeVarint(this.bytes, 0, text), count);
  }

  /** A column that is written as it stands, and waits; returns where its values go. */
  rawColumn(length: number): number {
    const at = this.staged + 1;
    this.bytes[at - 1] = CODING.raw;
    this.staged = at + length;
    return at;
  }

  /** Puts the next `length` bytes of waiting columns to their place. */
  settle(length: number): void {
    const from = this.waiting;
    this.waiting = from + length;
    if (from !== this.at) this.bytes.copyWithin(this.at, from, this.waiting);
    this.at += length;
  }

  /** A column of so many integers, of 32 bits each while it waits; returns where they go. */
  integerColumn(count: number): number {
    const at = this.stagedIntegers;
    this.stagedIntegers = at + count * 4;
    return at;
  }

  /** Writes the next waiting column of integers, of `width` bytes each where that is needed. */
  integers(count: number, width: number, isUnsigned: boolean): void {
    const from = this.waitingIntegers / 4;
    this.waitingIntegers += count * 4;
    this.at = writeIntegers(this.bytes, this.at, this.words, from, count, width, isUnsigned);
  }

  /** A column of text, whose lengths are the next waiting column. */
  textLengths(count: number): void {
    this.bytes[this.at++] = CODING.raw;
    this.integers(count, 4, true);
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

  private tail(at: number): Uint8Array<ArrayBuffer> {
    const fresh = this.bytes.subarray(at);
    if (at < KEPT_VIEWS) this.tails[at] = fresh;
    return fresh;
  }

  private grow(length: number): void {
    this.bytes = new Uint8Array(Math.ceil(length / 2) * 4);
    this.view = new DataView(this.bytes.buffer);
    this.words = new Int32Array(this.bytes.buffer);
    this.heads = [];
    this.tails = [];
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
