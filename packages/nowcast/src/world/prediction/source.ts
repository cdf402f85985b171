import type { Pose } from "../interpolation/interpolation.js";
import type { EntityId, Input, World, WorldRecord } from "../world.js";

export interface PredictorOptions {
  /** The clock of frames, on which 60 steps are taken each second; `performance.now()` by default. */
  readonly nowMs?: (() => number) | undefined;
}

/** The parts of a {@link World} that a predictor needs. */
export type PredictionSource = Pick<
  World,
  "on" | "entities" | "avatarId" | "status" | "connection" | "input" | "act" | "definition" | "stats"
>;

/**
 * Predicts the local avatar. It takes the same steps as the server's walkers (`spec/MOVEMENT.md`)
 * without waiting for the server, and numbers them. If the server's position of the avatar differs,
 * it takes the newest steps again from that position.
 *
 * ```ts
 * const predictor = createPredictor(world);
 * const pose = { position: [0, 0, 0], quaternion: [0, 0, 0, 1] };
 * function frame(nowMs: number) {
 *   predictor.input(controls);           // instead of world.input
 *   predictor.sample(nowMs);
 *   if (predictor.pose(pose)) draw(world.avatarId, pose);
 * }
 * ```
 *
 * `sample` and `pose` do not allocate, except when controls are sent.
 */
export interface Predictor {
  /** Sets the input from the next step on. */
  input(input: Input): void;
  /** Takes the steps up to this moment. Call it once a frame, with the time of `performance.now()`. */
  sample(nowMs: number): void;
  /** Writes the shown pose of the local avatar. Returns false for an avatar that cannot be predicted. */
  pose(out: Pose): boolean;
  /**
   * Sends an action like {@link World.act}. If the world declares an effect on the hands or a launch, it is
   * shown at once: `predict` of `BindingFields` in `docs/WORLDS.md`.
   */
  act(action: string, args?: WorldRecord): Promise<void>;
  /** The item that the local avatar holds, as shown: predicted or, later, from the avatar's attribute `holding`. */
  readonly holding: EntityId | undefined;
  /**
   * Overwrites `position` of an entity with its predicted position, if an unanswered action of this client
   * affects it; otherwise returns false. Call it once a frame for each entity that own actions may affect.
   */
  place(id: EntityId, position: { [axis: number]: number }): boolean;
  /** The newest step of this client; a step lasts 1/60 s. */
  readonly step: number;
  /** The moment that is shown, in steps of this client with a fraction. */
  readonly moment: number;
  /** Distance of the shown position from the predicted one, in metres: corrections not shown yet. */
  readonly offsetM: number;
  /** Distance between the server's newest position and the prediction for its step, in metres. */
  readonly errorM: number;
  /**
   * The sum of the angles by which the ground has turned the avatar, in radians. Add its changes to the yaw
   * of the input and of the camera, so that they turn with the ground.
   */
  readonly carriedYaw: number;
  /** Number of positions from the server that differed from the prediction. */
  readonly corrections: number;
  /** Number of steps that were left out, because no frame was drawn for too long. */
  readonly skippedSteps: number;
  /** Writes the predicted position after a step. Returns false for a step that is no longer stored. */
  predicted(step: number, out: { [axis: number]: number }): boolean;
  /** Stops listening to the world. */
  close(): void;
}
