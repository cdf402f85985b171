import type { Input } from "@nowcast/page";
import type { Gait, WorldScene } from "@nowcast/three";
import type { EntityId, Pose, World } from "nowcast/world";
import { type GroundTrace, GuessedWalk } from "./guessed-walk.js";

/** Half the width of a person. */
const PERSON_RADIUS_M = 0.35;
/** Height of the shins relative to the centre: obstacles there block the walk. */
const SHINS_M = 0.3;
/** Maximum height difference of ground that a prediction follows. */
const STEP_M_MAX = 0.6;
/** Maximum distance of a predicted position from the interpolated one. */
const TRACE_M = 8;
/** Mean delay from an input to the server's step: half a frame and half a send interval. */
const INPUT_DELAY_MS = 25;
/** Maximum duration of a frame, in seconds. */
const FRAME_S_MAX = 0.1;

/** The parts of the page that steer the own avatar. */
export interface Steering {
  /**
   * The direction of the camera, if the camera turns together with this avatar. The body is then shown in
   * this direction without delay.
   */
  yawOf(avatar: EntityId): number | undefined;
  /**
   * The time from an input to the frame that shows its effect, in addition to the round trip in {@link
   * World.stats}, in milliseconds.
   */
  readonly viewDelayMs: number;
  /** Whether the own avatar holds an item. */
  readonly isHolding: boolean;
}

/**
 * Completes the prediction of the own avatar. If the SDK cannot predict (in the plain protocol), {@link GuessedWalk}
 * does. The body of a person who holds nothing faces the camera's direction, because the server will turn the body the
 * same way.
 */
export class AvatarPrediction {
  /** The input that was sent last. */
  input: Readonly<Input> | undefined;
  readonly #world: World;
  readonly #scene: WorldScene;
  readonly #steering: Steering;
  readonly #walk = new GuessedWalk();
  #nowMs: number | undefined;
  #seconds = 0;

  constructor(world: World, scene: WorldScene, steering: Steering) {
    this.#world = world;
    this.#scene = scene;
    this.#steering = steering;
  }

  /** `adjustAvatar` of the SDK's poses. */
  adjust(pose: Pose, isPredicted: boolean, nowMs: number): boolean {
    this.#seconds = Math.min(FRAME_S_MAX, Math.max(0, nowMs - (this.#nowMs ?? nowMs)) / 1_000);
    this.#nowMs = nowMs;
    const id = this.#world.avatarId;
    const yaw = id === undefined ? undefined : this.#steering.yawOf(id);
    const member = id === undefined ? undefined : this.#scene.crowd.get(id);
    if (isPredicted) this.#walk.reset();
    else if (member?.body.gait === undefined || yaw === undefined) {
      this.#walk.reset();
      return false;
    } else {
      this.#guess(member.body.gait, member.size, pose);
    }
    if (member !== undefined && yaw !== undefined && !this.#steering.isHolding) turn(pose, yaw);
    return true;
  }

  /** Moves `at` from the interpolated place of the avatar to its predicted place. */
  #guess(gait: Gait, size: number, at: Pose): void {
    const { obstacles } = this.#scene;
    const [x, y, z] = [at.position[0]!, at.position[1]!, at.position[2]!];
    const margin = PERSON_RADIUS_M * size;
    const trace: GroundTrace = (dx, dz) =>
      obstacles.cast(x, y - SHINS_M * size, z, dx, 0, dz, { margin, reach: TRACE_M });
    const steers = this.#world.status === "open" && !this.#steering.isHolding;
    const delayMs = (this.#world.stats.pingMs ?? 0) + this.#steering.viewDelayMs + INPUT_DELAY_MS;
    this.#walk.update(this.#seconds, steers ? this.input : undefined, gait, delayMs / 1_000, trace);
    const [shownX, shownZ] = [x + this.#walk.x, z + this.#walk.z];
    at.position[0] = shownX;
    at.position[2] = shownZ;
    // On stairs and slopes, the height above the ground is taken from the server.
    const depth = (atX: number, atZ: number): number =>
      obstacles.cast(atX, y, atZ, 0, -1, 0, { reach: TRACE_M });
    const rise = depth(x, z) - depth(shownX, shownZ);
    if (Math.abs(rise) < STEP_M_MAX) at.position[1] = y + rise;
  }
}

function turn({ quaternion }: Pose, yaw: number): void {
  quaternion[0] = quaternion[2] = 0;
  quaternion[1] = Math.sin(yaw / 2);
  quaternion[3] = Math.cos(yaw / 2);
}
