import type { World } from "nowcast/world";
import { cameraPitch } from "./actions.js";
import type { OrbitCamera } from "./camera.js";

/** Minimum time between two messages, in milliseconds. */
const PAUSE_MS = 100;
/** Smaller changes are not sent, in radians. */
const STEP = 0.02;

/** Tells the world how far up the player looks, if the kind of the avatar has `pitch = true` in its walker. */
export class PitchSender {
  #avatar: number | undefined;
  #sent = 0;
  #sentAtMs = Number.NEGATIVE_INFINITY;

  /** Call it in each frame, with the pitch of the view in radians, upward. */
  update(world: Pick<World, "avatar" | "status" | "set">, pitch: number, nowMs: number): void {
    const { avatar } = world;
    if (world.status !== "open" || avatar?.kind.walker?.["pitch"] !== true) return;
    if (avatar.id !== this.#avatar) {
      this.#avatar = avatar.id;
      this.#sent = 0;
    }
    if (Math.abs(pitch - this.#sent) < STEP || nowMs - this.#sentAtMs < PAUSE_MS) return;
    this.#sent = pitch;
    this.#sentAtMs = nowMs;
    world.set(avatar.id, { pitch });
  }
}

/** The downward pitch of a follow camera whose player looks in this camera's direction. */
export function pitchBehind(camera: Pick<OrbitCamera, "pitch" | "seesWithEyes">): number {
  return camera.seesWithEyes ? cameraPitch(-camera.pitch) : camera.pitch;
}
