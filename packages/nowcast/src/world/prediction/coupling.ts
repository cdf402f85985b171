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
}

/**
 * A simulation that runs with an avatar step by step, such as the bodies that it pushes: `Predictor.couple`. The
 * predictor makes all calls, within its `sample` and when a snapshot arrives; no call may throw. Steps are those of the
 * predictor.
 */
export interface PredictionCoupling {
  /**
   * The avatar took `step`, from `before` to `after`, as if all bodies stood still. If a movable body is in its way,
   * the simulation overwrites `after`, and returns true if the body was touched. Steps are consecutive, except after
   * `rewind` and `restart`.
   */
  step(step: number, input: Input, gait: Gait, before: WalkerMotion, after: WalkerMotion): boolean;
  /** The steps after this one are repeated, up to the newest step taken so far. */
  rewind(step: number, newest: number): void;
  /** Forgets the past: the prediction starts again, the avatar was teleported, or the page was suspended. */
  restart(): void;
  /**
   * Receives the world's step `tick`, which corresponds to the own step `step`; `undefined` if that is not known.
   * Returns true if the steps since then must be repeated.
   */
  onSnapshot(step: number | undefined, tick: number, moved: readonly Entity[]): boolean;
  /** Maximum difference between the server's answer and the prediction for `step` without a correction, in metres. */
  toleranceM(step: number): number;
  /** An avatar that is absent from snapshots for this many steps is known to rest. */
  readonly quietSteps: number;
  /** Whether the simulation moves this entity, so that the avatar does not collide with its received pose. */
  owns(id: EntityId): boolean;
  /** The avatar throws an entity after `step`, with this velocity in metres a second relative to the avatar. */
  threw(step: number, id: EntityId, velocity: readonly number[]): void;
}
