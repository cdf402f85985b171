/** Predicts an avatar that moves by a step function of the page, such as a vehicle that a world's rules move. */
import type { Pose } from "../interpolation/interpolation.js";
import { angleBetween, slerp } from "../interpolation/rotation.js";
import { STEPS_KEPT, StepHistory } from "../prediction/history.js";
import { StepInputSender } from "../prediction/step-input-sender.js";
import { stepSinkOf } from "../steps.js";
import type { Entity, EntityId, Input, World } from "../world.js";

/**
 * The motion of the avatars of one kind. It takes the same steps as the world's rules, 60 a second. You define the
 * state type `S`. Treat states as immutable: the newest 256 are kept, and steps are repeated from them.
 */
export interface AvatarMotion<S = unknown> {
  /**
   * Reads the state after a step from the server's entity. `predicted` is the state that was predicted for the same
   * step, for values that the server does not send, such as a velocity; `undefined` at the beginning.
   */
  read(entity: Entity, predicted: S | undefined): S;
  /** Takes a step of 1/60 s. */
  step(state: S, input: Input): S;
  /** Writes the pose of a state. */
  pose(state: S, out: Pose): void;
}

/** Motions by the name of the avatar's kind. */
export type AvatarMotions = Readonly<Record<string, AvatarMotion>>;

/** The parts of a {@link World} that the prediction needs. */
export type MotionSource = Pick<World, "on" | "entities" | "avatarId" | "status" | "connection">;

const STEP_MS = 1000 / 60;
/** Errors of the prediction below these limits, in metres and in radians, are not corrected. */
const TOLERANCE_M = 0.003;
const TOLERANCE_RAD = 0.01;
/** An avatar without updates for this many steps rests at its last pose. */
const QUIET_STEPS = 24;
/** A correction beyond this is a jump, in metres. */
const TELEPORT_M = 2;
/** Share of a shown correction that decreases in a second. */
const GLIDE_SHARE_PER_S = 8;
const FRAME_S_MAX = 0.05;
const STILL: Input = { forward: 0, right: 0, yaw: 0, run: false, jump: false };

export class MotionPrediction {
  /** The local player's step. */
  step = 0;
  /** Answers that differed from the prediction. */
  corrections = 0;
  readonly #world: MotionSource;
  readonly #motions: AvatarMotions;
  readonly #history = new StepHistory();
  readonly #sender: StepInputSender;
  readonly #states: unknown[] = new Array(STEPS_KEPT);
  readonly #releases: (() => void)[];
  readonly #shown = createPose();
  readonly #ahead = createPose();
  readonly #known = createPose();
  readonly #before = createPose();
  readonly #offset = new Float64Array(3);
  #motion: AvatarMotion | undefined;
  #avatar: EntityId | undefined;
  #wanted: Input = STILL;
  #jumpPending = false;
  #startMs = 0;
  #sampledMs = 0;
  #movedTick = 0;

