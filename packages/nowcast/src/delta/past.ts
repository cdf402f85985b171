import type { DeltaBaseline } from "./baseline.js";

/** Maximum number of baselines against which one frame is encoded. */
export const PAST_MAX = 3;

const ABSENT = -1;

/**
 * The baselines of a frame, newest first, with a mapping from the rows of the frame to their rows.
 */
export class DeltaPast {
  /**
   * For each baseline, the row in the baseline of each row of the frame; undefined if the ids are
   * the same.
   */
  readonly #places: (Int32Array | undefined)[];
  readonly #tick: number;
  /** Numbers in a row. */
  readonly width: number;

  constructor(
    tick: number,
    width: number,
    ids: Uint32Array,
    readonly baselines: readonly DeltaBaseline[],
  ) {
    this.#tick = tick;
    this.width = width;
    this.rows = ids.length;
    this.#places = baselines.map(({ frame }) =>
      isSame(ids, frame.ids) ? undefined : lineUp(ids, frame.ids),
    );
  }

  /** Rows of the frame. */
  readonly rows: number;

  /** Returns the number of ticks from a baseline to the frame; 0 if there is no such baseline. */
  age(depth: number): number {
    const baseline = this.baselines[depth];
    return baseline === undefined ? 0 : (this.#tick - baseline.frame.tick) >>> 0;
  }

  /** The rows of a baseline, which must exist. */
  values(depth: number): Int32Array {
    return this.baselines[depth]!.frame.values;
  }

  /**
   * Returns the row of a baseline that has the entity of the frame's `row`; negative if the entity
   * did not exist.
   */
  place(depth: number, row: number): number {
    if (depth >= this.baselines.length) return ABSENT;
    const places = this.#places[depth];
    return places === undefined ? row : places[row]!;
  }

  /**
   * Returns the offset in `values(depth)` of the entity of the frame's `row`; negative if the
   * entity did not exist.
   */
  start(depth: number, row: number): number {
    const place = this.place(depth, row);
    return place < 0 ? ABSENT : place * this.width;
  }

  /** Whether the frame's `row` had changed in the newest baseline. */
  changed(row: number): boolean {
    const place = this.place(0, row);
    return place >= 0 && (this.baselines[0]!.changes[place]! & 1) === 1;
  }
}

/** Whether two lists of ids are the same. */
export function isSame(a: Uint32Array, b: Uint32Array): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return false;
  return true;
}

/** Both lists rise, so one pass along both finds all common ids. */
function lineUp(ids: Uint32Array, others: Uint32Array): Int32Array {
  const places = new Int32Array(ids.length);
  let at = 0;
  for (let row = 0; row < ids.length; row++) {
    while (at < others.length && others[at]! < ids[row]!) at++;
    places[row] = at < others.length && others[at] === ids[row] ? at : ABSENT;
  }
  return places;
}
