/** Looking around by moving a phone. */
import { wrapAngle } from "@nowcast/three/internal";
import { Euler, Quaternion, Vector3 } from "three";
import type { InputCollector } from "./input-collector.js";

/**
 * Whether a phone reports its orientation. If not, the user or the browser denied it, or there is no sensor.
 */
export type GyroscopeState = "on" | "refused" | "silent" | "insecure";

/** The direction of the back of a phone, in radians: counter-clockwise seen from above, and up. */
export interface Look {
  readonly yaw: number;
  readonly pitch: number;
}

/** If there is no data after this time, the phone has no sensor. */
const SILENT_MS = 1500;
/** A jump larger than this is a correction of the sensor's north, not a movement of the hand. */
const JUMP = 0.6;
const DEGREE = Math.PI / 180;

/** Angles in degrees from `deviceorientation`; `screen` is the rotation of the picture relative to the phone. */
export function lookOf(alpha: number, beta: number, gamma: number, screen: number): Look {
  EULER.set(beta * DEGREE, alpha * DEGREE, -gamma * DEGREE, "YXZ");
  TURN.setFromEuler(EULER)
    .multiply(UPRIGHT)
    .multiply(SCREEN.setFromAxisAngle(AXIS_Z, -screen * DEGREE));
  AHEAD.set(0, 0, -1).applyQuaternion(TURN);
  return { yaw: Math.atan2(-AHEAD.x, -AHEAD.z), pitch: Math.asin(Math.min(1, Math.max(-1, AHEAD.y))) };
}

/** iOS asks the user; other systems do not. */
interface AskingOrientation {
  requestPermission?: () => Promise<"granted" | "denied">;
}

/** Turns the camera with the phone. */
export class Gyroscope {
  #last: Look | undefined;
  readonly #listen = (event: DeviceOrientationEvent): void => this.handle(event);
  readonly #inputs: Pick<InputCollector, "lookYaw" | "lookPitch">;

  constructor(inputs: Pick<InputCollector, "lookYaw" | "lookPitch">) {
    this.#inputs = inputs;
  }

  /** Begins, in response to a tap; returns the outcome. */
  async begin(): Promise<GyroscopeState> {
    if (!window.isSecureContext) return "insecure";
    if (typeof DeviceOrientationEvent === "undefined") return "silent";
    const asking = DeviceOrientationEvent as unknown as AskingOrientation;
    const answer = await asking.requestPermission?.().catch(() => "denied" as const);
    if (answer === "denied") return "refused";
    window.addEventListener("deviceorientation", this.#listen);
    await new Promise((resolve) => setTimeout(resolve, SILENT_MS));
    if (this.#last) return "on";
    this.end();
    return "silent";
  }

  end(): void {
    window.removeEventListener("deviceorientation", this.#listen);
    this.#last = undefined;
  }

  /** Converts the readings of the sensor to a rotation of the camera. */
  handle({ alpha, beta, gamma }: Pick<DeviceOrientationEvent, "alpha" | "beta" | "gamma">): void {
    if (alpha === null || beta === null || gamma === null) return;
    const look = lookOf(alpha, beta, gamma, globalThis.screen?.orientation?.angle ?? 0);
    const before = this.#last;
    this.#last = look;
    if (!before) return;
    const turned = wrapAngle(look.yaw - before.yaw);
    if (Math.abs(turned) > JUMP) return;
    this.#inputs.lookYaw += turned;
    this.#inputs.lookPitch -= look.pitch - before.pitch;
  }
}

const EULER = new Euler();
const TURN = new Quaternion();
const SCREEN = new Quaternion();
const AXIS_Z = new Vector3(0, 0, 1);
const AHEAD = new Vector3();
/** A phone that lies flat looks down. */
const UPRIGHT = new Quaternion(-Math.SQRT1_2, 0, 0, Math.SQRT1_2);
