import { AdjustedGait, readWalker, walkerOf } from "../describe/walker.js";
import { createInput, writeInput } from "../input-sender.js";
import type { Pose } from "../interpolation/interpolation.js";
import { type StepSink, stepSinkOf } from "../steps.js";
import type { Entity, EntityId, Input, Kind, WorldRecord } from "../world.js";
import { Carrier } from "./carrier.js";
import { CollisionWorld } from "./collision-world.js";
import { stepOfChange } from "./gait-change.js";
import { Glide } from "./glide.js";
import { HeldItemPrediction } from "./held-item-prediction.js";
import { STEPS_KEPT, StepHistory } from "./history.js";
import { PredictedLaunches } from "./launches.js";
import { layersOf } from "./layers.js";
import { type Gait, Mover, quantiseYaw } from "./mover.js";
import { OtherWalkers } from "./other-walkers.js";
import { platformAt, type Solid } from "./solid.js";
import type { PredictionSource, Predictor, PredictorOptions } from "./source.js";
import { StepInputSender } from "./step-input-sender.js";
import { correctVelocity, refineVelocity } from "./velocity-correction.js";

const f = Math.fround;
const STEP_MS = 1000 / 60;
/** Smaller errors are ignored, because positions from the server are rounded to 1/1,024 m on each axis. */
const TOLERANCE_M = 0.003;
/** The tolerance in steps in which the avatar touched another one, which are only approximated. */
const TOLERANCE_TOUCHING_M = 0.006;
/** An avatar was teleported if it moved this much farther than its speed allows, in metres. */
const TELEPORT_M = 2;
/** The greatest speed of the engine, in metres a second. */
const SPEED_MAX = 40;
/** Maximum time, in seconds, that one frame lasts for effects that are shown gradually. */
const FRAME_S_MAX = 0.05;
/** Two positions that are farther apart in time are not used to compute a velocity. */
const VELOCITY_STEPS_MAX = 6;
/**
 * An error below this, in metres, within this many steps after a correction shows that the velocity was corrected
 * inexactly.
 */
const SMALL_M = 0.01;
const SMALL_STEPS_MAX = 30;
/** An avatar without updates for this many steps is at its last received position. */
const QUIET_STEPS = 24;
/** For this many steps after a rest, an answer without motion is not compared. */
const LATE_STEPS = 8;
/** Distance in metres within which a solid can affect the avatar while half a second of steps is taken again. */
const REACH_M = 6;
/** The greatest distance of an assumed platform from the avatar, in metres. */
const PLATFORM_REACH_M = 3;

export function createPredictor(world: PredictionSource, options: PredictorOptions = {}): Predictor {
  return new StepPredictor(world, options);
}

/** Another prediction counted the client's steps up to this one: a predictor continues after it. */
export function continueSteps(predictor: Predictor, step: number): void {
  if (predictor instanceof StepPredictor) predictor.step = Math.max(predictor.step, step);
}

class StepPredictor implements Predictor {
  step = 0;
  errorM = 0;
  corrections = 0;
  skippedSteps = 0;

