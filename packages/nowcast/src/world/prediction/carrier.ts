/** The body that carries a predicted avatar: it turns the avatar, and is drawn at the time of the avatar's prediction. */
import type { NumberArray } from "../interpolation/rotation.js";
import type { EntityId } from "../world.js";
import type { CollisionWorld } from "./collision-world.js";
import { STEP_SECONDS } from "./mover.js";
import type { Solid } from "./solid.js";

/**
 * Time in which the drawn body under the avatar moves from its interpolated position to its
 * predicted one, or back.
 */
const BLEND_S = 0.25;
const PREDICTED = [0, 0, 0];

export class Carrier {
  /** The sum of the angles by which the body has turned the avatar, in radians. */
  yaw = 0;
  /** The world's step that is shown, with a fraction; NaN while it is unknown. */
  tick = Number.NaN;
  /** Time since the last frame, in seconds. */
  frameS = 0;
  readonly #world: CollisionWorld;
  #id: EntityId | undefined;
  /** Weight of the predicted position in the drawn position: 0 to 1. */
  #share = 0;

  constructor(world: CollisionWorld) {
    this.#world = world;
  }

  reset(): void {
    this.#id = undefined;
    this.#share = 0;
  }

  /** Records that the avatar took this many steps on a moving solid, or without one. */
  follow(solid: Solid | undefined, steps: number): void {
    const id = this.#world.carrierOf(solid);
    if (id !== undefined && id !== this.#id) {
      this.#id = id;
      this.#share = 0;
    }
    const change = (id === undefined ? -this.frameS : this.frameS) / BLEND_S;
    this.#share = Math.min(1, Math.max(0, this.#share + change));
    if (id !== undefined) this.yaw += solid!.spin[1]! * STEP_SECONDS * steps;
  }

  /**
   * Moves `position` to the place at which the body is drawn. `offset` is the correction of the avatar that is not shown yet: the
   * body moves with the avatar, so that the avatar does not slide over it. Returns false for every other body.
   */
  place(id: EntityId, position: { [axis: number]: number }, offset: NumberArray): boolean {
    if (id !== this.#id || this.#share === 0 || Number.isNaN(this.tick)) return false;
    if (!this.#world.placeOf(id, this.tick, PREDICTED)) return false;
    for (let axis = 0; axis < 3; axis++)
      position[axis]! += (PREDICTED[axis]! + offset[axis]! - position[axis]!) * this.#share;
    return true;
  }
}
