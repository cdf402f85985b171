/** One body of the island: the server's data about it, and its shown pose. */
import { type EntityId, walkerOf } from "nowcast/world";
import { type Island, STEPS_KEPT, STRIDE } from "./island.js";
import { type NewsClock, SPEED_MAX, SPIN_MAX, shorten, type Track } from "./tracks.js";
import { type Numbers, turnBetween, turnBy } from "./turns.js";

/**
 * Smaller differences, in metres and in radians, are ignored, because the server's values are rounded to
 * 1/1,024 m.
 */
const TOLERANCE_M = 0.004;
const TOLERANCE_RAD = 0.012;
/**
 * If the predicted velocity is wrong by more than this, the prediction missed an event. Then only the
 * received velocity counts.
 */
const BELIEF_MPS = 1.5;
const BELIEF_RADPS = 3;
/** If a body differs by more than this, another player moves it, unless it was touched in the last steps. */
const FOREIGN_M = 0.5;
const FOREIGN_STEPS = 30;
/**
 * A body with such an error in several consecutive answers moves by unknown rules. The body is not predicted
 * for a while.
 */
const STRIKE_M = 1;
const STRIKES_MAX = 5;
export const BARRED_STEPS = 180;
/** A movement farther than this is a teleport, which is shown at once. */
const TELEPORT_M = 2;
/**
 * Minimum speed of a correction: 1 cm per frame. A large error is corrected faster, by
 * `GLIDE_SHARE_PER_S` times the remaining error per second.
 */
const GLIDE_MPS = 0.6;
const GLIDE_RADPS = 1.5;
const GLIDE_SHARE_PER_S = 2;
const GLIDE_S_MAX = 1 / 60;
/** Duration of the transition from the server's pose to the predicted one, or back. */
const ENTER_S = 0.12;
const LEAVE_S = 0.4;
/**
 * Time after a touch for which a body is shown as predicted, and the maximum of this time while the body
 * moves, in steps.
 */
const SHOWN_STEPS = 60;
const MOVING_STEPS = 360;
const MOVING_MPS = 0.05;

/** A walker that is slower than this stands, in metres a second. */
const STANDING_MPS = 0.15;
/** For this number of steps after a touch, the velocity of a walker may be the effect of a push. */
const PUSHED_STEPS = 20;

const HISTORY = new Float32Array(STRIDE);
const EARLIER = new Float32Array(STRIDE);
const CHANGE = new Float64Array(6);
const SPEED = new Float64Array(6);
const TURN = [0, 0, 0];

export class Member {
  readonly id: EntityId;
  /** The step of the last touch by the avatar or by a touched body; −∞ for a body that is not predicted. */
  touchedStep = Number.NEGATIVE_INFINITY;
  /** The body's rotation relative to its holder when it was grasped, in radians. */
  grip: number | undefined;
  /** Whether the body floats in front of its holder, still passes through its former holder, or is free. */
  how: "held" | "passing" | "free" = "free";
  /** The share of prediction in the body's shown pose, 0 to 1. */
  weight = 0;
  isLeaving = false;
  /** Whether the body rests at the received pose, so that it can be shown as predicted at once. */
  isCalm: boolean;
  /** The body's corrected state at the step that was passed to `onSnapshot`. */
  readonly corrected = new Float32Array(STRIDE);
  isWrong = false;
  #acknowledgedTick = -1;
  #strikes = 0;
  /** The horizontal velocity that the player of a walker demands, as far as it is known. */
  #wishX = 0;
  #wishZ = 0;
  /** The remaining corrections, in metres and radians. */
  readonly #offset = new Float64Array(6);
  /** Its shown pose before the steps were repeated. */
  readonly #shownFrom = new Float32Array(STRIDE);
  #isTeleported = false;

  constructor(
    readonly track: Track,
    readonly slot: number,
    isMoving: boolean,
  ) {
    this.id = track.id;
    this.isCalm = !isMoving;
    this.#acknowledgedTick = track.acknowledgedTick;
    if (isMoving) this.#setWish();
  }

  /**
   * Steers a walker as the server does: toward the velocity that its player demands, so that a pushed walker that stands
   * brakes. Other bodies do not change.
   */
  steer(island: Island): void {
    const walker = island.slots[this.slot]!.form.motion === "walker" && walkerOf(this.track.entity.kind);
    if (!walker) return;
    const at = this.slot * STRIDE + 7;
    const { states } = island;
    const [dx, dz] = [this.#wishX - states[at]!, this.#wishZ - states[at + 2]!];
    const change = Math.sqrt(dx * dx + dz * dz);
    if (change < STANDING_MPS / 10) return;
    const share = Math.min(1, walker.groundAcceleration / 60 / change);
    island.setVelocity(this.slot, states[at]! + dx * share, states[at + 1]!, states[at + 2]! + dz * share);
  }

  #setWish(): void {
    this.track.velocity(SPEED, 0);
    const isWalking = Math.hypot(SPEED[0]!, SPEED[2]!) > STANDING_MPS;
    this.#wishX = isWalking ? SPEED[0]! : 0;
    this.#wishZ = isWalking ? SPEED[2]! : 0;
  }

