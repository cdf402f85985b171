import { WireError } from "../errors/nowcast-error.js";
import type { DeltaGuess } from "./guess.js";
import { type Column, type DeltaLayout, difference, holds, sum } from "./layout.js";
import type { DeltaPast } from "./past.js";
import type { DeltaPredictor } from "./predict.js";
import { limitedStep, sixteenths } from "./scale.js";
import { newSituation } from "./situation.js";
import type { Symbols } from "./symbols.js";

/** The assumed error of a value without history: 256 steps. */
const ERROR_START = 4096;
const DOUBT_START = 31;

/**
 * Codes the rows of a frame one after the other, in either direction (`spec/DELTA.md`, section 6).
 */
export class RowWalk {
  readonly values: Int32Array;
  readonly changes: Uint8Array;
  readonly errors: Uint16Array;
  /** The current row and column, for messages about invalid bytes. */
  row = -1;
  column = -1;

  readonly #columns: readonly Column[];
  readonly #flags: readonly number[];
  readonly #guesses: readonly DeltaGuess[];
  readonly #residuals: Int32Array;
  readonly #quiet: Uint8Array;
  readonly #situation = newSituation();
  readonly #symbols: Symbols;
  readonly #predictor: DeltaPredictor;
  readonly #past: DeltaPast;
  /** The output of a writer; a reader has none. */
  readonly #truth: Int32Array | undefined;

  constructor(
    symbols: Symbols,
    predictor: DeltaPredictor,
    layout: DeltaLayout,
    past: DeltaPast,
    truth: Int32Array | undefined,
  ) {
    this.#symbols = symbols;
    this.#predictor = predictor;
    this.#past = past;
    this.#truth = truth;
    const { columns, width } = layout;
    this.values = new Int32Array(past.rows * width);
    this.changes = new Uint8Array(past.rows);
    this.errors = new Uint16Array(past.rows * width);
    this.#columns = columns;
    this.#flags = columns.flatMap(({ kind }, at) => (kind === "flag" ? [at] : [])).slice(0, 2);
    this.#guesses = columns.map(() => ({ value: 0, lean: 0, doubt: 0, moved: 0 }));
    this.#residuals = new Int32Array(width);
    this.#quiet = new Uint8Array(width);
  }

