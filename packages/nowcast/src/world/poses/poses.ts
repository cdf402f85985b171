/** The poses that a world shows in a frame. Its code is loaded with the first frame. */
import { Interpolator, type InterpolatorClock } from "../interpolation/interpolation.js";
import type { PosedWorld } from "../posed-world.js";
import type { AvatarPrediction } from "../prediction/avatar-prediction.js";
import type { Display, EntityId, Pose } from "../world.js";
import { Attachments } from "./attachments.js";
import { createPoseBuffer, type PoseBuffer, type PoseLayer } from "./layer.js";

/** A stack of layers. The lowest one interpolates, and the upper ones predict what the local avatar moves. */
export class Poses implements Display {
  readonly #world: PosedWorld;
  readonly #interpolator: Interpolator;
  readonly #attachments: Attachments;
  readonly #pose = createPoseBuffer();
  #layers: readonly PoseLayer[];
  #prediction: AvatarPrediction | undefined;
  #frameMs = Number.NaN;

  constructor(world: PosedWorld, clock?: InterpolatorClock) {
    this.#world = world;
    this.#interpolator = new Interpolator(world, clock);
    this.#attachments = new Attachments(world, this.#interpolator, this);
    this.#layers = [this.#interpolator, this.#attachments];
  }

  get prediction(): AvatarPrediction | undefined {
    return this.#prediction;
  }

  /** Adds the prediction of the local avatar, whose code is loaded later. */
  predict(prediction: AvatarPrediction): void {
    this.#prediction = prediction;
    this.#layers = [this.#interpolator, this.#attachments, ...prediction.layers];
  }

  get tick(): number {
    return this.#interpolator.tick;
  }

  get delayMs(): number {
    return this.#interpolator.delayMs;
  }

  get starvedFrames(): number {
    return this.#interpolator.starvedFrames;
  }

  ageMs(id: EntityId): number {
    return this.#interpolator.ageMs(id);
  }

  hasJumped(id: EntityId): boolean {
    const prediction = this.#prediction;
    if (prediction?.isShown && id === this.#world.avatarId) return prediction.hasJumped;
    return this.#interpolator.hasJumped(id);
  }

  get isPredicted(): boolean {
    return this.#prediction?.isShown ?? false;
  }

  get carriedYaw(): number {
    return this.#prediction?.carriedYaw ?? 0;
  }

  get holding(): EntityId | undefined {
    if (this.#prediction) return this.#prediction.holding;
    const held = this.#world.avatar?.attributes["holding"];
    return typeof held === "number" ? (held as EntityId) : undefined;
  }

  /** The displayed step of the world; `undefined` before the first snapshot. */
  get shownTick(): number | undefined {
    return this.#interpolator.isRunning ? this.#interpolator.tick : undefined;
  }

  /** Chooses the moment to show. */
  frame(nowMs: number): void {
    if (nowMs === this.#frameMs) return;
    this.#frameMs = nowMs;
    this.#interpolator.sample(nowMs);
    this.#prediction?.frame(nowMs, this.#interpolator);
  }

  pose(id: EntityId, { position, quaternion }: Pose): boolean {
    const from = this.#pose;
    if (!this.place(id, from)) return false;
    position.x = from.position[0]!;
    position.y = from.position[1]!;
    position.z = from.position[2]!;
    quaternion.x = from.quaternion[0]!;
    quaternion.y = from.quaternion[1]!;
    quaternion.z = from.quaternion[2]!;
    quaternion.w = from.quaternion[3]!;
    return true;
  }

  /** Writes the pose of an entity by all layers. */
  place(id: EntityId, pose: PoseBuffer): boolean {
    const layers = this.#layers;
    if (!layers[0]!.place(id, pose)) return false;
    for (let at = 1; at < layers.length; at++) layers[at]!.place(id, pose);
    return true;
  }

  /** Stops listening to the world. */
  close(): void {
    this.#interpolator.close();
    this.#attachments.close();
    this.#prediction?.close();
  }
}