  /** Distance of the newest update from its prediction, in metres. */
  errorM = 0;

  /**
   * Compares the server's values with the prediction for the same step. If they differ, writes the values
   * after `step` into `corrected`. `newest` is the newest step that was taken.
   */
  onSnapshot(island: Island, step: number, { tick, quietSteps }: NewsClock, newest: number): boolean {
    const { track, corrected } = this;
    this.isWrong = false;
    const isNews = track.acknowledgedTick > this.#acknowledgedTick;
    if (!isNews && tick - track.acknowledgedTick < quietSteps) return false;
    this.#acknowledgedTick = track.acknowledgedTick;
    if (!isNews) this.#wishX = this.#wishZ = 0;
    else if (step - this.touchedStep > PUSHED_STEPS) this.#setWish();
    const acknowledgedStep = isNews ? step + track.acknowledgedTick - tick : step;
    if (acknowledgedStep > step || acknowledgedStep <= newest - STEPS_KEPT) return false;
    island.read(this.slot, acknowledgedStep, HISTORY);
    const { acknowledged } = track;
    this.errorM = Math.hypot(
      acknowledged[0]! - HISTORY[0]!,
      acknowledged[1]! - HISTORY[1]!,
      acknowledged[2]! - HISTORY[2]!,
    );
    turnBetween(acknowledged, 3, HISTORY, 3, TURN);
    const angle = Math.hypot(TURN[0]!, TURN[1]!, TURN[2]!);
    this.#judge(newest);
    const isRight = this.errorM <= TOLERANCE_M && angle <= TOLERANCE_RAD;
    this.isCalm = !isNews && isRight;
    if (isRight) return false;
    this.isWrong = true;
    island.read(this.slot, step, corrected);
    for (let axis = 0; axis < 3; axis++) corrected[axis]! += acknowledged[axis]! - HISTORY[axis]!;
    turnBy(corrected, 3, TURN[0]!, TURN[1]!, TURN[2]!);
    if (isNews) this.#correctVelocity(island, acknowledgedStep, newest);
    else corrected.fill(0, 7);
    return true;
  }

  /** Stores its shown pose before steps are taken again. */
  beginAgain(island: Island): void {
    const from = this.slot * STRIDE;
    this.#shownFrom.set(island.states.subarray(from, from + STRIDE));
  }

