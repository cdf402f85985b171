import type { DeltaFrame } from "./frame.js";

/** Maximum number of baselines against which one frame is encoded. */
export const PAST_MAX = 3;

/** The rows of one entity in the baselines, newest first: the array, and the offset of the row in it. */
export interface PastRows {
  readonly values: readonly [Int32Array, Int32Array, Int32Array];
  readonly at: readonly [number, number, number];
}

/** The baselines of a frame, newest first, with a mapping from the rows of the frame to their rows. */
export class DeltaPast {
  /** Ticks from the newest baseline to the frame. */
  readonly ahead: number;
  /** Ticks from the baseline before to the newest; 0 if there is no baseline before. */
  readonly behind: number;
  readonly #frames: readonly DeltaFrame[];
  readonly #width: number;
  /**
   * For each baseline, the row in the baseline of each row of the frame, or a negative number; undefined if the ids are
   * the same.
   */
  readonly #places: readonly (Int32Array | undefined)[];

  constructor(tick: number, width: number, ids: Uint32Array, frames: readonly DeltaFrame[]) {
    this.#frames = frames;
    this.#width = width;
    this.#places = frames.map((frame) => (isSame(ids, frame.ids) ? undefined : lineUp(ids, frame.ids)));
    const [newest, before] = frames;
    this.ahead = newest === undefined ? 0 : (tick - newest.tick) >>> 0;
    this.behind = newest === undefined || before === undefined ? 0 : (newest.tick - before.tick) >>> 0;
  }

  /**
   * Returns the rows of the entity in the frame's `row`. If a row is missing in an older baseline, the newer baseline's
   * row counts. Returns undefined if the entity is not in the newest baseline.
   */
  rows(row: number): PastRows | undefined {
    const b = this.#start(0, row);
    if (b < 0) return undefined;
    const p = this.#start(1, row);
    const o = this.#start(2, row);
    const base = this.#frames[0]!.values;
    const before = p < 0 ? base : this.#frames[1]!.values;
    const values = [base, before, o < 0 ? before : this.#frames[2]!.values] as const;
    const start = p < 0 ? b : p;
    return { values, at: [b, start, o < 0 ? start : o] };
  }

  /** The offset of a row's values in a baseline; negative if the entity is not in it. */
  #start(depth: number, row: number): number {
    if (depth >= this.#frames.length) return -1;
    const places = this.#places[depth];
    return (places === undefined ? row : places[row]!) * this.#width;
  }
}

function isSame(a: Uint32Array, b: Uint32Array): boolean {
  return a === b || (a.length === b.length && a.every((id, at) => id === b[at]));
}

/** Both lists rise, so one pass along both finds all common ids. */
function lineUp(ids: Uint32Array, others: Uint32Array): Int32Array {
  const places = new Int32Array(ids.length);
  let at = 0;
  for (let row = 0; row < ids.length; row++) {
    while (at < others.length && others[at]! < ids[row]!) at++;
    places[row] = at < others.length && others[at] === ids[row] ? at : -1;
  }
  return places;
}
