import { couplePrediction, type Gait, type PredictionCoupling, type WalkerMotion } from "nowcast/extend";
import {
  type Entity,
  type EntityId,
  type Input,
  type Pose,
  type Predictor,
  type World,
  walkerOf,
} from "nowcast/world";
import { BodyPredictionError } from "./errors.js";
import { Grasp } from "./grasp.js";
import { Island, STEPS_KEPT } from "./island.js";
import { Neighbourhood } from "./neighbourhood.js";
import { loadRapier, type Rapier } from "./rapier.js";
import { checkArithmetic } from "./self-check.js";
import { steer, steerInMedium } from "./steer.js";
import { type Track, Tracks } from "./tracks.js";

/**
 * Maximum number of steps that are taken again after one answer of the server. Older steps stay unchanged.
 */
const REPLAY_STEPS_MAX = 30;
/**
 * Minimum number of steps between two replays. One step is added for each `REPLAY_BODIES` bodies, because more bodies
 * cost more.
 */
const REPLAY_INTERVAL_STEPS = 3;
const REPLAY_BODIES = 8;
/**
 * Tolerance between an answer and the prediction of the avatar, in metres: first for normal steps, then for steps that
 * physics decided.
 */
const TOLERANCE_M = 0.003;
const TOLERANCE_PUSHING_M = 0.006;
/** The tolerance while it is too early for another replay. */
const TOLERANCE_EARLY_M = 0.05;
/**
 * A body that is absent from four consecutive messages counts as resting. The duration of four messages is clamped to
 * these bounds, in steps.
 */
const QUIET_MESSAGES = 4;
const QUIET_STEPS_MIN = 6;
const QUIET_STEPS_MAX = 24;
/**
 * Margin around a walker within which movable bodies make physics decide (`spec/MOVEMENT.md`, section 6), in metres.
 */
const REACH_MARGIN_M = 0.1;
/** Maximum duration of a frame, in seconds. */
const FRAME_S_MAX = 0.05;

export interface BodyPredictorOptions {
  /**
   * Returns the initialised `@dimforge/rapier3d-deterministic-compat` 0.21.0, for pages that have their own
   * copy. By default Rapier is imported when it is needed.
   */
  readonly load?: (() => Promise<Rapier>) | undefined;
}

/** Counters of a body predictor. */
export interface BodyPredictorStats {
  /** Present number of simulated bodies, at most 64, and of static bodies around them, at most 128. */
  readonly bodies: number;
  readonly fixed: number;
  /** Number of steps of physics; then the number of steps among them that were taken again. */
  readonly steps: number;
  readonly repeatedSteps: number;
  /** Number of answers of the server after which steps were taken again. */
  readonly corrections: number;
  /**
   * Number of times that a body could not be simulated, because its form exceeds the limits or there was no
   * room.
   */
  readonly refused: number;
}

/**
 * Predicts the bodies around the local avatar: bodies that it pushes, holds and throws move at once, and push
 * back. After each answer, the bodies are set to the server's poses, and the steps since then are taken
 * again. The shown poses glide to the new result.
 */
export interface BodyPredictor {
  /** Advances to this moment. Call it once a frame, after the predictor's `sample` and with the same clock. */
  sample(nowMs: number): void;
  /**
   * Changes an interpolated pose to the shown one; returns false, without writing, for a body that is not predicted.
   * Call it once a frame for each entity. Does not allocate.
   */
  place(id: EntityId, pose: Pose): boolean;
  /**
   * Distance of a body's shown pose from its predicted one, in metres: the remaining corrections. 0 for a body that is
   * not predicted.
   */
  offsetM(id: EntityId): number;
  readonly stats: BodyPredictorStats;
  /** The reason why prediction stopped, if Rapier failed. From then on the avatar is predicted without Rapier. */
  readonly failure: BodyPredictionError | undefined;
  /** Frees the memory in WebAssembly. */
  close(): void;
  [Symbol.dispose](): void;
}

/** The parts of a {@link World} that a body predictor needs. */
export type BodySource = Pick<World, "on" | "entities" | "avatarId">;

/**
 * Loads Rapier, and couples a body predictor to a predictor of the avatar. Rejected with a {@link
 * BodyPredictionError}.
 */
export async function createBodyPredictor(
  world: BodySource,
  predictor: Predictor,
  { load = loadRapier }: BodyPredictorOptions = {},
): Promise<BodyPredictor> {
  const rapier = await load();
  checkArithmetic(rapier);
  return new IslandPredictor(rapier, world, predictor);
}

