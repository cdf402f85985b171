import type { Input } from "../world.js";
import type { Mover } from "./mover.js";

/** Steps that are remembered: four seconds. A power of two. */
export const STEPS_KEPT = 256;
/** Counts of steps are limited to this number. */
const COUNT_MAX = 255;

/**
 * The input at each of the recent steps, and the resulting states. The oldest step is overwritten.
 */
export class StepHistory {
  /** One object is reused for the results of {@link StepHistory.input}. */
  readonly #input = { forward: 0, right: 0, yaw: 0, run: false, jump: false };
  readonly #axes = new Float32Array(3 * STEPS_KEPT);
  readonly #buttons = new Uint8Array(STEPS_KEPT);
  readonly #places = new Float32Array(3 * STEPS_KEPT);
  readonly #velocities = new Float32Array(3 * STEPS_KEPT);
  readonly #counts = new Uint8Array(2 * STEPS_KEPT);

  putInput(step: number, { forward, right, yaw, run, jump }: Input): void {
    const at = slot(step);
    this.#axes[3 * at] = forward;
    this.#axes[3 * at + 1] = right;
    this.#axes[3 * at + 2] = yaw;
    this.#buttons[at] = (run ? 1 : 0) | (jump ? 2 : 0);
  }

  /** The result is valid until the next call. */
  input(step: number): Input {
    const at = slot(step);
    this.#input.forward = this.#axes[3 * at]!;
    this.#input.right = this.#axes[3 * at + 1]!;
    this.#input.yaw = this.#axes[3 * at + 2]!;
    this.#input.run = (this.#buttons[at]! & 1) !== 0;
    this.#input.jump = (this.#buttons[at]! & 2) !== 0;
    return this.#input;
  }

  isSameInput(step: number, other: number): boolean {
    const [a, b] = [slot(step), slot(other)];
    return (
      this.#buttons[a] === this.#buttons[b] &&
      this.#axes[3 * a] === this.#axes[3 * b] &&
      this.#axes[3 * a + 1] === this.#axes[3 * b + 1] &&
      this.#axes[3 * a + 2] === this.#axes[3 * b + 2]
    );
  }

  putMover(step: number, mover: Mover): void {
    const at = slot(step);
    this.#places[3 * at] = mover.px;
    this.#places[3 * at + 1] = mover.py;
    this.#places[3 * at + 2] = mover.pz;
    this.#velocities[3 * at] = mover.vx;
    this.#velocities[3 * at + 1] = mover.vy;
    this.#velocities[3 * at + 2] = mover.vz;
    this.#counts[2 * at] = Math.min(mover.stepsSinceGround, COUNT_MAX);
    this.#counts[2 * at + 1] = Math.min(mover.stepsSinceJump, COUNT_MAX);
  }

  /** Restores the state after a step, except the supporting surfaces. */
  readMover(step: number, mover: Mover): void {
    const at = slot(step);
    mover.px = this.#places[3 * at]!;
    mover.py = this.#places[3 * at + 1]!;
    mover.pz = this.#places[3 * at + 2]!;
    mover.vx = this.#velocities[3 * at]!;
    mover.vy = this.#velocities[3 * at + 1]!;
    mover.vz = this.#velocities[3 * at + 2]!;
    mover.stepsSinceGround = this.#counts[2 * at]!;
    mover.stepsSinceJump = this.#counts[2 * at + 1]!;
  }

  /** Distance of a place from the avatar's position after the step, in metres. */
  distance(step: number, x: number, y: number, z: number): number {
    const at = 3 * slot(step);
    return Math.hypot(x - this.#places[at]!, y - this.#places[at + 1]!, z - this.#places[at + 2]!);
  }
}

function slot(step: number): number {
  return step & (STEPS_KEPT - 1);
}