  constructor(world: MotionSource, motions: AvatarMotions) {
    this.#world = world;
    this.#motions = motions;
    this.#sender = new StepInputSender(this.#history, stepSinkOf(world), (input) => this.input(input));
    this.#releases = [
      world.on("welcome", () => {
        this.#avatar = undefined;
      }),
      world.on("snapshot", ({ tick, ackedInputSequence, moved }) =>
        this.#onSnapshot(tick, ackedInputSequence, moved),
      ),
    ];
  }

  /** Whether the avatar is of a kind with a motion, and its steps reach the server. */
  get isActive(): boolean {
    return this.#motion !== undefined;
  }

  close(): void {
    for (const release of this.#releases) release();
    this.#motion = undefined;
    this.#sender.end();
  }

  input(input: Input): void {
    this.#jumpPending ||= input.jump;
    this.#wanted = input;
  }

  /**
   * Starts for a new avatar whose kind has a motion, and stops if the present avatar's kind has none. The first step
   * follows `step`, up to which another prediction counted.
   */
  follow(nowMs: number, step: number): void {
    const { avatarId, entities } = this.#world;
    const entity = avatarId === undefined ? undefined : entities.get(avatarId);
    const name = entity?.kind.name ?? "";
    if (entity === undefined || !Object.hasOwn(this.#motions, name)) {
      if (this.#motion !== undefined) this.#sender.end();
      this.#motion = this.#avatar = undefined;
      return;
    }
    if (this.#avatar === entity.id) return;
    this.#avatar = entity.id;
    this.step = Math.max(this.step, step) + 1;
    this.#startMs = nowMs - this.step * STEP_MS;
    this.#sampledMs = nowMs;
    this.#motion = this.#sender.begin(this.step, this.#wanted) ? this.#motions[name] : undefined;
    if (this.#motion === undefined) {
      this.#avatar = undefined;
      return;
    }
    this.#fill(this.#motion.read(entity, undefined));
    this.#sender.restart(this.step);
  }

  sample(nowMs: number): void {
    const motion = this.#motion;
    if (motion === undefined) return;
    const frameS = Math.min(FRAME_S_MAX, Math.max(0, nowMs - this.#sampledMs) / 1_000);
    this.#sampledMs = nowMs;
    const steps = (nowMs - this.#startMs) / STEP_MS;
    const target = Math.floor(steps);
    if (target - this.step > STEPS_KEPT / 2) {
      // A page that was suspended does not catch up.
      const entity = this.#world.entities.get(this.#avatar!);
      this.step = target;
      if (entity !== undefined) this.#fill(motion.read(entity, undefined));
      this.#sender.restart(this.step);
    }
    while (this.step < target) this.#takeStep(motion);
    for (let axis = 0; axis < 3; axis++) this.#offset[axis]! *= Math.max(0, 1 - GLIDE_SHARE_PER_S * frameS);
    motion.pose(this.#stateAt(this.step), this.#shown);
    motion.pose(motion.step(this.#stateAt(this.step), this.#input()), this.#ahead);
    blend(this.#shown, this.#ahead, Math.min(1, Math.max(0, steps - this.step)));
    if (this.#world.status === "open") this.#sender.flush(nowMs, this.step);
  }

  /** Writes the shown pose; false while no motion applies. */
  pose(out: Pose): boolean {
    if (this.#motion === undefined) return false;
    const { position, quaternion } = this.#shown;
    for (let axis = 0; axis < 3; axis++) out.position[axis] = position[axis]! + this.#offset[axis]!;
    for (let part = 0; part < 4; part++) out.quaternion[part] = quaternion[part]!;
    return true;
  }

  #stateAt(step: number): unknown {
    return this.#states[step & (STEPS_KEPT - 1)];
  }

  #fill(state: unknown): void {
    this.#states.fill(state);
    for (let back = 0; back < STEPS_KEPT; back++) this.#history.putInput(this.step - back, this.#wanted);
    this.#offset.fill(0);
    this.#movedTick = Number.NEGATIVE_INFINITY;
  }

  /** While input does not reach the server, the server's avatar has none, so the prediction uses none. */
  #input(): Input {
    const { status, connection } = this.#world;
    if (status !== "open" || connection !== "steady") return { ...STILL, yaw: this.#wanted.yaw };
    return this.#jumpPending && !this.#wanted.jump ? { ...this.#wanted, jump: true } : this.#wanted;
  }

  #takeStep(motion: AvatarMotion): void {
    const input = this.#input();
    this.#jumpPending = this.#wanted.jump;
    this.step++;
    this.#history.putInput(this.step, input);
    if (!this.#history.isSameInput(this.step, this.step - 1)) this.#sender.changed(this.step);
    this.#move(motion, this.step);
  }

  #move(motion: AvatarMotion, step: number): void {
    const next = motion.step(this.#stateAt(step - 1), { ...this.#history.input(step) });
    this.#states[step & (STEPS_KEPT - 1)] = next;
  }

  #onSnapshot(tick: number, sequence: number, moved: readonly Entity[]): void {
    const motion = this.#motion;
    const entity = this.#avatar === undefined ? undefined : this.#world.entities.get(this.#avatar);
    const step = this.step + (((sequence - this.step) << 16) >> 16);
    const isKnown = sequence !== 0 && step <= this.step && step > this.step - STEPS_KEPT;
    if (motion === undefined || entity === undefined || !isKnown) return;
    const isMoved = moved.includes(entity);
    if (isMoved) this.#movedTick = tick;
    else if (tick - this.#movedTick < QUIET_STEPS) return;
    this.#sender.taken(step);
    const state = motion.read(entity, this.#stateAt(step));
    motion.pose(this.#stateAt(step), this.#known);
    motion.pose(state, this.#ahead);
    if (isSame(this.#known, this.#ahead)) return;
    this.corrections++;
    motion.pose(this.#stateAt(this.step), this.#before);
    this.#states[step & (STEPS_KEPT - 1)] = state;
    for (let again = step + 1; again <= this.step; again++) this.#move(motion, again);
    motion.pose(this.#stateAt(this.step), this.#known);
    const jump = distance(this.#before, this.#known);
    for (let axis = 0; axis < 3; axis++) {
      const change = this.#before.position[axis]! - this.#known.position[axis]!;
      this.#offset[axis] = entity.hasJumped || jump > TELEPORT_M ? 0 : this.#offset[axis]! + change;
    }
  }
}

function createPose(): { readonly position: Float64Array; readonly quaternion: Float64Array } {
  return { position: new Float64Array(3), quaternion: new Float64Array([0, 0, 0, 1]) };
}

function distance(a: Pose, b: Pose): number {
  const [dx, dy, dz] = [0, 1, 2].map((axis) => a.position[axis]! - b.position[axis]!);
  return Math.hypot(dx!, dy!, dz!);
}

function isSame(a: Pose, b: Pose): boolean {
  return distance(a, b) <= TOLERANCE_M && angleBetween(a.quaternion, b.quaternion) <= TOLERANCE_RAD;
}

/** Moves a pose toward another one by a share. */
function blend(pose: Pose, to: Pose, share: number): void {
  for (let axis = 0; axis < 3; axis++)
    pose.position[axis]! += (to.position[axis]! - pose.position[axis]!) * share;
  for (let part = 0; part < 4; part++) {
    BOTH[part] = pose.quaternion[part]!;
    BOTH[4 + part] = to.quaternion[part]!;
  }
  slerp(BOTH, 0, 4, share, pose.quaternion);
}

const BOTH = new Float64Array(8);