  /** Called after the replay. The shown pose glides to the new result. */
  endAgain(island: Island): void {
    if (this.weight === 0 || this.#isTeleported) {
      this.#isTeleported = false;
      this.#offset.fill(0);
      return;
    }
    const at = this.slot * STRIDE;
    for (let axis = 0; axis < 3; axis++) {
      this.#offset[axis]! += this.#shownFrom[axis]! - island.states[at + axis]!;
    }
    turnBetween(this.#shownFrom, 3, island.states, at + 3, TURN);
    for (let axis = 0; axis < 3; axis++) this.#offset[3 + axis] = this.#offset[3 + axis]! + TURN[axis]!;
    shorten(this.#offset, 3, Math.PI);
  }

  /** Shifts its states from `step` on by the difference between `corrected` and the prediction. */
  shift(island: Island, step: number, newest: number): void {
    const { corrected, slot } = this;
    this.beginAgain(island);
    island.read(slot, step, HISTORY);
    turnBetween(corrected, 3, HISTORY, 3, TURN);
    for (let part = 0; part < STRIDE; part++) EARLIER[part] = corrected[part]! - HISTORY[part]!;
    for (let at = step; at <= newest; at++) {
      island.read(slot, at, HISTORY);
      for (const part of SHIFTED) HISTORY[part] = HISTORY[part]! + EARLIER[part]!;
      turnBy(HISTORY, 3, TURN[0]!, TURN[1]!, TURN[2]!);
      island.write(slot, at, HISTORY);
    }
    island.put(slot, HISTORY, 0);
    this.isWrong = false;
    this.endAgain(island);
  }

  /** The remaining corrections, in metres. */
  get offsetM(): number {
    return Math.hypot(this.#offset[0]!, this.#offset[1]!, this.#offset[2]!);
  }

  /** Advances by a frame. */
  advance(island: Island, step: number, frameS: number): void {
    const isShown = !this.isLeaving && this.isTouched(island, step);
    const change = isShown ? (this.isCalm ? 1 : frameS / ENTER_S) : -frameS / LEAVE_S;
    this.weight = Math.min(1, Math.max(0, this.weight + change));
    glide(this.#offset, 0, GLIDE_MPS, frameS);
    glide(this.#offset, 3, GLIDE_RADPS, frameS);
  }

  /** Whether the local player's actions move the body, so that it is shown as predicted. */
  isTouched(island: Island, step: number): boolean {
    const since = step - this.touchedStep;
    if (since <= SHOWN_STEPS) return true;
    return since <= MOVING_STEPS && this.isMoving(island);
  }

  isMoving({ states }: Island): boolean {
    const at = this.slot * STRIDE + 7;
    return Math.hypot(states[at]!, states[at + 1]!, states[at + 2]!) > MOVING_MPS;
  }

  /**
   * Changes an interpolated pose to the shown pose. The shown moment is a `share` of a step after the newest
   * step.
   */
  place({ states }: Island, share: number, position: Numbers, quaternion: Numbers): void {
    const at = this.slot * STRIDE;
    const seconds = share / 60;
    const weight = this.weight * this.weight * (3 - 2 * this.weight);
    for (let axis = 0; axis < 3; axis++) {
      const place = states[at + axis]! + states[at + 7 + axis]! * seconds + this.#offset[axis]!;
      position[axis]! += (place - position[axis]!) * weight;
    }
    for (let part = 0; part < 4; part++) HISTORY[part] = states[at + 3 + part]!;
    const offset = this.#offset;
    const [x, y, z] = [states[at + 10]!, states[at + 11]!, states[at + 12]!];
    turnBy(HISTORY, 0, x * seconds, y * seconds, z * seconds);
    turnBy(HISTORY, 0, offset[3]!, offset[4]!, offset[5]!);
    turnBetween(HISTORY, 0, quaternion, 0, TURN);
    turnBy(quaternion, 0, TURN[0]! * weight, TURN[1]! * weight, TURN[2]! * weight);
  }

  /** Bodies that other players or unknown rules move are shown as the server sends them. */
  #judge(newest: number): void {
    const isForeign = this.errorM > FOREIGN_M && newest - this.touchedStep > FOREIGN_STEPS;
    if (isForeign) this.touchedStep = Number.NEGATIVE_INFINITY;
    this.#strikes = this.errorM > STRIKE_M ? this.#strikes + 1 : 0;
    if (this.#strikes < STRIKES_MAX) return;
    this.isLeaving = true;
    this.track.barredUntil = newest + BARRED_STEPS;
  }

  /**
   * Corrects the velocity by the difference between the received and the predicted motion since the previous received
   * position.
   */
  #correctVelocity(island: Island, acknowledgedStep: number, newest: number): void {
    const { track, corrected } = this;
    const { apart, acknowledged, before } = track;
    const way = Math.hypot(
      acknowledged[0]! - before[0]!,
      acknowledged[1]! - before[1]!,
      acknowledged[2]! - before[2]!,
    );
    if (track.entity.hasJumped || way > TELEPORT_M + (SPEED_MAX * Math.max(1, apart)) / 60) {
      this.#isTeleported = true;
      this.touchedStep = Number.NEGATIVE_INFINITY;
      corrected.fill(0, 7);
      return;
    }
    if (apart === 0 || acknowledgedStep - apart <= newest - STEPS_KEPT) return;
    track.velocity(SPEED, 0);
    island.read(this.slot, acknowledgedStep - apart, EARLIER);
    for (let axis = 0; axis < 3; axis++) {
      CHANGE[axis] = SPEED[axis]! - ((HISTORY[axis]! - EARLIER[axis]!) * 60) / apart;
    }
    turnBetween(HISTORY, 3, EARLIER, 3, TURN);
    for (let axis = 0; axis < 3; axis++) CHANGE[3 + axis] = SPEED[3 + axis]! - (TURN[axis]! * 60) / apart;
    for (const [at, belief] of BELIEFS) {
      const isSmall = Math.hypot(CHANGE[at]!, CHANGE[at + 1]!, CHANGE[at + 2]!) < belief;
      for (let axis = at; axis < at + 3; axis++) {
        const change = isSmall ? CHANGE[axis]! : SPEED[axis]! - corrected[7 + axis]!;
        corrected[7 + axis]! += change;
      }
    }
    shorten(corrected, 7, SPEED_MAX);
    shorten(corrected, 10, SPIN_MAX);
  }
}

/** Position, velocity and spin of a state. */
const SHIFTED = [0, 1, 2, 7, 8, 9, 10, 11, 12] as const;
const BELIEFS = [
  [0, BELIEF_MPS],
  [3, BELIEF_RADPS],
] as const;

function glide(offset: Float64Array, at: number, perS: number, frameS: number): void {
  const left = Math.hypot(offset[at]!, offset[at + 1]!, offset[at + 2]!);
  if (left === 0) return;
  const way = Math.max(perS, GLIDE_SHARE_PER_S * left) * Math.min(frameS, GLIDE_S_MAX);
  const share = left <= way ? 0 : 1 - way / left;
  for (let axis = at; axis < at + 3; axis++) offset[axis]! *= share;
}