class IslandPredictor implements BodyPredictor, PredictionCoupling {
  failure: BodyPredictionError | undefined;

  readonly #tracks: Tracks;
  readonly #grasp = new Grasp();
  #island: Island | undefined;
  #near: Neighbourhood | undefined;
  /** The parameters for which the island was built. */
  #gait: Gait | undefined;
  #isClosed = false;
  #sampledMs: number | undefined;
  #newest = Number.NEGATIVE_INFINITY;
  /** Up to this step bodies stay unchanged, because the answer is too old to take all steps again. */
  #mutedUntil = Number.NEGATIVE_INFINITY;
  /** The last step of the last replay, and the time of that replay. */
  #againUntil = Number.NEGATIVE_INFINITY;
  #againAt = Number.NEGATIVE_INFINITY;
  /** The step after which an answer corrects a member; −∞ if no member has such an answer. */
  #correctedStep = Number.NEGATIVE_INFINITY;
  readonly #clock = { tickLead: undefined as number | undefined, tick: 0, quietSteps: QUIET_STEPS_MAX };
  /** Steps between two messages, smoothed. */
  #apartSteps = QUIET_STEPS_MAX / QUIET_MESSAGES;
  /** Steps in which physics decided on the avatar's motion. */
  readonly #byPhysics = new Uint8Array(STEPS_KEPT);
  readonly #velocity = new Float64Array(3);
  /** Slots of bodies that may push others. */
  readonly #pushing: number[] = [];
  #steps = 0;
  #repeatedSteps = 0;
  #corrections = 0;
  #refused = 0;
  readonly #rapier: Rapier;
  readonly #world: BodySource;
  readonly #predictor: Predictor;

  constructor(rapier: Rapier, world: BodySource, predictor: Predictor) {
    this.#rapier = rapier;
    this.#world = world;
    this.#predictor = predictor;
    this.#tracks = new Tracks(world, (track) => this.#forget(track));
    couplePrediction(predictor, this);
  }

  get stats(): BodyPredictorStats {
    return {
      bodies: this.#near?.count ?? 0,
      fixed: this.#near?.fixedCount ?? 0,
      steps: this.#steps,
      repeatedSteps: this.#repeatedSteps,
      corrections: this.#corrections,
      refused: this.#refused + (this.#near?.refused ?? 0),
    };
  }

