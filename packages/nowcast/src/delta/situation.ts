/** Facts that both ends know about a row and a column before they code it. They are the contexts of the models. */
export interface Situation {
  /** Whether the row changed in the newest baseline (lowest bit), in the previous baseline, and so on. */
  changed: number;
  /** Whether the preceding rows of this frame changed, the nearest row in the lowest bit. */
  near: number;
  /** The row's first two flags in the baseline. */
  flags: number;
  /** The largest difference, over all columns of the row, between the last two baselines. */
  speed: number;
  /** The column's error, in sixteenths of a step. */
  error: number;
  /**
   * The error of the guesses so far in this row or, before the first guess, in the last changed
   * row.
   */
  rowError: number;
}

export function newSituation(): Situation {
  return { changed: 0, near: 0, flags: 0, speed: 0, error: 0, rowError: 0 };
}
