import type { Entity, EntityId, Input } from "../world.js";
import type { Gait } from "./mover.js";

/**
 * A walker at one step: all values on which its next step depends, besides its input. Metres and metres a second, of 32
 * bits.
 */
export interface WalkerMotion {
  px: number;
  py: number;
  pz: number;
  vx: number;
  vy: number;
  vz: number;
  stepsSinceGround: number;
  stepsSinceJump: number;
  /** Number of valid normals in `grounds`; at most four. */
  groundCount: number;
  /** Upward normals of the supporting surfaces: three numbers each. */
  readonly grounds: Float32Array;
  /** Whether the walker climbed or swam in the step to this state. */
  isInMedium: boolean;
  /** The velocity with which a walker that climbs or swims entered that step, before collisions: x, y, z. */
  readonly mediumVelocity: Float32Array;
}

/**
 * A simulation that runs with an avatar step by step, such as the bodies that it pushes:
 * `Predictor.couple`. The predictor makes all calls, in its `sample` and when a snapshot arrives.
 * No call may throw. Steps are those of the predictor.
 */
export interface PredictionCoupling {
  /**
   * The avatar took `step`, from `before` to `after`, as if all bodies stood still. If a movable body is in the way,
   * the simulation overwrites `after`. Returns true if the avatar touched the body. Steps are consecutive, except after
   * `rewind` and `restart`.
   */
  step(step: number, input: Input, gait: Gait, before: WalkerMotion, after: WalkerMotion): boolean;
  /** The steps after this one will be taken again, up to the newest step so far. */
  rewind(step: number, newest: number): void;
  /**
   * Drops all state, because the prediction starts again, the avatar was teleported, or the page
   * was suspended.
   */
  restart(): void;
  /**
   * Receives the world's step `tick`, which corresponds to the client's step `step` (`undefined` if
   * unknown). Returns true if the steps since then must be taken again.
   */
  onSnapshot(step: number | undefined, tick: number, moved: readonly Entity[]): boolean;
  /** Maximum difference between the server's answer and the prediction for `step` without a correction, in metres. */
  toleranceM(step: number): number;
  /** An avatar that is absent from snapshots for this many steps counts as resting. */
  readonly quietSteps: number;
  /** Whether the simulation moves this entity, so that the avatar does not collide with its received pose. */
  owns(id: EntityId): boolean;
  /**
   * The avatar throws an entity after `step`, with this velocity relative to the avatar, in metres
   * a second.
   */
  threw(step: number, id: EntityId, velocity: readonly number[]): void;
}
