import type { DeltaGuess } from "./guess.js";
import type { Situation } from "./situation.js";

/**
 * The symbols of a mode, in either direction. A writer writes its argument and returns it; a reader ignores the
 * argument and returns the symbol that it reads. So one iteration over the rows serves both, and
 * the two cannot disagree.
 */
export interface Symbols {
  /** The offset of the byte that is written or read. */
  readonly at: number;
  /**
   * Whether each row has a mask. The mask covers the columns whose last guess was right, and marks those that now have
   * a residual.
   */
  readonly hasMask: boolean;
  /** Codes `count` bits without a model. */
  plain(value: number, count: number): number;
  /** Codes whether a row of the baseline changed: 0 or 1. */
  changed(situation: Situation, bit: number): number;
  flag(column: number, guess: DeltaGuess, situation: Situation, residual: number): number;
  /** Codes the index of the omitted component of an orientation, as a difference modulo 4. */
  largest(column: number, guess: DeltaGuess, situation: Situation, residual: number): number;
  /** Codes the signed 32-bit residual of any other column. */
  number(column: number, group: number, guess: DeltaGuess, situation: Situation, residual: number): number;
}
