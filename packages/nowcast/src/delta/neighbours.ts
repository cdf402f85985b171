import type { Vector } from "./rigid.js";

/**
 * Bodies count as neighbours up to this squared distance, in body sizes. Their weight decreases
 * beyond half a body size.
 */
const NEAR_LIMIT = 16;
const NEAR_SOFT = 0.25;
/** The weight of the assumption that the deviation is 0. */
const NEAR_PRIOR = 1;
/** Expected error of a body without known neighbours, in steps. */
const SIZE_UNKNOWN = 4;
/**
 * The numbers for a body: its place, the errors of its predicted place and turn, and the size of
 * the error of the place.
 */
const STORED = 10;

/** The prediction errors of the bodies that are already decoded in a frame. */
export class Neighbours {
  #known = new Float64Array(0);
  #count = 0;
  readonly #unit: number;

  constructor(size: number) {
    this.#unit = 1 / (size * size);
  }

  clear(bodiesMax: number): void {
    this.#count = 0;
    if (this.#known.length < bodiesMax * STORED) this.#known = new Float64Array(bodiesMax * STORED);
  }

  add(place: Vector, left: Vector, leftTurn: Vector): void {
    const size = Math.abs(left[0]) + Math.abs(left[1]) + Math.abs(left[2]);
    this.#known.set([...place, ...left, ...leftTurn, size], STORED * this.#count++);
  }

  /**
   * Computes the mean errors around a place. The code is unrolled, because this loop is most of the
   * predictor's work.
   */
  near(place: Vector): { left: Vector; leftTurn: Vector; size: number } {
    const known = this.#known;
    const [x, y, z] = place;
    let total = 0;
    let leftX = 0;
    let leftY = 0;
    let leftZ = 0;
    let turnX = 0;
    let turnY = 0;
    let turnZ = 0;
    let size = 0;
    for (let at = 0; at < this.#count * STORED; at += STORED) {
      const fromX = known[at]! - x;
      const fromY = known[at + 1]! - y;
      const fromZ = known[at + 2]! - z;
      const distance = (fromX * fromX + fromY * fromY + fromZ * fromZ) * this.#unit;
      if (!(distance < NEAR_LIMIT)) continue;
      const weight = 1 / (NEAR_SOFT + distance * distance);
      total += weight;
      leftX += known[at + 3]! * weight;
      leftY += known[at + 4]! * weight;
      leftZ += known[at + 5]! * weight;
      turnX += known[at + 6]! * weight;
      turnY += known[at + 7]! * weight;
      turnZ += known[at + 8]! * weight;
      size += weight * known[at + 9]!;
    }
    const share = 1 / (total + NEAR_PRIOR);
    return {
      left: [leftX * share, leftY * share, leftZ * share],
      leftTurn: [turnX * share, turnY * share, turnZ * share],
      size: total > 0 ? size / total : SIZE_UNKNOWN,
    };
  }
}
