import { WireError } from "../errors/nowcast-error.js";
import { BitReader } from "./bits.js";
import type { DeltaColumn, DeltaFrame } from "./frame.js";
import { guessOf } from "./guess.js";
import { DeltaPast, PAST_MAX, type PastRows } from "./past.js";

const DEPTH_BITS = 0b110;
const COUNT_BITS = 24;
const GAP_BITS = 6;
const ID_MAX = 0xffff_ffff;
const NO_IDS = new Uint32Array(0);

/** The expected error of a value without history: 256 steps. */
const ERROR_OF_NEW = 4096;
/** A value's expected error is this multiple of the change in velocity. */
const ERROR_OF_BEND = 8;
const BEND_MAX = 4000;
const RESIDUAL_MAX = 4000;

/** Situations of a column: its expected error, and the error of the row so far. */
const ERRORS = 32;
const ROW_ERRORS = 16;
const ZIGZAG_MAX = 65_536;

/**
 * Reads frames that are encoded as differences from acknowledged frames (`spec/DELTA.md`). Between frames it keeps only
 * scratch memory.
 */
export class FrameReader {
  readonly #columns: readonly DeltaColumn[];
  readonly #entitiesMax: number;
  /** The mean sizes of residuals, in sixteenths of a step, for each column and situation; then their start. */
  readonly #means: Int32Array;
  readonly #meansStart: Int32Array;
  readonly #errors: Int32Array;
  readonly #isCoded: Uint8Array;
  /** The entity and the column that are read, for messages about invalid bytes. */
  #field = "";

  constructor(columns: readonly DeltaColumn[], entitiesMax: number) {
    this.#columns = columns;
    this.#entitiesMax = entitiesMax;
    this.#errors = new Int32Array(columns.length);
    this.#isCoded = new Uint8Array(columns.length);
    this.#meansStart = new Int32Array(columns.length * ERRORS * ROW_ERRORS);
    for (let at = 0; at < this.#meansStart.length; at++) {
      const error = Math.floor(at / ROW_ERRORS) % ERRORS;
      this.#meansStart[at] = error < 4 ? 2 * error : (2 + (error & 1)) << (error >> 1);
    }
    this.#means = this.#meansStart.slice();
  }

  /**
   * Reads the frame of `tick` from all of `bytes`, which were encoded against `past`, newest first. Throws a `WireError`
   * if no encoder can have written these bytes against this past. Damaged bytes may be read as another frame without an
   * error, because detecting damage is the carrier's task.
   */
  read(tick: number, bytes: Uint8Array, past: readonly DeltaFrame[]): DeltaFrame {
    const known = past.slice(0, PAST_MAX);
    readHeader(bytes, known.length);
    const bits = new BitReader(bytes, 1);
    this.#field = "ids";
    try {
      const ids = readIds(bits, known[0]?.ids ?? NO_IDS, this.#entitiesMax);
      const values = this.#rows(bits, ids, new DeltaPast(tick, this.#columns.length, ids, known));
      this.#field = "end";
      bits.finish();
      return { tick, ids, values };
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      throw new WireError(error.detail, error.offset, this.#field);
    }
  }

  #rows(bits: BitReader, ids: Uint32Array, past: DeltaPast): Int32Array {
    const width = this.#columns.length;
    const values = new Int32Array(ids.length * width);
    this.#means.set(this.#meansStart);
    let rowError = 0;
    for (let row = 0; row < ids.length; row++) {
      this.#field = `entity ${ids[row]}`;
      const rows = past.rows(row);
      if (rows !== undefined && bits.plain(1) === 0) {
        const [base] = rows.at;
        values.set(rows.values[0].subarray(base, base + width), row * width);
        continue;
      }
      this.#expectErrors(rows);
      this.#readMask(bits);
      rowError = this.#row(bits, ids[row]!, row * width, rows, past, values, rowError);
    }
    return values;
  }

  #expectErrors(rows: PastRows | undefined): void {
    if (rows === undefined) {
      this.#errors.fill(ERROR_OF_NEW);
      return;
    }
    const [b, p, o] = rows.values;
    const [atB, atP, atO] = rows.at;
    for (let column = 0; column < this.#errors.length; column++) {
      const then = p[atP + column]!;
      const step = (b[atB + column]! - then) | 0;
      const bend = (step - ((then - o[atO + column]!) | 0)) | 0;
      this.#errors[column] = Math.min(Math.abs(bend), BEND_MAX) * ERROR_OF_BEND;
    }
  }

