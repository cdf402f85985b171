/** Layers of poses: each changes the poses that the layers below it wrote. */
import type { NumberArray } from "../interpolation/rotation.js";
import type { EntityId } from "../world.js";

/** A pose that layers fill in, one after another. Typed arrays take numbers without an allocation. */
export interface PoseBuffer {
  readonly position: Float64Array;
  /** x, y, z, w. */
  readonly quaternion: Float64Array;
}

export function createPoseBuffer(): PoseBuffer {
  return { position: new Float64Array(3), quaternion: new Float64Array([0, 0, 0, 1]) };
}

export interface PoseLayer {
  /** Changes the pose of an entity. Returns false, without writing, for an entity that the layer does not place. */
  place(id: EntityId, pose: PoseBuffer): boolean;
}

/** The weight of a layer in the displayed position of one entity: it rises and falls in set times. */
export class Blend {
  /** From 0 to 1. */
  weight = 0;

  constructor(
    readonly enterS: number,
    readonly leaveS: number,
  ) {}

  /** Advances by a frame. A number as an argument may allocate, so it is a field. */
  advance(isIn: boolean, { frameS }: { readonly frameS: number }): void {
    const change = isIn ? frameS / this.enterS : -frameS / this.leaveS;
    this.weight = Math.min(1, Math.max(0, this.weight + change));
  }

  /** Moves a position toward a target by the weight, without a jolt at either end. */
  move(position: NumberArray, target: NumberArray): void {
    const share = this.weight * this.weight * (3 - 2 * this.weight);
    for (let axis = 0; axis < 3; axis++) position[axis]! += (target[axis]! - position[axis]!) * share;
  }
}
