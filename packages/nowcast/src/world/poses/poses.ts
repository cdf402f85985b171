/** The one source of the poses in a frame. */
import {
  createInterpolator,
  type InterpolationSource,
  type Interpolator,
  type InterpolatorOptions,
  type Pose,
} from "../interpolation/interpolation.js";
import { multiplyRotations, rotateVector } from "../interpolation/rotation.js";
import { continueSteps, createPredictor } from "../prediction/predictor.js";
import type { PredictionSource, Predictor } from "../prediction/source.js";
import type { EntityId, Input, WorldRecord } from "../world.js";
import { Attachments } from "./attachments.js";
import { type AvatarMotions, MotionPrediction } from "./motion-prediction.js";

export interface PosesOptions {
  /** Whether the local avatar is predicted. True by default; a page that only watches needs no prediction. */
  readonly predict?: boolean | undefined;
  /**
   * Step functions for local avatars that are not walkers, by the name of their kind. Without one, such an avatar is
   * interpolated.
   */
  readonly motions?: AvatarMotions | undefined;
  readonly interpolation?: InterpolatorOptions | undefined;
}

/**
 * The poses of all entities at the moment of a frame. The local avatar is predicted, and everything attached to it or
 * held by it moves with the prediction. All other entities are interpolated.
 *
 * ```ts
 * const poses = createPoses(world);
 * const pose = { position: [0, 0, 0], quaternion: [0, 0, 0, 1] };
 * function frame(nowMs: number) {
 *   poses.input(controls); // instead of world.input
 *   poses.sample(nowMs);
 *   for (const id of world.entities.keys()) if (poses.pose(id, pose)) draw(id, pose);
 * }
 * ```
 *
 * `sample` and `pose` do not allocate, except when input is sent.
 */
export interface Poses {
  /** Sets the input of the local avatar from the next step on. */
  input(input: Input): void;
  /**
   * Sends an action like `World.act`. Shows the action's effect on the held item at once, if the world declares such an
   * effect.
   */
  act(action: string, args?: WorldRecord): Promise<void>;
  /** Chooses the moment to show. Once a frame, before any pose is read, with the clock of `performance.now()`. */
  sample(nowMs: number): void;
  /** Writes the pose of an entity at that moment; returns false for an entity that is not in the world. */
  pose(id: EntityId, out: Pose): boolean;
  /** Whether the local avatar is shown at its predicted pose. */
  readonly isPredicted: boolean;
  /** The item that the local avatar holds, as shown. */
  readonly holding: EntityId | undefined;
  /** Sum of the angles by which the ground has turned the avatar, in radians: see `Predictor.carriedYaw`. */
  readonly carriedYaw: number;
  readonly interpolator: Interpolator;
  /** The prediction of walkers; `undefined` without prediction. */
  readonly predictor: Predictor | undefined;
  /** Stops listening to the world. */
  close(): void;
}

/** The parts of a `World` that its poses need. */
export type PosesSource = PredictionSource & InterpolationSource;

export function createPoses(world: PosesSource, options: PosesOptions = {}): Poses {
  return new WorldPoses(world, options);
}

/** Longest chain of parents that is followed from an entity to the avatar. */
const PARENTS_MAX = 16;

class WorldPoses implements Poses {
  isPredicted = false;
  readonly interpolator: Interpolator;
  readonly predictor: Predictor | undefined;
  readonly #motion: MotionPrediction | undefined;
  readonly #attachments: Attachments;
  /** The poses of parents, by the length of the chain from the entity that is placed. */
  #depth = 0;
  readonly #parents: { readonly position: Float64Array; readonly quaternion: Float64Array }[] = [];
  readonly #world: PosesSource;
  readonly #interpolated = { position: new Float64Array(3), quaternion: new Float64Array(4) };
  readonly #predicted = { position: new Float64Array(3), quaternion: new Float64Array(4) };
  /** Turns the interpolated avatar into the predicted one. */
  readonly #turn = new Float64Array([0, 0, 0, 1]);
  #wasMotion = false;

  constructor(world: PosesSource, { predict = true, motions, interpolation }: PosesOptions) {
    this.#world = world;
    this.interpolator = createInterpolator(world, interpolation);
    this.predictor = predict ? createPredictor(world) : undefined;
    this.#attachments = new Attachments(world);
    this.#motion = predict && motions ? new MotionPrediction(world, motions) : undefined;
  }

  get holding(): EntityId | undefined {
    if (this.predictor) return this.predictor.holding;
    const { avatarId, entities } = this.#world;
    const held = avatarId === undefined ? undefined : entities.get(avatarId)?.attributes["holding"];
    return typeof held === "number" ? (held as EntityId) : undefined;
  }