  /**
   * Reads which columns have a residual. If the guesses of all columns that are expected to be right are right, the mask is
   * one bit; otherwise each of these columns takes one bit.
   */
  #readMask(bits: BitReader): void {
    const isCoded = this.#isCoded.fill(1);
    if (!this.#errors.includes(0)) return;
    const isAnyWrong = bits.plain(1) === 1;
    for (let column = 0; column < isCoded.length; column++) {
      if (this.#errors[column] === 0) isCoded[column] = isAnyWrong ? bits.plain(1) : 0;
    }
  }

  /** Reads the columns of a row, and returns the error of its guesses. */
  #row(
    bits: BitReader,
    id: number,
    start: number,
    rows: PastRows | undefined,
    past: DeltaPast,
    values: Int32Array,
    errorBefore: number,
  ): number {
    const width = this.#columns.length;
    let rowError = errorBefore;
    let isFirst = true;
    for (let column = 0; column < width; column++) {
      this.#field = `entity ${id}.column ${column}`;
      const kind = this.#columns[column]!;
      let guess = start === 0 ? 0 : values[start - width + column]!;
      if (rows !== undefined) guess = guessOf(column, kind, rows, past, values, start);
      const residual = this.#isCoded[column] === 1 ? this.#residual(bits, column, rowError) : 0;
      values[start + column] = kind.kind === "largest" ? (guess + residual) & 3 : guess + residual;
      if (kind.kind === "component" && values[start + column]! >>> kind.bits !== 0)
        throw new WireError(`${values[start + column]} is out of the column's range`, bits.at);
      if (kind.kind === "largest") continue;
      const size = 16 * Math.min(Math.abs(residual), RESIDUAL_MAX);
      rowError = isFirst ? size : (rowError + size) >> 1;
      isFirst = false;
    }
    return rowError;
  }

  #residual(bits: BitReader, column: number, rowError: number): number {
    if (this.#columns[column]!.kind === "largest") {
      const other = bits.rice(0);
      if (other > 3) throw new WireError(`component ${other} of a quaternion`, bits.at);
      return other;
    }
    const error = magnitude(this.#errors[column]!);
    const at = (column * ERRORS + error) * ROW_ERRORS + (magnitude(rowError) >> 1);
    const mean = this.#means[at]!;
    // For a geometric distribution, the best shift is near the binary logarithm of 0.7 times the
    // mean.
    const zigzag = bits.rice(32 - Math.clz32(Math.floor(mean / 22)));
    this.#means[at] = (31 * mean + 16 * Math.min(zigzag, ZIGZAG_MAX)) >> 5;
    return (zigzag >>> 1) ^ -(zigzag & 1);
  }
}

/** Reads the header of bytes that were encoded against this many frames. */
function readHeader(bytes: Uint8Array, depth: number): void {
  const header = bytes[0];
  if (header === undefined) throw new WireError("the message ends too early", 0, "header");
  if ((header & ~DEPTH_BITS) !== 0)
    throw new WireError(`header ${header} is not of version 3 of the delta format`, 0, "header");
  if (header >> 1 !== depth)
    throw new WireError(`coded against ${header >> 1} baselines, not ${depth}`, 0, "header");
}

/** Reads a frame's ids relative to the newest baseline's (`spec/DELTA.md`, section 5). */
function readIds(bits: BitReader, base: Uint32Array, entitiesMax: number): Uint32Array {
  if (bits.plain(1) === 1) return base;
  const ids: number[] = [];
  for (const id of base) if (bits.plain(1) === 1) ids.push(id);
  const count = bits.plain(COUNT_BITS);
  if (ids.length + count > entitiesMax)
    throw new WireError(`${ids.length + count} entities, more than ${entitiesMax}`, bits.at);
  const known = new Set(base);
  let next = 0;
  for (let at = 0; at < count; at++) {
    const width = bits.plain(GAP_BITS);
    if (width > 32) throw new WireError(`a gap of ${width} bits`, bits.at);
    const id = next + bits.plain(width);
    if (id > ID_MAX) throw new WireError("an id beyond 32 bits", bits.at);
    if (known.has(id)) throw new WireError(`id ${id} is new, but in the baseline`, bits.at);
    ids.push(id);
    next = id + 1;
  }
  return Uint32Array.from(ids).sort();
}

/**
 * The size of an unsigned 32-bit number on a scale of half octaves: 0, 1, 2, 3, 4 (for 4 and 5), 5 (6 and 7), 6 (8 to
 * 11), … up to 31.
 */
function magnitude(size: number): number {
  if (size < 4) return size;
  const octave = 31 - Math.clz32(size);
  return Math.min(2 * octave + ((size >>> (octave - 1)) & 1), 31);
}