  run(): void {
    for (this.row = 0; this.row < this.#past.rows; this.row++) this.#codeRow(this.row);
  }

  #codeRow(row: number): void {
    const { values, errors } = this;
    const past = this.#past;
    const symbols = this.#symbols;
    const width = this.#columns.length;
    const at = row * width;
    const base = past.start(0, row);
    this.column = -1;
    this.#situate(row, base);
    const isSame = base >= 0 && this.#truth !== undefined && this.#isSame(at, base);
    const bit = base < 0 ? 1 : symbols.changed(this.#situation, isSame ? 0 : 1);
    this.changes[row] = (this.#situation.changed << 1) | bit;
    this.#situation.near = ((this.#situation.near << 1) | bit) & 7;
    if (base >= 0) errors.set(past.baselines[0]!.errors.subarray(base, base + width), at);
    else errors.fill(ERROR_START, at, at + width);
    if (bit === 0) {
      values.set(past.values(0).subarray(base, base + width), at);
      return;
    }
    if (this.#truth !== undefined) this.#measure(row, at, base, this.#truth);
    this.#codeMask(at);
    this.#codeColumns(row, at, base);
    if (base >= 0) this.#predictor.learn(row, values, at);
  }

  #isSame(at: number, base: number): boolean {
    const before = this.#past.values(0);
    for (let column = 0; column < this.#columns.length; column++)
      if (this.#truth![at + column] !== before[base + column]) return false;
    return true;
  }

  #situate(row: number, base: number): void {
    const situation = this.#situation;
    situation.changed = base < 0 ? 1 : this.#past.baselines[0]!.changes[this.#past.place(0, row)]!;
    situation.flags = 0;
    situation.speed = 0;
    if (base < 0) return;
    const now = this.#past.values(0);
    for (let bit = 0; bit < this.#flags.length; bit++)
      situation.flags |= now[base + this.#flags[bit]!]! << bit;
    if (situation.changed === 0) return;
    const earlier = this.#past.start(1, row);
    if (earlier >= 0) situation.speed = this.#speed(now, base, this.#past.values(1), earlier);
  }

  #speed(now: Int32Array, base: number, then: Int32Array, earlier: number): number {
    let speed = 0;
    for (let column = 0; column < this.#columns.length; column++) {
      const step = limitedStep(
        difference(this.#columns[column]!, now[base + column]!, then[earlier + column]!),
      );
      if (step > speed) speed = step;
    }
    return speed;
  }

  /** Copies a row that is to be written, and computes the errors of its guesses. */
  #measure(row: number, at: number, base: number, truth: Int32Array): void {
    for (let column = 0; column < this.#columns.length; column++) {
      const value = truth[at + column]!;
      this.#guess(row, column, at, base);
      this.values[at + column] = value;
      this.#residuals[column] = residual(this.#columns[column]!, value, this.#guesses[column]!.value);
    }
  }

  #guess(row: number, column: number, at: number, base: number): void {
    const guess = this.#guesses[column]!;
    guess.value = guess.lean = guess.doubt = guess.moved = 0;
    if (base >= 0) return this.#predictor.guess(row, column, this.values, at, guess);
    guess.doubt = DOUBT_START;
    if (row > 0) guess.value = this.values[at - this.#columns.length + column]!;
  }

  /**
   * Codes the mask of the columns whose last guess was right. If the guesses of all these columns are right again, the
   * mask is one bit; otherwise each column takes one bit.
   */
  #codeMask(at: number): void {
    const quiet = this.#quiet.fill(0);
    if (!this.#symbols.hasMask) return;
    let some = 0;
    let wrong = 0;
    for (let column = 0; column < quiet.length; column++) {
      if (this.errors[at + column] !== 0) continue;
      quiet[column] = some = 1;
      if (this.#residuals[column] !== 0) wrong = 1;
    }
    if (some === 0 || this.#symbols.plain(wrong, 1) === 0) return;
    for (let column = 0; column < quiet.length; column++) {
      if (quiet[column] === 0) continue;
      quiet[column] = 1 - this.#symbols.plain(this.#residuals[column] === 0 ? 0 : 1, 1);
    }
  }

  #codeColumns(row: number, at: number, base: number): void {
    const situation = this.#situation;
    let isFirst = true;
    for (let column = 0; column < this.#columns.length; column++) {
      this.column = column;
      const { kind } = this.#columns[column]!;
      if (this.#truth === undefined) this.#guess(row, column, at, base);
      situation.error = this.errors[at + column]!;
      const off = this.#quiet[column] === 1 ? 0 : this.#codeResidual(column);
      if (this.#truth === undefined) this.values[at + column] = this.#apply(column, off);
      const size = sixteenths(off);
      this.errors[at + column] = (situation.error + size) >> 1;
      if (kind === "flag" || kind === "largest") continue;
      situation.rowError = isFirst ? size : (situation.rowError + size) >> 1;
      isFirst = false;
    }
  }

  #codeResidual(column: number): number {
    const { kind, group } = this.#columns[column]!;
    const guess = this.#guesses[column]!;
    const off = this.#residuals[column]!;
    if (kind === "flag") return this.#symbols.flag(column, guess, this.#situation, off);
    if (kind === "largest") return this.#symbols.largest(column, guess, this.#situation, off);
    return this.#symbols.number(column, group, guess, this.#situation, off);
  }

  #apply(column: number, off: number): number {
    const kind = this.#columns[column]!;
    const guess = this.#guesses[column]!.value;
    if (kind.kind === "flag") return off ^ (guess & 1);
    if (kind.kind === "largest") return (guess + off) & 3;
    const value = sum(kind, guess, off);
    if (!holds(kind, value)) throw new WireError(`${value} is out of the column's range`, this.#symbols.at);
    return value;
  }
}

function residual(column: Column, value: number, guess: number): number {
  if (column.kind === "flag") return value ^ (guess & 1);
  if (column.kind === "largest") return (value - guess) & 3;
  return difference(column, value, guess);
}