  get carriedYaw(): number {
    return this.predictor?.carriedYaw ?? 0;
  }

  input(input: Input): void {
    this.#motion?.input(input);
    if (this.#motion?.isActive) return;
    if (this.predictor) this.predictor.input(input);
    else this.#world.input(input);
  }

  act(action: string, args: WorldRecord = {}): Promise<void> {
    return (this.predictor ?? this.#world).act(action, args);
  }

  sample(nowMs: number): void {
    this.interpolator.sample(nowMs);
    this.#followMotion(nowMs);
    this.predictor?.sample(nowMs);
    this.#motion?.sample(nowMs);
    const { avatarId } = this.#world;
    this.isPredicted = avatarId !== undefined && this.interpolator.pose(avatarId, this.#interpolated);
    if (!this.isPredicted) return;
    const [interpolated, predicted] = [this.#interpolated, this.#predicted];
    predicted.position.set(interpolated.position);
    predicted.quaternion.set(interpolated.quaternion);
    this.isPredicted = this.#motion?.pose(predicted) || (this.predictor?.pose(predicted) ?? false);
    if (!this.isPredicted) return;
    const turn = this.#turn;
    turn.fill(0);
    turn[3] = 1;
    // The body of an avatar that holds an item turns with the item, which is interpolated.
    if (this.holding === undefined) {
      for (let part = 0; part < 3; part++) turn[part] = -interpolated.quaternion[part]!;
      turn[3] = interpolated.quaternion[3]!;
      multiplyRotations(predicted.quaternion, turn, turn);
    }
  }

  pose(id: EntityId, out: Pose): boolean {
    if (this.#attachments.has(id) && this.#attach(id, out)) return true;
    return this.#poseAlone(id, out);
  }

  /** Writes the pose of an entity that nothing carries. */
  #poseAlone(id: EntityId, out: Pose): boolean {
    if (!this.interpolator.pose(id, out)) return false;
    if (this.isPredicted) this.#predict(id, out);
    return true;
  }

  /** Places an attached entity on its parent as the parent is shown. Returns false if something else places it. */
  #attach(id: EntityId, out: Pose): boolean {
    const { avatarId, entities } = this.#world;
    const parentId = entities.get(id)?.parent;
    const isOwn = this.isPredicted && id === avatarId;
    if (parentId === undefined || isOwn || this.#depth >= PARENTS_MAX) return false;
    this.#parents[this.#depth] ??= { position: new Float64Array(3), quaternion: new Float64Array(4) };
    const parent = this.#parents[this.#depth]!;
    this.#depth++;
    const isThere = this.pose(parentId, parent);
    this.#depth--;
    if (!isThere) return false;
    this.#attachments.place(id, parent, out);
    if (this.isPredicted) this.predictor?.place(id, out.position);
    return true;
  }

  close(): void {
    this.interpolator.close();
    this.predictor?.close();
    this.#motion?.close();
    this.#attachments.close();
  }

  /** Two predictions alternate: the steps of each begin after the steps of the other. */
  #followMotion(nowMs: number): void {
    const motion = this.#motion;
    if (motion === undefined) return;
    motion.follow(nowMs, this.predictor!.step);
    if (this.#wasMotion && !motion.isActive) continueSteps(this.predictor!, motion.step);
    this.#wasMotion = motion.isActive;
  }

  /** Changes the interpolated pose of an entity to the predicted one. */
  #predict(id: EntityId, out: Pose): void {
    const [from, to] = [this.#interpolated.position, this.#predicted.position];
    const { position } = out;
    if (this.#isAttached(id)) {
      for (let axis = 0; axis < 3; axis++) position[axis] = position[axis]! - from[axis]!;
      rotateVector(this.#turn, position, position);
      for (let axis = 0; axis < 3; axis++) position[axis] = position[axis]! + to[axis]!;
      multiplyRotations(this.#turn, out.quaternion, out.quaternion);
    } else if (this.#isHeld(id)) {
      for (let axis = 0; axis < 3; axis++) position[axis]! += to[axis]! - from[axis]!;
    }
    this.predictor?.place(id, position);
  }

  /** Whether an entity is the local avatar or has it among its parents. */
  #isAttached(id: EntityId): boolean {
    const { avatarId, entities } = this.#world;
    let at: EntityId | undefined = id;
    for (let depth = 0; depth <= PARENTS_MAX && at !== undefined; depth++) {
      if (at === avatarId) return true;
      at = entities.get(at)?.parent;
    }
    return false;
  }

  #isHeld(id: EntityId): boolean {
    const { avatarId, entities } = this.#world;
    return avatarId !== undefined && entities.get(avatarId)?.attributes["holding"] === id;
  }
}
