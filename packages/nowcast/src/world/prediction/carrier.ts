/** The body that carries a predicted avatar: it turns the avatar, and is drawn at the time of the avatar's prediction. */
import { Blend, type PoseBuffer, type PoseLayer } from "../poses/layer.js";
import type { EntityId } from "../world.js";
import type { CollisionWorld } from "./collision-world.js";
import type { Glide } from "./glide.js";
import { STEP_SECONDS } from "./mover.js";
import type { Solid } from "./solid.js";
import type { StepClock } from "./step-clock.js";

/**
 * Time in which the drawn body under the avatar moves from its interpolated position to its
 * predicted one, or back.
 */
const BLEND_S = 0.25;
const PREDICTED = [0, 0, 0];

export class Carrier implements PoseLayer {
  /** The sum of the angles by which the body has turned the avatar, in radians. */
  yaw = 0;
  /** The world's step that is shown, with a fraction; NaN while it is unknown. */
  tick = Number.NaN;
  readonly #world: CollisionWorld;
  readonly #clock: StepClock;
  /** The correction of the avatar that is not shown yet. The body moves with the avatar, so that the avatar does not slide over it. */
  readonly #glide: Glide;
  #id: EntityId | undefined;
  readonly #blend = new Blend(BLEND_S, BLEND_S);

  constructor(world: CollisionWorld, clock: StepClock, glide: Glide) {
    this.#world = world;
    this.#clock = clock;
    this.#glide = glide;
  }

  reset(): void {
    this.#id = undefined;
    this.#blend.weight = 0;
  }

  /** Records that the avatar took this many steps on a moving solid, or without one. */
  follow(solid: Solid | undefined, steps: number): void {
    const id = this.#world.carrierOf(solid);
    if (id !== undefined && id !== this.#id) {
      this.#id = id;
      this.#blend.weight = 0;
    }
    this.#blend.advance(id !== undefined, this.#clock);
    if (id !== undefined) this.yaw += solid!.spin[1]! * STEP_SECONDS * steps;
  }

  /** Moves the body under the avatar to the place at which it is drawn. */
  place(id: EntityId, { position }: PoseBuffer): boolean {
    if (id !== this.#id || this.#blend.weight === 0 || Number.isNaN(this.tick)) return false;
    if (!this.#world.placeOf(id, this.tick, PREDICTED)) return false;
    for (let axis = 0; axis < 3; axis++) PREDICTED[axis] = PREDICTED[axis]! + this.#glide.offset[axis]!;
    this.#blend.move(position, PREDICTED);
    return true;
  }
}