  readonly #world: PredictionSource;
  readonly #sink: Partial<StepSink>;
  readonly #now: () => number;
  readonly #history = new StepHistory();
  readonly #sender: StepInputSender;
  readonly #collisionWorld: CollisionWorld;
  readonly #others: OtherWalkers;
  readonly #releases: (() => void)[];
  readonly #mover = new Mover();
  /** The current step, part of which is shown. */
  readonly #ahead = new Mover();
  readonly #before = new Mover();
  /** The start of the current step. */
  readonly #from = new Mover();
  readonly #glide = new Glide();
  readonly #shown = new Float64Array(3);
  readonly #wanted = createInput();
  /** The avatar at the time of the newest call of {@link Predictor.input}. */
  #inputAvatar: EntityId | undefined;
  /** The input of a step that differs from the wanted one. */
  readonly #steered = createInput();
  /** Whether the jump key was pressed and released before a step could read it. */
  #jumpPending = false;
  #walks: EntityId | undefined;
  #kind: Kind | undefined;
  /** Whether input cannot reach the server now. */
  #isCut = false;
  #gait: Gait = readWalker({});
  readonly #adjusted = new AdjustedGait();
  /** The time of step 0, by the frames' clock. */
  #startMs: number | undefined;
  #sampledMs = 0;
  /** Time since the last frame, limited for gliding. */
  #frameS = 0;
  #share = 0;
  /** The newest acknowledged step of this client, and the world's step in which the server took it. */
  #tick = -1;
  #tickStep = 0;
  readonly #carrier: Carrier;
  /** The newest received position of the avatar, with the world's step and the client's step. */
  #acknowledgedTick = -1;
  #acknowledgedStep = 0;
  /** The step after which the state was corrected last. */
  #correctedStep = Number.NEGATIVE_INFINITY;
  /** The assumed ground below an avatar that rests where this client knows no ground. */
  #platform: Solid | undefined;
  readonly #heldItems: HeldItemPrediction;
  readonly #launches: PredictedLaunches;
  /** The acting avatar, for the prediction of held items. */
  readonly #actor = {
    position: new Float64Array(3),
    velocity: new Float64Array(3),
    yaw: 0,
    gait: readWalker({}) as Gait,
  };
  readonly #acknowledged = new Float64Array(3);

  constructor(world: PredictionSource, { nowMs = () => performance.now() }: PredictorOptions) {
    this.#world = world;
    this.#sink = stepSinkOf(world);
    this.#now = nowMs;
    this.#sender = new StepInputSender(this.#history, this.#sink, (input) => this.input(input));
    this.#collisionWorld = new CollisionWorld(world, 70);
    this.#others = new OtherWalkers(world);
    this.#launches = new PredictedLaunches(world);
    this.#carrier = new Carrier(this.#collisionWorld);
    this.#heldItems = new HeldItemPrediction(world);
    this.#releases = [
      world.on("welcome", () => {
        this.#endSteps();
      }),
      world.on("snapshot", ({ tick, ackedInputSequence: sequence, moved }) =>
        this.#onSnapshot(tick, sequence, moved),
      ),
    ];
    // The shown moment lies between two steps. An action belongs to the nearer of the two.
    this.#sink.countSteps?.(() => (this.#walks === undefined ? undefined : Math.round(this.moment) & 0xffff));
  }

  get moment(): number {
    return this.step + this.#share;
  }

  get offsetM(): number {
    return this.#glide.lengthM;
  }

  input(input: Input): void {
    const wanted = this.#wanted;
    writeInput(input, wanted);
    this.#inputAvatar = this.#world.avatarId;
    wanted.forward = f(wanted.forward);
    wanted.right = f(wanted.right);
    wanted.yaw = quantiseYaw(wanted.yaw);
    this.#jumpPending ||= wanted.jump;
    // If the avatar is not a walker, the input is sent without prediction.
    if (this.#walks === undefined) this.#world.input(input);
  }

  sample(nowMs: number): void {
    this.#follow();
    this.#frameS = Math.min(FRAME_S_MAX, Math.max(0, nowMs - this.#sampledMs) / 1000);
    this.#sampledMs = nowMs;
    if (this.#walks === undefined) return;
    this.#startMs ??= nowMs - this.step * STEP_MS;
    const { connection, status } = this.#world;
    this.#isCut = status !== "open" || connection !== "steady";
    const steps = (nowMs - this.#startMs) / STEP_MS;
    let target = Math.floor(steps);
    if (target - this.step > STEPS_KEPT / 2) {
      // After a page was suspended, the missed steps are left out.
      this.skippedSteps += target - this.step - 1;
      this.step = target - 1;
      this.#fill();
      this.#sender.restart(this.step);
    }
    target = Math.max(target, this.step);
    if (target > this.step) this.#gather();
    const taken = target - this.step;
    while (this.step < target) this.#takeStep();
    this.#share = Math.min(1, Math.max(0, steps - this.step));
    this.#lookAhead();
    this.#glide.advance(this.#frameS);
    this.#others.frameS = this.#frameS;
    this.#others.advance();
    this.#show();
    this.#carrier.tick = this.#tickOf(this.moment) ?? Number.NaN;
    this.#carrier.frameS = this.#frameS;
    this.#carrier.follow(this.#mover.carrier, taken);
    const { near, count } = this.#collisionWorld;
    if (this.#heldItems.isPredicting) this.#heldItems.advance(this.#frameS, nowMs, this.#actor, near, count);
    else this.#heldItems.acknowledge();
    if (this.#world.status === "open") this.#sender.flush(nowMs, this.step);
  }

  pose(out: Pose): boolean {
    if (this.#walks === undefined) return false;
    for (let axis = 0; axis < 3; axis++) out.position[axis] = this.#shown[axis]!;
    const { yaw } = this.#wanted;
    out.quaternion[0] = 0;
    out.quaternion[1] = Math.sin(yaw / 2);
    out.quaternion[2] = 0;
    out.quaternion[3] = Math.cos(yaw / 2);
    return true;
  }

  act(action: string, args: WorldRecord = {}): Promise<void> {
    const done = this.#world.act(action, args);
    if (this.#walks === undefined) return done;
    this.#heldItems.act(action, args, this.#actor, this.#sampledMs);
    // `World.act` sends the action with the number of a step, which may be the next step.
    if (this.#launches.act(action, Math.round(this.moment), this.#wanted.yaw)) {
      this.#launches.apply(this.step, this.#mover);
      this.#history.putMover(this.step, this.#mover);
    }
    return done;
  }

  get holding(): EntityId | undefined {
    return this.#heldItems.holding;
  }

  place(id: EntityId, position: { [axis: number]: number }): boolean {
    if (this.#walks === undefined) return false;
    if (this.#others.place(id, position, this.#share)) return true;
    return this.#carrier.place(id, position, this.#glide.offset) || this.#heldItems.place(id, position);
  }

  predicted(step: number, out: { [axis: number]: number }): boolean {
    if (this.#walks === undefined || step > this.step || step <= this.step - STEPS_KEPT) return false;
    this.#history.readMover(step, this.#before);
    out[0] = this.#before.px;
    out[1] = this.#before.py;
    out[2] = this.#before.pz;
    return true;
  }

  get carriedYaw(): number {
    return this.#carrier.yaw;
  }

  close(): void {
    for (const release of this.#releases) release();
    this.#endSteps();
    this.#sink.countSteps?.(undefined);
    this.#heldItems.close();
    this.#others.close();
    this.#collisionWorld.close();
  }

  /** Ends the prediction of an avatar. `World.input` sends its input again. */
  #endSteps(): void {
    if (this.#walks !== undefined) this.#sender.end();
    this.#walks = undefined;
  }

  /** Starts with another avatar, or after the kind of the avatar changed. */
  #follow(): void {
    const id = this.#world.avatarId;
    const entity = id === undefined ? undefined : this.#world.entities.get(id);
    const walker = entity && walkerOf(entity.kind);
    // A seated walker follows the entity on which it sits.
    if (entity === undefined || walker === undefined || entity.parent !== undefined) {
      this.#endSteps();
      return;
    }
    if (this.#kind !== entity.kind) {
      this.#kind = entity.kind;
      this.#gait = this.#adjusted.of(walker, entity.attributes);
      this.#collisionWorld.setWalker(walker.mass, layersOf(entity.kind));
    }
    if (this.#walks === entity.id) return;
    this.#gait = this.#adjusted.of(walker, entity.attributes);
    const nowMs = this.#now();
    this.#startMs ??= nowMs - this.step * STEP_MS;
    this.step = Math.max(this.step + 1, Math.floor((nowMs - this.#startMs) / STEP_MS));
    // Until the page gives an input for this avatar, the avatar keeps the direction in which the world placed it.
    if (this.#inputAvatar !== entity.id) {
      const [, y, , w] = entity.rotation;
      this.#wanted.yaw = quantiseYaw(2 * Math.atan2(y, w));
    }
    this.#history.putInput(this.step, this.#wanted);
    if (!this.#sender.begin(this.step, this.#wanted)) {
      this.#walks = undefined;
      return;
    }
    this.#walks = entity.id;
    this.#others.begin(entity.id, walker.mass, layersOf(entity.kind));
    this.#tick = -1;
    this.#carrier.reset();
    this.#launches.clear();
    this.#acknowledgedTick = -1;
    this.#glide.clear();
    this.#platform = undefined;
    this.#mover.restart(entity.position[0], entity.position[1], entity.position[2]);
    this.#fill();
    this.#gather();
    this.#mover.updateGround(this.#gait, this.#collisionWorld.near, this.#collisionWorld.count);
    this.#sender.restart(this.step);
  }

  /** Fills the history with the current state, so that earlier steps cannot be repeated. */
  #fill(): void {
    for (let back = 0; back < STEPS_KEPT; back++) {
      this.#history.putInput(this.step - back, this.#wanted);
      this.#history.putMover(this.step - back, this.#mover);
    }
  }

  #takeStep(): void {
    const input = this.#nextInput();
    this.step++;
    this.#jumpPending = this.#wanted.jump;
    this.#history.putInput(this.step, input);
    if (!this.#history.isSameInput(this.step, this.step - 1)) this.#sender.changed(this.step);
    this.#move(this.step, input);
  }

  #move(step: number, input: Input): void {
    const mover = this.#mover;
    this.#from.copy(mover);
    this.#stepMover(mover, step, input, false);
    if (this.#gait.isFrozen === true) {
      mover.copy(this.#from);
      mover.freeze();
    }
    this.#launches.apply(step, mover);
    this.#history.putMover(step, mover);
  }

  #stepMover(mover: Mover, step: number, input: Input, isLook: boolean): void {
    const { near, count } = this.#collisionWorld;
    this.#collisionWorld.advance(this.#tickOf(step));
    this.#others.prepare(step, this.#tickOf(step - 1), isLook);
    mover.step(this.#gait, input, near, this.#others.addTo(near, count), this.#others);
  }

  /** Estimates the next step. */
  #lookAhead(): void {
    this.#ahead.copy(this.#mover);
    this.#stepMover(this.#ahead, this.step + 1, this.#nextInput(), true);
  }

  /** The world's step in which the server takes a step of this client; undefined if unknown. */
  readonly #tickOf = (step: number): number | undefined =>
    this.#tick < 0 ? undefined : this.#tick + step - this.#tickStep;

  /** While input cannot reach the server, the walker stops on the server, so the prediction stops, too. */
  #nextInput(): Input {
    const [wanted, steered] = [this.#wanted, this.#steered];
    if (!this.#isCut && (!this.#jumpPending || wanted.jump)) return wanted;
    steered.forward = this.#isCut ? 0 : wanted.forward;
    steered.right = this.#isCut ? 0 : wanted.right;
    steered.yaw = wanted.yaw;
    steered.run = !this.#isCut && wanted.run;
    steered.jump = !this.#isCut;
    return steered;
  }

  #gather(): void {
    const { px, py, pz } = this.#mover;
    const collisionWorld = this.#collisionWorld;
    collisionWorld.gather(this.#mover, REACH_M, this.#walks!, this.#heldItems.holding);
    this.#others.gather(this.#mover, REACH_M);
    if (this.#platform === undefined) return;
    const [x, y, z] = this.#platform.center;
    if (Math.hypot(px - x!, py - y!, pz - z!) > PLATFORM_REACH_M) this.#platform = undefined;
    else collisionWorld.near[collisionWorld.count++] = this.#platform;
  }

  /**
   * Handles the server's position of the avatar after a step. A walker that waited for its input has taken
   * fewer steps than the world, so only the acknowledged number identifies the step.
   */
  #onSnapshot(tick: number, sequence: number, moved: readonly Entity[]): void {
    const number = this.step + (((sequence - this.step) << 16) >> 16);
    const isKnown = sequence !== 0 && number <= this.step && number > this.step - STEPS_KEPT;
    const step = this.#walks !== undefined && isKnown ? number : undefined;
    if (step !== undefined) [this.#tick, this.#tickStep] = [tick, step];
    const isWrong = this.#others.onSnapshot(step, tick, moved);
    if (step === undefined || this.#walks === undefined) return;
    this.#changeGait(step);
    if (!this.#acknowledge(step, tick, moved) && isWrong) {
      this.#before.copy(this.#mover);
      this.#history.readMover(step, this.#mover);
      this.#takeAgain(step);
    }
  }

  /**
   * Handles a change of the avatar's speeds by the rules, at most a few steps before the acknowledged one. Takes these
   * steps again, from the step on after which the result is nearest to the server's position.
   */
  #changeGait(step: number): void {
    const entity = this.#world.entities.get(this.#walks!);
    const walker = entity && walkerOf(entity.kind);
    if (entity === undefined || walker === undefined) return;
    const gait = this.#adjusted.of(walker, entity.attributes);
    if (gait === this.#gait) return;
    this.#gait = gait;
    this.#before.copy(this.#mover);
    this.#gather();
    const paths = { history: this.#history, world: this.#collisionWorld, gait, tickOf: this.#tickOf };
    const from = stepOfChange(paths, this.#ahead, step, step - VELOCITY_STEPS_MAX, entity.position);
    this.#history.readMover(from, this.#mover);
    this.#takeAgain(from);
  }

  /** Returns whether the position differed, so that the steps since then were taken again. */
  #acknowledge(step: number, tick: number, moved: readonly Entity[]): boolean {
    const entity = this.#world.entities.get(this.#walks!);
    if (entity === undefined) return false;
    const isMoved = moved.includes(entity);
    if (!isMoved && tick - this.#acknowledgedTick < QUIET_STEPS) return false;
    this.#sender.taken(step);
    const [x, y, z] = entity.position;
    const passed = step - this.#acknowledgedStep;
    const way = Math.hypot(
      x - this.#acknowledged[0]!,
      y - this.#acknowledged[1]!,
      z - this.#acknowledged[2]!,
    );
    const isFar = way > TELEPORT_M + (SPEED_MAX * Math.max(1, passed)) / 60;
    const isTeleport = (isMoved && entity.hasJumped) || (this.#acknowledgedTick >= 0 && isFar);
    this.errorM = this.#history.distance(step, x, y, z);
    const toleranceM = this.#others.isTouched(step) ? TOLERANCE_TOUCHING_M : TOLERANCE_M;
    const isElsewhere = this.errorM > toleranceM;
    // The input that ended a rest may be late. The server then takes these steps again (`spec/MOVEMENT.md`, section 9).
    if (isElsewhere && !isMoved && step - this.#sender.restEndedStep < LATE_STEPS) return false;
    if (isElsewhere && !isMoved) this.#rest(step, x, y, z);
    else if (isElsewhere) this.#correct(step, x, y, z, passed, isTeleport);
    if (isMoved) {
      this.#acknowledgedTick = tick;
      this.#acknowledgedStep = step;
      this.#acknowledged[0] = x;
      this.#acknowledged[1] = y;
      this.#acknowledged[2] = z;
    }
    return isElsewhere;
  }

  #correct(step: number, x: number, y: number, z: number, passed: number, isTeleport: boolean): void {
    this.corrections++;
    const mover = this.#mover;
    this.#before.copy(mover);
    this.#history.readMover(step, mover);
    const since = step - this.#correctedStep;
    this.#correctedStep = step;
    if (isTeleport) {
      mover.restart(x, y, z);
    } else if (this.errorM < SMALL_M && since > 0 && since <= SMALL_STEPS_MAX) {
      refineVelocity(mover, x, y, z, since);
    } else if (passed > 0 && passed <= VELOCITY_STEPS_MAX && this.#acknowledgedTick >= 0) {
      this.#history.readMover(step - passed, this.#ahead);
      correctVelocity(mover, this.#ahead, [x, y, z], this.#acknowledged, passed);
    }
    mover.px = f(x);
    mover.py = f(y);
    mover.pz = f(z);
    this.#takeAgain(step);
    if (isTeleport) this.#glide.clear();
  }

  /** The avatar rests here on the server, on known or unknown ground. */
  #rest(step: number, x: number, y: number, z: number): void {
    this.corrections++;
    this.#before.copy(this.#mover);
    this.#mover.restart(x, y, z);
    this.#platform = undefined;
    this.#gather();
    this.#mover.updateGround(this.#gait, this.#collisionWorld.near, this.#collisionWorld.count);
    const { near, count } = this.#collisionWorld;
    if (this.#mover.groundCount === 0 && !this.#mover.isHeld(this.#gait, near, count))
      this.#platform = platformAt(x, y - this.#gait.height / 2, z, this.#gait.radius);
    this.#takeAgain(step);
  }

  /** Takes all later steps again from the mover's position. The shown position glides to the new result. */
  #takeAgain(step: number): void {
    const mover = this.#mover;
    this.#others.rewind(step);
    this.#gather();
    this.#collisionWorld.advance(this.#tickOf(step));
    mover.updateGround(this.#gait, this.#collisionWorld.near, this.#collisionWorld.count);
    this.#launches.apply(step, mover);
    this.#history.putMover(step, mover);
    for (let again = step + 1; again <= this.step; again++) this.#move(again, this.#history.input(again));
    this.#others.repeated();
    const dx = this.#before.px - mover.px;
    const dy = this.#before.py - mover.py;
    const dz = this.#before.pz - mover.pz;
    if (Math.hypot(dx, dy, dz) > TELEPORT_M) {
      this.#glide.clear();
      return;
    }
    this.#glide.add(dx, dy, dz);
  }

  #show(): void {
    const from = this.#mover;
    const to = this.#ahead;
    const share = this.#share;
    const { offset } = this.#glide;
    this.#shown[0] = from.px + (to.px - from.px) * share + offset[0]!;
    this.#shown[1] = from.py + (to.py - from.py) * share + offset[1]!;
    this.#shown[2] = from.pz + (to.pz - from.pz) * share + offset[2]!;
    this.#actor.position.set(this.#shown);
    this.#actor.velocity[0] = to.vx;
    this.#actor.velocity[1] = to.vy;
    this.#actor.velocity[2] = to.vz;
    this.#actor.yaw = this.#wanted.yaw;
    this.#actor.gait = this.#gait;
  }
}
