import type { DeltaGuess } from "./guess.js";
import type { Situation } from "./situation.js";

/**
 * The symbols of a mode, in either direction. A writer writes its argument and returns it; a reader ignores the
 * argument and returns the symbol that it reads. One walk over the rows therefore serves both, and they cannot
 * disagree.
 */
export interface Symbols {
  /** The current byte of writing or reading. */
  readonly at: number;
  /** Whether each row has a mask of the columns that were right and are wrong now. */
  readonly hasMask: boolean;
  /** `count` bits without a model. */
  plain(value: number, count: number): number;
  /** Whether a row of the baseline changed: 0 or 1. */
  changed(situation: Situation, bit: number): number;
  flag(column: number, guess: DeltaGuess, situation: Situation, residual: number): number;
  /** Which component of an orientation is left out, as the difference modulo 4. */
  largest(column: number, guess: DeltaGuess, situation: Situation, residual: number): number;
  /** The signed 32-bit residual of any other column. */
  number(column: number, group: number, guess: DeltaGuess, situation: Situation, residual: number): number;
}
