import type { DeltaGuess } from "./guess.js";
import { type Column, type DeltaLayout, difference, sum } from "./layout.js";
import { inFrameOf } from "./orientation.js";
import type { DeltaPast } from "./past.js";
import { limitedStep, magnitude, STEP_MAX } from "./scale.js";

/**
 * A predictor of the motion of entities.
 *
 * Both ends run the same predictor over the same frames in the same order, so its results must be identical to the bit
 * on all machines. Use only whole numbers, or `+ - * /`, `Math.sqrt`, `Math.floor` and comparisons.
 * Do not use functions such as `Math.sin`.
 */
export interface DeltaPredictor {
  /** Prepares for the rows of a frame. `memory` is the result of `memory()` after the baseline, or empty. */
  start(layout: DeltaLayout, past: DeltaPast, memory: Float64Array): void;

  /**
   * Guesses one column of a row that was in the baseline and has changed. Writes into `guess`, which is initially 0.
   * The row begins at `at` in `values`, and its earlier columns are known there.
   */
  guess(row: number, column: number, values: Int32Array, at: number, guess: DeltaGuess): void;

  /** Receives the true values of such a row. */
  learn(row: number, values: Int32Array, at: number): void;

  /** Returns the state to store with the baseline of this frame. */
  memory(): Float64Array;

  /**
   * Maximum entities of a frame for this predictor. It is lower than usual if the work grows faster
   * than the number of entities, so that no packet can cause much work.
   */
  readonly entitiesMax?: number;
}

const NO_MEMORY = new Float64Array(0);

/** Assumes that motion continues with the velocity between the last two baselines. */
export class LinearPredictor implements DeltaPredictor {
  #layout: DeltaLayout | undefined;
  #past: DeltaPast | undefined;
  #ahead = 0;
  #behind = 0;

  start(layout: DeltaLayout, past: DeltaPast): void {
    this.#layout = layout;
    this.#past = past;
    this.#ahead = past.age(0);
    this.#behind = (past.age(1) - past.age(0)) >>> 0;
  }

  guess(row: number, column: number, values: Int32Array, at: number, guess: DeltaGuess): void {
    const past = this.#past!;
    const kind = this.#layout!.columns[column]!;
    const now = past.start(0, row);
    if (kind.kind === "flag" || kind.kind === "largest") {
      guess.value = past.values(0)[now + column]!;
      return;
    }
    const before = past.start(1, row);
    const oldest = past.start(2, row);
    const largest = values[at + kind.first]!;
    const x0 = valueIn(past.values(0), now, column, kind, largest);
    const x1 = before < 0 ? x0 : valueIn(past.values(1), before, column, kind, largest);
    const x2 = oldest < 0 ? x1 : valueIn(past.values(2), oldest, column, kind, largest);
    const step = difference(kind, x0, x1);
    const bend = (step - difference(kind, x1, x2)) | 0;
    guess.moved = extrapolate(step, this.#ahead, this.#behind);
    guess.value = sum(kind, x0, guess.moved);
    guess.doubt = magnitude(8 * limitedStep(bend));
  }

  learn(): void {}

  memory(): Float64Array {
    return NO_MEMORY;
  }
}

/**
 * Returns a value of the row at `start`. Components can only be compared if the same component is
 * left out.
 */
function valueIn(
  rows: Int32Array,
  start: number,
  column: number,
  { kind, first, bits }: Column,
  largest: number,
): number {
  if (kind !== "component") return rows[start + column]!;
  return inFrameOf(rows, start + first, bits, largest, column - first - 1);
}

/**
 * Returns how far a value moves in `ahead` ticks if it moved by `step` in the preceding `behind`
 * ticks, rounded to the nearest whole number.
 */
function extrapolate(step: number, ahead: number, behind: number): number {
  if (step > STEP_MAX || step < -STEP_MAX || behind === 0 || behind > 255 || ahead > 255) return 0;
  return Math.floor((2 * step * ahead + behind) / (2 * behind));
}
