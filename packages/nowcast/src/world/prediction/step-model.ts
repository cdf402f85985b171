import type { NumberArray } from "../interpolation/rotation.js";
import type { PoseBuffer } from "../poses/layer.js";
import type { Entity } from "../world.js";

/** How some kinds' avatars move, step by step. */
export interface StepModel {
  readonly errorM: number;
  readonly corrections: number;
  /** Displayed distance of the avatar from its prediction, in metres. */
  readonly offsetM: number;
  /** Starts with an avatar, at the newest step of the clock. */
  begin(avatar: Entity): void;
  /** Starts again at the newest step of the clock, after steps were left out. */
  restart(avatar: Entity): void;
  /** Displays the avatar at this position, from which it glides to its prediction. */
  glideFrom(position: NumberArray): void;
  /** Takes this number of steps, and computes the displayed pose. */
  advance(avatar: Entity, steps: number): void;
  /** Handles a snapshot. The server took `step` of this client at the world's step `tick`. */
  onSnapshot(avatar: Entity, step: number, tick: number, moved: readonly Entity[]): void;
  /** Writes the displayed pose of the avatar. */
  pose(out: PoseBuffer): void;
  /** Writes the predicted position after a step that is still stored. */
  readPosition(step: number, out: { [axis: number]: number }): void;
}
