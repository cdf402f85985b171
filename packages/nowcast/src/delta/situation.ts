/** Facts that both ends know about a row and a column before they code it. They are the contexts of the models. */
export interface Situation {
  /** Whether the row changed in the newest baseline (lowest bit), in the one before, and so on. */
  changed: number;
  /** Whether the rows before it in this frame changed, likewise. */
  near: number;
  /** The row's first two flags in the baseline. */
  flags: number;
  /** The largest last step of the row in any column. */
  speed: number;
  /** The column's error, in sixteenths of a step. */
  error: number;
  /** The error of guesses in this row, or else in the last row that changed. */
  rowError: number;
}

export function newSituation(): Situation {
  return { changed: 0, near: 0, flags: 0, speed: 0, error: 0, rowError: 0 };
}
