import type { Entity, EntityId, Input } from "../world.js";
import type { Gait } from "./mover.js";

/** A walker at one step: all that its next step depends on beside its controls. Metres and metres a second, of 32 bits. */
export interface WalkerMotion {
  px: number;
  py: number;
  pz: number;
  vx: number;
  vy: number;
  vz: number;
  stepsSinceGround: number;
  stepsSinceJump: number;
  /** How many of the normals in `grounds` hold; at most four. */
  groundCount: number;
  /** Upward normals of what carries it: three numbers each. */
  readonly grounds: Float32Array;
}

/**
 * A simulation that goes along with an avatar step by step, such as the bodies that it pushes:
 * `Predictor.couple`. The predictor makes all calls, within its `sample` and when a snapshot arrives; no call
 * may throw. Steps are those of the predictor.
 */
export interface PredictionCoupling {
  /**
   * The avatar took `step`, from `before` to `after`, as it goes among bodies that stand still. Where something that can move is in its way,
   * `after` is written anew, and the answer is true if it was touched. Steps follow each other by one, except after `rewind` and `restart`.
   */
  step(step: number, input: Input, gait: Gait, before: WalkerMotion, after: WalkerMotion): boolean;
  /** The steps after this one are taken again, up to the newest that was taken so far. */
  rewind(step: number, newest: number): void;
  /** Forgets the past: the prediction begins anew, the avatar is somewhere else, or the page has slept. */
  restart(): void;
  /**
   * News of the world's step `tick`, which holds after `step` of one's own; undefined where that is not known. True if it says that steps
   * since then have to be taken again.
   */
  onSnapshot(step: number | undefined, tick: number, moved: readonly Entity[]): boolean;
  /** How far an answer of the server may be from what was predicted of `step` without a correction, in metres. */
  toleranceM(step: number): number;
  /** If an avatar is absent from snapshots for this many steps, it is known to stand where it was. */
  readonly quietSteps: number;
  /** Whether it is one of those that it moves, so that the avatar does not meet it where it was heard of. */
  owns(id: EntityId): boolean;
  /** Something leaves one's hands after `step`, with this velocity in metres a second beside that of the avatar then. */
  threw(step: number, id: EntityId, velocity: readonly number[]): void;
}
