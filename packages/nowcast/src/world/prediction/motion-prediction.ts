/** Predicts an avatar that moves by a step function of the page, such as a vehicle that a world's rules move. */
import { angleBetween, type NumberArray, slerp } from "../interpolation/rotation.js";
import type { PoseBuffer } from "../poses/layer.js";
import type { AvatarMotion, AvatarMotions, Entity, Pose } from "../world.js";
import { Glide } from "./glide.js";
import { STEPS_KEPT } from "./history.js";
import type { StepClock } from "./step-clock.js";
import type { StepModel } from "./step-model.js";

/** Errors of the prediction below these limits, in metres and in radians, are not corrected. */
const TOLERANCE_M = 0.003;
const TOLERANCE_RAD = 0.01;
/** An avatar without updates for this many steps rests at its last pose. */
const QUIET_STEPS = 24;

export class MotionPrediction implements StepModel {
  errorM = 0;
  corrections = 0;
  readonly #clock: StepClock;
  readonly #motions: AvatarMotions;
  readonly #states: unknown[] = new Array(STEPS_KEPT);
  readonly #glide = new Glide();
  /** The poses at the newest step and one step later. */
  readonly #at = new MotionPose();
  readonly #ahead = new MotionPose();
  #motion: AvatarMotion | undefined;
  #movedTick = 0;

  constructor(clock: StepClock, motions: AvatarMotions) {
    this.#clock = clock;
    this.#motions = motions;
  }

  get offsetM(): number {
    return this.#glide.lengthM;
  }

  begin(avatar: Entity): void {
    this.#motion = this.#motions[avatar.kind.name];
    this.restart(avatar);
  }

  restart(avatar: Entity): void {
    this.#states.fill(this.#motion!.read(avatar, undefined));
    this.#clock.fill();
    this.#glide.clear();
    this.#movedTick = Number.NEGATIVE_INFINITY;
  }

  glideFrom(position: NumberArray): void {
    KNOWN.read(this.#motion!, this.#stateAt(this.#clock.step));
    this.#glide.from(position);
    this.#glide.to(KNOWN.values);
  }

  advance(_avatar: Entity, steps: number): void {
    for (let taken = 0; taken < steps; taken++) {
      this.#clock.next();
      this.#move(this.#clock.step);
    }
    this.#glide.advance(this.#clock);
    const state = this.#stateAt(this.#clock.step);
    this.#at.read(this.#motion!, state);
    this.#ahead.read(this.#motion!, this.#motion!.step(state, this.#clock.nextInput()));
  }

  pose({ position, quaternion }: PoseBuffer): void {
    const { share } = this.#clock;
    const [at, ahead, { offset }] = [this.#at.values, this.#ahead.values, this.#glide];
    for (let axis = 0; axis < 3; axis++)
      position[axis] = at[axis]! + (ahead[axis]! - at[axis]!) * share + offset[axis]!;
    for (let part = 0; part < 4; part++) {
      BOTH[part] = at[3 + part]!;
      BOTH[4 + part] = ahead[3 + part]!;
    }
    slerp(BOTH, 0, 4, share, quaternion);
  }

  readPosition(step: number, out: NumberArray): void {
    KNOWN.read(this.#motion!, this.#stateAt(step));
    for (let axis = 0; axis < 3; axis++) out[axis] = KNOWN.values[axis]!;
  }

  onSnapshot(avatar: Entity, step: number, tick: number, moved: readonly Entity[]): void {
    const motion = this.#motion!;
    if (moved.includes(avatar)) this.#movedTick = tick;
    else if (tick - this.#movedTick < QUIET_STEPS) return;
    const newest = this.#clock.step;
    this.#clock.sender.taken(step);
    const state = motion.read(avatar, this.#stateAt(step));
    KNOWN.read(motion, this.#stateAt(step));
    CORRECT.read(motion, state);
    this.errorM = distance(KNOWN.values, CORRECT.values);
    const turn = angleBetween(KNOWN.values.subarray(3), CORRECT.values.subarray(3));
    if (this.errorM <= TOLERANCE_M && turn <= TOLERANCE_RAD) return;
    this.corrections++;
    KNOWN.read(motion, this.#stateAt(newest));
    this.#glide.from(KNOWN.values);
    this.#states[step & (STEPS_KEPT - 1)] = state;
    for (let again = step + 1; again <= newest; again++) this.#move(again);
    KNOWN.read(motion, this.#stateAt(newest));
    if (avatar.hasJumped) this.#glide.clear();
    else this.#glide.to(KNOWN.values);
  }

  #stateAt(step: number): unknown {
    return this.#states[step & (STEPS_KEPT - 1)];
  }

  #move(step: number): void {
    const input = { ...this.#clock.history.input(step) };
    this.#states[step & (STEPS_KEPT - 1)] = this.#motion!.step(this.#stateAt(step - 1), input);
  }
}

/** A pose that a motion writes, as seven numbers. */
class MotionPose {
  readonly values = new Float64Array(7);
  readonly #pose: Pose = { position: { x: 0, y: 0, z: 0 }, quaternion: { x: 0, y: 0, z: 0, w: 1 } };

  read(motion: AvatarMotion, state: unknown): void {
    motion.pose(state, this.#pose);
    const { position, quaternion } = this.#pose;
    this.values[0] = position.x;
    this.values[1] = position.y;
    this.values[2] = position.z;
    this.values[3] = quaternion.x;
    this.values[4] = quaternion.y;
    this.values[5] = quaternion.z;
    this.values[6] = quaternion.w;
  }
}

const KNOWN = new MotionPose();
const CORRECT = new MotionPose();
const BOTH = new Float64Array(8);

function distance(a: Float64Array, b: Float64Array): number {
  return Math.hypot(a[0]! - b[0]!, a[1]! - b[1]!, a[2]! - b[2]!);
}