  sample(nowMs: number): void {
    const frameS = Math.min(FRAME_S_MAX, Math.max(0, nowMs - (this.#sampledMs ?? nowMs)) / 1000);
    this.#sampledMs = nowMs;
    const [island, near] = [this.#island, this.#near];
    if (island === undefined || near === undefined) return;
    for (const member of near.members) member?.advance(island, this.#newest, frameS);
  }

  place(id: EntityId, pose: Pose): boolean {
    const slot = this.#tracks.byId.get(id)?.slot ?? -1;
    const member = this.#near?.members[slot];
    if (member === undefined || member.weight === 0) return false;
    const { moment, step } = this.#predictor;
    member.place(this.#island!, moment - step, pose.position, pose.quaternion);
    return true;
  }

  offsetM(id: EntityId): number {
    const member = this.#near?.members[this.#tracks.byId.get(id)?.slot ?? -1];
    return member === undefined || member.weight === 0 ? 0 : member.offsetM;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    couplePrediction(this.#predictor);
    this.#dropIsland();
    this.#tracks.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  // Calls of the predictor
  // ---------------------------------------------------------------------------------------

  step(step: number, input: Input, gait: Gait, before: WalkerMotion, after: WalkerMotion): boolean {
    if (this.#isClosed || this.failure !== undefined) return false;
    try {
      return this.#step(step, input, gait, before, after);
    } catch (cause) {
      this.#fail(cause);
      return false;
    }
  }

  rewind(step: number, newest: number): void {
    const [island, near] = [this.#island, this.#near];
    if (island === undefined || near === undefined) return;
    if (newest - step > REPLAY_STEPS_MAX) {
      this.#mutedUntil = newest;
      return;
    }
    this.#mutedUntil = Number.NEGATIVE_INFINITY;
    try {
      const isAnswered = this.#correctedStep === step;
      for (const member of near.members) {
        if (member === undefined) continue;
        // If the result of an earlier replay was never displayed, the glide still begins at the displayed
        // pose.
        if (this.#againUntil < newest) member.beginAgain(island);
        island.restore(member.slot, step);
        if (!isAnswered || !member.isWrong) continue;
        island.put(member.slot, member.corrected, 0);
        island.write(member.slot, step, member.corrected);
        member.isWrong = false;
      }
      if (isAnswered) this.#corrections++;
      this.#againAt = newest;
      this.#againUntil = newest;
      if (step === newest) this.#endAgain();
    } catch (cause) {
      this.#fail(cause);
    }
  }

  restart(): void {
    this.#dropIsland();
    this.#grasp.restart();
    this.#byPhysics.fill(0);
    this.#newest = this.#mutedUntil = this.#againUntil = this.#againAt = Number.NEGATIVE_INFINITY;
    this.#correctedStep = Number.NEGATIVE_INFINITY;
    this.#clock.tickLead = undefined;
    this.#clock.tick = 0;
  }

  onSnapshot(step: number | undefined, tick: number, moved: readonly Entity[]): boolean {
    for (const { id } of moved) this.#tracks.byId.get(id)?.record();
    this.#correctedStep = Number.NEGATIVE_INFINITY;
    if (step === undefined) return false;
    this.#noteNews(step, tick);
    const [island, near] = [this.#island, this.#near];
    if (island === undefined || near === undefined) return false;
    let isWrong = false;
    for (const member of near.members) {
      if (member?.onSnapshot(island, step, this.#clock, this.#newest)) isWrong = true;
    }
    const behind = this.#newest - step;
    if (!isWrong || behind < 0) return false;
    if (behind > REPLAY_STEPS_MAX) {
      this.#shift(step);
      return false;
    }
    this.#correctedStep = step;
    return this.#isDue;
  }

  toleranceM(step: number): number {
    if (this.#byPhysics[step & (STEPS_KEPT - 1)] === 0) return TOLERANCE_M;
    return this.#isDue ? TOLERANCE_PUSHING_M : TOLERANCE_EARLY_M;
  }

  get quietSteps(): number {
    return this.#clock.quietSteps;
  }

  owns(id: EntityId): boolean {
    return (this.#tracks.byId.get(id)?.slot ?? -1) >= 0;
  }

  threw(step: number, id: EntityId, velocity: readonly number[]): void {
    this.#grasp.threw(step, id, velocity);
  }

  get #isDue(): boolean {
    const interval = REPLAY_INTERVAL_STEPS + Math.floor((this.#near?.count ?? 0) / REPLAY_BODIES);
    return this.#newest - this.#againAt >= interval;
  }

  #noteNews(step: number, tick: number): void {
    const clock = this.#clock;
    const apart = Math.min(QUIET_STEPS_MAX, Math.max(1, tick - clock.tick));
    this.#apartSteps += (apart - this.#apartSteps) / 8;
    clock.tickLead = tick - step;
    clock.tick = Math.max(clock.tick, tick);
    const quiet = Math.ceil(QUIET_MESSAGES * this.#apartSteps) + 2;
    clock.quietSteps = Math.min(QUIET_STEPS_MAX, Math.max(QUIET_STEPS_MIN, quiet));
  }

  // A step ------------------------------------------------------------------------------------------------------------

  #step(step: number, input: Input, gait: Gait, before: WalkerMotion, after: WalkerMotion): boolean {
    const own = this.#world.avatarId;
    if (own === undefined) return false;
    if (gait !== this.#gait || this.#island === undefined) this.#begin(own, gait);
    const [island, near] = [this.#island!, this.#near!];
    const isNew = step > this.#newest;
    if (isNew) {
      this.#newest = step;
      const held = this.#predictor.holding;
      this.#grasp.note(step, held);
      near.look(step, own, held, before, this.#clock);
    }
    const at = step & (STEPS_KEPT - 1);
    this.#byPhysics[at] = 0;
    if (step <= this.#mutedUntil) return false;
    const isByPhysics = this.#prepare(step, input, gait, before);
    let isTouching = false;
    if (isByPhysics || this.#isAwake()) {
      if (after.isInMedium) steerInMedium(after, gait, this.#velocity);
      else steer(before, gait, input, this.#velocity);
      island.putAvatar(before, this.#velocity);
      this.#steps++;
      if (!isNew) this.#repeatedSteps++;
      if (!island.step())
        throw new BodyPredictionError("broken", "physics produced a value that is not a number");
      isTouching = this.#noteTouched(step);
      if ((isByPhysics || isTouching) && island.readAvatar(after)) {
        island.readGrounds(after);
        this.#byPhysics[at] = 1;
      }
    }
    island.save(step);
    if (step === this.#againUntil) this.#endAgain();
    return isTouching;
  }

  /** Prepares the bodies that move by themselves or in the hands. Returns whether physics takes the avatar's step. */
  #prepare(step: number, input: Input, gait: Gait, before: WalkerMotion): boolean {
    const island = this.#island!;
    const speed = Math.hypot(before.vx, before.vy, before.vz) + gait.runSpeed + gait.jumpSpeed;
    const margin = speed / 60 + REACH_MARGIN_M;
    const [wide, high] = [gait.radius + margin, gait.height / 2 + margin];
    let isMet = false;
    for (const member of this.#near!.members) {
      if (member === undefined) continue;
      member.steer(island);
      const isPassing = this.#grasp.apply(island, member, step, input, gait, before);
      if (isPassing) member.touchedStep = Math.max(member.touchedStep, step);
      else isMet ||= island.meets(member.slot, before.px, before.py, before.pz, wide, high);
    }
    return isMet;
  }

  #isAwake(): boolean {
    const island = this.#island!;
    for (const member of this.#near!.members) {
      if (member !== undefined && (member.isMoving(island) || !island.isSleeping(member.slot))) return true;
    }
    return false;
  }

  /**
   * Records the bodies that the avatar touches, and those that they touch. Returns whether it touches a movable body.
   */
  #noteTouched(step: number): boolean {
    const [island, near] = [this.#island!, this.#near!];
    const pushing = this.#pushing;
    pushing.length = 0;
    let isTouching = false;
    for (const member of near.members) {
      if (member?.isTouched(island, step) && member.isMoving(island)) pushing.push(member.slot);
    }
    island.touched(-1, (slot) => {
      isTouching = true;
      near.members[slot]!.touchedStep = Math.max(near.members[slot]!.touchedStep, step);
      if (!pushing.includes(slot)) pushing.push(slot);
    });
    // A body that a touched body touches counts as touched for the same time.
    for (let at = 0; at < pushing.length; at++) {
      const { touchedStep } = near.members[pushing[at]!]!;
      island.touched(pushing[at]!, (slot) => {
        const member = near.members[slot]!;
        member.touchedStep = Math.max(member.touchedStep, touchedStep);
        if (!pushing.includes(slot) && member.isMoving(island)) pushing.push(slot);
      });
    }
    return isTouching;
  }

  /** Handles an answer that is too old to take its steps again: all later states are shifted by its error. */
  #shift(step: number): void {
    try {
      for (const member of this.#near!.members) {
        if (member?.isWrong) member.shift(this.#island!, step, this.#newest);
      }
      this.#corrections++;
    } catch (cause) {
      this.#fail(cause);
    }
  }

  #endAgain(): void {
    for (const member of this.#near!.members) member?.endAgain(this.#island!);
    this.#againUntil = Number.NEGATIVE_INFINITY;
  }

  #begin(own: EntityId, gait: Gait): void {
    this.#dropIsland();
    this.#gait = gait;
    const kind = this.#world.entities.get(own)?.kind;
    this.#island = new Island(this.#rapier, gait, (kind && walkerOf(kind)) ?? gait);
    this.#near = new Neighbourhood(this.#island, this.#tracks.all);
  }

  #forget(track: Track): void {
    try {
      this.#near?.forget(track);
    } catch (cause) {
      this.#fail(cause);
    }
  }

  #fail(cause: unknown): void {
    const words = cause instanceof Error ? cause.message : String(cause);
    this.failure ??=
      cause instanceof BodyPredictionError
        ? cause
        : new BodyPredictionError("broken", `Rapier gave up: ${words}`, { cause });
    this.#dropIsland();
  }

  #dropIsland(): void {
    const [island, near] = [this.#island, this.#near];
    this.#island = this.#near = this.#gait = undefined;
    if (near === undefined || island === undefined) return;
    this.#refused += near.refused;
    for (const member of near.members) if (member !== undefined) member.track.slot = -1;
    try {
      island.free();
    } catch {
      // An instance that panicked cannot be freed. Its memory stays allocated in the module.
    }
  }
}
