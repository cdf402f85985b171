/** A correction that is shown gradually, so that neither the avatar nor the camera jumps. */
import type { NumberArray } from "../interpolation/rotation.js";

/**
 * Minimum speed at which a correction is shown, in metres a second; then the share of the remaining correction that is
 * shown each second.
 */
const GLIDE_PER_S = 0.6;
const GLIDE_SHARE_PER_S = 3;
/** Maximum time, in seconds, for which one frame shows a correction. */
const GLIDE_S_MAX = 1 / 60;

export class Glide {
  /** The remaining correction: the shown position minus the predicted one, in metres. */
  readonly offset = new Float64Array(3);
  readonly #from = new Float64Array(3);

  clear(): void {
    this.offset.fill(0);
  }

  /** The length of the remaining correction, in metres. */
  get lengthM(): number {
    // `Math.hypot` and destructuring allocate.
    const x = this.offset[0]!;
    const y = this.offset[1]!;
    const z = this.offset[2]!;
    return Math.sqrt(x * x + y * y + z * z);
  }

  /** Notes the predicted position before steps are taken again. */
  from(position: NumberArray): void {
    for (let axis = 0; axis < 3; axis++) this.#from[axis] = position[axis]!;
  }

  /** Adds the difference between the noted position and the new one. */
  to(position: NumberArray): void {
    for (let axis = 0; axis < 3; axis++) this.offset[axis]! += this.#from[axis]! - position[axis]!;
  }

  add(dx: number, dy: number, dz: number): void {
    this.offset[0]! += dx;
    this.offset[1]! += dy;
    this.offset[2]! += dz;
  }

  /** Shows a part of the correction in a frame. */
  advance({ frameS }: { readonly frameS: number }): void {
    const left = this.lengthM;
    if (left === 0) return;
    const way = Math.max(GLIDE_PER_S, GLIDE_SHARE_PER_S * left) * Math.min(frameS, GLIDE_S_MAX);
    const share = left <= way ? 0 : 1 - way / left;
    for (let axis = 0; axis < 3; axis++) this.offset[axis]! *= share;
  }
}
