/**
 * The motion of a body that rules move. It is computed from the two newest poses, and extrapolated
 * to the steps of a prediction.
 */
import { multiplyRotations, type NumberArray } from "../interpolation/rotation.js";

const STEPS_PER_S = 60;
/** Poses that are farther apart, in steps of the world, are not used to compute a velocity. */
const GAP_STEPS_MAX = 12;
/**
 * A body that is absent from snapshots for this many steps of the world counts as standing still.
 */
const QUIET_STEPS = 6;
/** A pose is extrapolated at most this many steps of the world. */
const LEAD_STEPS_MAX = 45;
/** A body that was faster than this, in metres a second, was teleported. */
const SPEED_MAX = 100;

export class BodyMotion {
  /** The velocity, in metres a second. */
  readonly velocity = new Float64Array(3);
  /** The angular velocity, in radians a second. */
  readonly spin = new Float64Array(3);
  moves = false;
  readonly #position = new Float64Array(3);
  readonly #turn = new Float64Array([0, 0, 0, 1]);
  #tick = -1;

  /** The longest way by which a pose is extrapolated, in metres. */
  get leadM(): number {
    return (length(this.velocity) * LEAD_STEPS_MAX) / STEPS_PER_S;
  }

  /** Records the pose of the body after the world's step `tick`. */
  moved(tick: number, position: NumberArray, turn: NumberArray): void {
    const steps = tick - this.#tick;
    // A late packet says nothing new. A world that goes back to an earlier moment has older steps.
    if (steps <= 0 && steps >= -GAP_STEPS_MAX) return;
    if (steps < 0) return this.jumped(tick, position, turn);
    const perS = STEPS_PER_S / steps;
    for (let axis = 0; axis < 3; axis++)
      this.velocity[axis] = (position[axis]! - this.#position[axis]!) * perS;
    this.#setSpin(turn, perS);
    const isKnown = this.#tick >= 0 && steps <= GAP_STEPS_MAX;
    if (!isKnown || !(length(this.velocity) <= SPEED_MAX)) return this.jumped(tick, position, turn);
    this.#put(tick, position, turn);
    this.moves = length(this.velocity) > 0 || length(this.spin) > 0;
  }

  /** Sets the pose of the body. Its velocity is unknown. */
  jumped(tick: number, position: NumberArray, turn: NumberArray): void {
    this.#put(tick, position, turn);
    this.#stop();
  }

  /** Records that a snapshot of the world's step `tick` did not contain the body. */
  quiet(tick: number): void {
    if (this.moves && tick - this.#tick >= QUIET_STEPS) this.#stop();
  }

  /**
   * Writes the pose after the world's step `tick`. If `tick` is undefined, writes the newest known
   * pose.
   */
  at(tick: number | undefined, position: NumberArray, turn: NumberArray): void {
    const steps = tick === undefined || !this.moves ? 0 : tick - this.#tick;
    const seconds = Math.min(LEAD_STEPS_MAX, Math.max(-LEAD_STEPS_MAX, steps)) / STEPS_PER_S;
    for (let axis = 0; axis < 3; axis++)
      position[axis] = this.#position[axis]! + this.velocity[axis]! * seconds;
    for (let part = 0; part < 4; part++) turn[part] = this.#turn[part]!;
    const rate = length(this.spin);
    if (rate === 0 || seconds === 0) return;
    const sine = Math.sin((rate * seconds) / 2) / rate;
    for (let axis = 0; axis < 3; axis++) OPERAND[axis] = this.spin[axis]! * sine;
    OPERAND[3] = Math.cos((rate * seconds) / 2);
    multiplyRotations(OPERAND, this.#turn, turn);
  }

  #put(tick: number, position: NumberArray, turn: NumberArray): void {
    this.#tick = tick;
    for (let axis = 0; axis < 3; axis++) this.#position[axis] = position[axis]!;
    for (let part = 0; part < 4; part++) this.#turn[part] = turn[part]!;
  }

  #stop(): void {
    this.moves = false;
    this.velocity.fill(0);
    this.spin.fill(0);
  }

  /** The rotation from the known pose to another one, over `1 / perS` seconds. */
  #setSpin(turn: NumberArray, perS: number): void {
    for (let axis = 0; axis < 3; axis++) OPERAND[axis] = -this.#turn[axis]!;
    OPERAND[3] = this.#turn[3]!;
    multiplyRotations(turn, OPERAND, DELTA);
    const sign = DELTA[3]! < 0 ? -1 : 1;
    const sine = length(DELTA);
    const scale = sine < 1e-9 ? 0 : (sign * 2 * Math.atan2(sine, sign * DELTA[3]!) * perS) / sine;
    for (let axis = 0; axis < 3; axis++) this.spin[axis] = DELTA[axis]! * scale;
  }
}

/** Scratch space, because array literals and numbers in arguments are garbage. */
const OPERAND = new Float64Array(4);
const DELTA = new Float64Array(4);

/** The length of the first three numbers. `Math.hypot` allocates. */
function length(vector: Float64Array): number {
  const x = vector[0]!;
  const y = vector[1]!;
  const z = vector[2]!;
  return Math.sqrt(x * x + y * y + z * z);
}
