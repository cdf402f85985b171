import type { EntityId, Interpolator, Predictor, World, Pose as WorldPose } from "nowcast/world";
import { Quaternion, Vector3 } from "three";
import type { Pose } from "./pose.js";

/** The part of a {@link World} that {@link ShownPoses} needs. */
export type ShownWorld = Pick<World, "avatarId" | "entities">;

/** A prediction of the own avatar: a {@link Predictor} of the SDK, or another implementation. */
export interface ShownPrediction extends Pick<Predictor, "sample" | "place" | "holding"> {
  /**
   * Writes the predicted pose of the own avatar; returns false while it cannot be predicted. `interpolated` is the pose
   * without a prediction.
   */
  pose(out: WorldPose, interpolated: WorldPose): boolean;
}

/** A prediction of bodies that the own avatar touches, such as the `BodyPredictor` of `@nowcast/predict-rapier`. */
export interface ShownBodies {
  /** Advances to this moment; called once a frame, after the prediction of the avatar. */
  sample(nowMs: number): void;
  /** Changes an interpolated pose to the predicted one; returns false, without writing, for other entities. */
  place(id: EntityId, pose: WorldPose): boolean;
}

/** Maximum length of the chain of parents that is followed from an entity to the avatar. */
const PARENTS_MAX = 16;

/**
 * The only source of poses in a frame. The own avatar is predicted, and everything attached to it or held by
 * it moves with the prediction. Bodies that it touches are predicted if {@link ShownPoses.bodies} is set. All
 * other entities are interpolated.
 */
export class ShownPoses {
  /** Whether the own avatar is shown at its predicted pose. */
  isPredicted = false;
  /** Predicts bodies around the avatar, once it is loaded. */
  bodies: ShownBodies | undefined;

  readonly #interpolated = { position: new Float64Array(3), quaternion: new Float64Array(4) };
  readonly #predicted = { position: new Float64Array(3), quaternion: new Float64Array(4) };
  readonly #avatarAt = new Vector3();
  readonly #shownAt = new Vector3();
  /** The transform from the interpolated to the predicted avatar. */
  readonly #turn = new Quaternion();
  readonly #place = new Float64Array(3);
  readonly #world: ShownWorld;
  readonly #interpolator: Pick<Interpolator, "sample" | "pose">;
  readonly #predictor: ShownPrediction | undefined;

  constructor(
    world: ShownWorld,
    interpolator: Pick<Interpolator, "sample" | "pose">,
    predictor: ShownPrediction | undefined,
  ) {
    this.#world = world;
    this.#interpolator = interpolator;
    this.#predictor = predictor;
  }

  /**
   * Chooses the moment for which {@link ShownPoses.pose} returns poses. Call it once a frame, before any pose
   * is read.
   */
  sample(nowMs: number): void {
    this.#interpolator.sample(nowMs);
    this.#predictor?.sample(nowMs);
    this.bodies?.sample(nowMs);
    const { avatarId } = this.#world;
    this.isPredicted =
      avatarId !== undefined &&
      this.#interpolator.pose(avatarId, this.#interpolated) &&
      this.#predictor?.pose(this.#predicted, this.#interpolated) === true;
    if (!this.isPredicted) return;
    this.#avatarAt.fromArray(this.#interpolated.position);
    this.#shownAt.fromArray(this.#predicted.position);
    this.#turn.identity();
    // The body of an avatar that holds an item turns with the item, so the interpolated rotation is used
    // here.
    if (this.#predictor!.holding !== undefined) return;
    this.#turn
      .fromArray(this.#predicted.quaternion)
      .multiply(QUATERNION.fromArray(this.#interpolated.quaternion).conjugate());
  }

  /** Writes the pose of an entity; returns false for an entity that is not in the world. */
  pose(id: EntityId, out: Pose): boolean {
    if (!this.#interpolator.pose(id, this.#interpolated)) return false;
    const isBody = id !== this.#world.avatarId && this.bodies?.place(id, this.#interpolated) === true;
    POSITION.fromArray(this.#interpolated.position);
    QUATERNION.fromArray(this.#interpolated.quaternion);
    if (this.isPredicted && !isBody) this.#predict(id);
    out.x = POSITION.x;
    out.y = POSITION.y;
    out.z = POSITION.z;
    out.qx = QUATERNION.x;
    out.qy = QUATERNION.y;
    out.qz = QUATERNION.z;
    out.qw = QUATERNION.w;
    return true;
  }

  /** Changes `POSITION` and `QUATERNION` from the interpolated to the predicted pose of an entity. */
  #predict(id: EntityId): void {
    if (this.#isAttached(id)) {
      POSITION.sub(this.#avatarAt).applyQuaternion(this.#turn).add(this.#shownAt);
      QUATERNION.premultiply(this.#turn);
    } else if (this.#isHeld(id)) {
      POSITION.sub(this.#avatarAt).add(this.#shownAt);
    }
    POSITION.toArray(this.#place);
    if (this.#predictor!.place(id, this.#place)) POSITION.fromArray(this.#place);
  }

  /** Whether an entity is the own avatar or has it among its parents. */
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

const POSITION = new Vector3();
const QUATERNION = new Quaternion();
