import { AdjustedGait, readWalker, walkerOf } from "../describe/walker.js";
import type { NumberArray } from "../interpolation/rotation.js";
import type { PoseBuffer, PoseLayer } from "../poses/layer.js";
import type { Entity, EntityId, Input, Kind, World, WorldRecord } from "../world.js";
import { Carrier } from "./carrier.js";
import { CollisionWorld } from "./collision-world.js";
import { stepOfChange } from "./gait-change.js";
import { Glide } from "./glide.js";
import type { HeldItemPrediction } from "./held-item-prediction.js";
import { STEPS_KEPT, type StepHistory } from "./history.js";
import { PredictedLaunches } from "./launches.js";
import { layersOf } from "./layers.js";
import { type Gait, Mover, quantiseYaw } from "./mover.js";
import { OtherWalkers } from "./other-walkers.js";
import { platformAt, type Solid } from "./solid.js";
import type { StepClock } from "./step-clock.js";
import type { StepModel } from "./step-model.js";
import { correctVelocity, refineVelocity } from "./velocity-correction.js";

const f = Math.fround;
/** Smaller errors are ignored, because positions from the server are rounded to 1/1,024 m on each axis. */
const TOLERANCE_M = 0.003;
/** The tolerance in steps in which the avatar touched another one, which are only approximated. */
const TOLERANCE_TOUCHING_M = 0.006;
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

/**
 * Predicts a local avatar that walks. It takes the same steps as the server's walkers (`spec/MOVEMENT.md`) without waiting
 * for the server. If the server's position of the avatar differs, it takes the newest steps again from that position.
 */
export class WalkerPrediction implements StepModel {
  errorM = 0;
  corrections = 0;
  /** The layers of other entities that the avatar moves or stands on. */
  readonly layers: readonly PoseLayer[];

  readonly #clock: StepClock;
  readonly #history: StepHistory;
  readonly #collisionWorld: CollisionWorld;
  readonly #others: OtherWalkers;
  readonly #mover = new Mover();
  /** The current step, part of which is shown. */
  readonly #ahead = new Mover();
  readonly #before = new Mover();
  /** The start of the current step. */
  readonly #from = new Mover();
  readonly #glide = new Glide();
  #walks: EntityId | undefined;
  #kind: Kind | undefined;
  #gait: Gait = readWalker({});
  readonly #adjusted = new AdjustedGait();
  /** The newest acknowledged step of this client, and the world's step in which the server took it. */
  #tick = -1;
  #tickStep = 0;
  readonly #carrier: Carrier;
  /** The newest received position of the avatar, with the world's step and the client's step. */
  #acknowledgedTick = -1;
  #acknowledgedStep = 0;
  /** Whether the newest snapshot differed from the prediction of other walkers. */
  #areOthersWrong = false;
  /** The step after which the state was corrected last. */
  #correctedStep = Number.NEGATIVE_INFINITY;
  /** The assumed ground below an avatar that rests where this client knows no ground. */
  #platform: Solid | undefined;
  readonly #held: HeldItemPrediction;
  readonly #launches: PredictedLaunches;
  /** The avatar as shown, for the prediction of held items. */
  readonly #actor = {
    position: new Float64Array(3),
    velocity: new Float64Array(3),
    yaw: 0,
    gait: readWalker({}) as Gait,
  };
  readonly #acknowledged = new Float64Array(3);

  constructor(world: World, clock: StepClock, held: HeldItemPrediction) {
    this.#clock = clock;
    this.#history = clock.history;
    this.#held = held;
    this.#collisionWorld = new CollisionWorld(world, 70);
    this.#others = new OtherWalkers(world, clock);
    this.#launches = new PredictedLaunches(world);
    this.#carrier = new Carrier(this.#collisionWorld, clock, this.#glide);
    this.layers = [this.#others, this.#carrier];
  }

  get offsetM(): number {
    return this.#glide.lengthM;
  }

  get carriedYaw(): number {
    return this.#carrier.yaw;
  }

  /** Reads the kind of an avatar before its first step. */
  prepare(avatar: Entity): void {
    this.#setKind(avatar);
    // Until the page gives an input for this avatar, the avatar keeps the direction in which the world placed it.
    if (this.#clock.inputAvatar === avatar.id) return;
    const [, y, , w] = avatar.quaternion;
    this.#clock.wanted.yaw = quantiseYaw(2 * Math.atan2(y, w));
  }

  begin(avatar: Entity): void {
    const walker = walkerOf(avatar.kind)!;
    this.#walks = avatar.id;
    this.#gait = this.#adjusted.of(walker, avatar.attributes);
    this.#others.begin(avatar.id, walker.mass, layersOf(avatar.kind));
    this.#tick = -1;
    this.#carrier.reset();
    this.#launches.clear();
    this.#acknowledgedTick = -1;
    this.#glide.clear();
    this.#platform = undefined;
    this.#mover.restart(avatar.position[0], avatar.position[1], avatar.position[2]);
    this.restart();
    this.#gather();
    this.#mover.updateGround(this.#gait, this.#collisionWorld.near, this.#collisionWorld.count);
  }

  /** Fills the history with the current state, so that earlier steps cannot be repeated. */
  restart(): void {
    const { step } = this.#clock;
    this.#clock.fill();
    for (let back = 0; back < STEPS_KEPT; back++) this.#history.putMover(step - back, this.#mover);
  }

  glideFrom(position: NumberArray): void {
    const { px, py, pz } = this.#mover;
    this.#glide.from(position);
    this.#glide.to([px, py, pz]);
  }

  advance(avatar: Entity, steps: number): void {
    const clock = this.#clock;
    this.#setKind(avatar);
    if (steps > 0) this.#gather();
    for (let taken = 0; taken < steps; taken++) {
      const input = clock.next();
      this.#move(clock.step, input);
    }
    this.#lookAhead();
    this.#glide.advance(clock);
    this.#others.advance();
    this.#show();
    this.#carrier.tick = this.#tickOf(clock.moment) ?? Number.NaN;
    this.#carrier.follow(this.#mover.carrier, steps);
    const { near, count } = this.#collisionWorld;
    if (this.#held.isPredicting) this.#held.advance(clock, this.#actor, near, count);
  }

  pose({ position, quaternion }: PoseBuffer): void {
    for (let axis = 0; axis < 3; axis++) position[axis] = this.#actor.position[axis]!;
    const { yaw } = this.#actor;
    quaternion[0] = 0;
    quaternion[1] = Math.sin(yaw / 2);
    quaternion[2] = 0;
    quaternion[3] = Math.cos(yaw / 2);
  }

  acted(action: string, args: WorldRecord): void {
    const { step, moment, wanted } = this.#clock;
    this.#held.act(action, args, this.#actor, this.#clock.frameMs);
    // An action is sent with the number of a step, which may be the next step.
    if (!this.#launches.act(action, Math.round(moment), wanted.yaw)) return;
    this.#launches.apply(step, this.#mover);
    this.#history.putMover(step, this.#mover);
  }

  readPosition(step: number, out: { [axis: number]: number }): void {
    this.#history.readMover(step, this.#before);
    out[0] = this.#before.px;
    out[1] = this.#before.py;
    out[2] = this.#before.pz;
  }

  /** Ends the prediction of an avatar. */
  end(): void {
    this.#walks = undefined;
    this.#others.end();
    this.#carrier.reset();
  }

  close(): void {
    this.#others.close();
    this.#collisionWorld.close();
  }

  #setKind({ kind, attributes }: Entity): void {
    if (this.#kind === kind) return;
    const walker = walkerOf(kind)!;
    this.#kind = kind;
    this.#gait = this.#adjusted.of(walker, attributes);
    this.#collisionWorld.setWalker(walker.mass, layersOf(kind));
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
    this.#stepMover(this.#ahead, this.#clock.step + 1, this.#clock.nextInput(), true);
  }

  /** The world's step in which the server takes a step of this client; undefined if unknown. */
  readonly #tickOf = (step: number): number | undefined =>
    this.#tick < 0 ? undefined : this.#tick + step - this.#tickStep;

  #gather(): void {
    const { px, py, pz } = this.#mover;
    const collisionWorld = this.#collisionWorld;
    collisionWorld.gather(this.#mover, REACH_M, this.#walks!, this.#held.holding);
    this.#others.gather(this.#mover, REACH_M);
    if (this.#platform === undefined) return;
    const [x, y, z] = this.#platform.center;
    if (Math.hypot(px - x!, py - y!, pz - z!) > PLATFORM_REACH_M) this.#platform = undefined;
    else collisionWorld.near[collisionWorld.count++] = this.#platform;
  }

  /** Handles the movement of other walkers in a snapshot, whether or not it acknowledges a step of this client. */
  onMovement(step: number | undefined, tick: number, moved: readonly Entity[]): void {
    if (step !== undefined) [this.#tick, this.#tickStep] = [tick, step];
    this.#areOthersWrong = this.#others.onSnapshot(step, tick, moved);
  }

  /**
   * Handles the server's position of the avatar after a step. A walker that waited for its input has taken
   * fewer steps than the world, so only the acknowledged number identifies the step.
   */
  onSnapshot(avatar: Entity, step: number, tick: number, moved: readonly Entity[]): void {
    this.#changeGait(avatar, step);
    if (!this.#acknowledge(avatar, step, tick, moved) && this.#areOthersWrong) {
      this.#before.copy(this.#mover);
      this.#history.readMover(step, this.#mover);
      this.#takeAgain(step);
    }
  }

  /**
   * Handles a change of the avatar's speeds by the rules, at most a few steps before the acknowledged one. Takes these
   * steps again, from the step on after which the result is nearest to the server's position.
   */
  #changeGait({ kind, attributes, position }: Entity, step: number): void {
    const walker = walkerOf(kind);
    if (walker === undefined) return;
    const gait = this.#adjusted.of(walker, attributes);
    if (gait === this.#gait) return;
    this.#gait = gait;
    this.#before.copy(this.#mover);
    this.#gather();
    const paths = { history: this.#history, world: this.#collisionWorld, gait, tickOf: this.#tickOf };
    const from = stepOfChange(paths, this.#ahead, step, step - VELOCITY_STEPS_MAX, position);
    this.#history.readMover(from, this.#mover);
    this.#takeAgain(from);
  }

  /** Returns whether the position differed, so that the steps since then were taken again. */
  #acknowledge(avatar: Entity, step: number, tick: number, moved: readonly Entity[]): boolean {
    const isMoved = moved.includes(avatar);
    if (!isMoved && tick - this.#acknowledgedTick < QUIET_STEPS) return false;
    const { sender } = this.#clock;
    sender.taken(step);
    const [x, y, z] = avatar.position;
    const passed = step - this.#acknowledgedStep;
    // A moving ground carries a walker that waits for input. Its own velocity does not follow from the two positions then.
    const wasCarried = this.#mover.carrier !== undefined && tick - this.#acknowledgedTick !== passed;
    this.errorM = this.#history.distance(step, x, y, z);
    const toleranceM = this.#others.isTouched(step) ? TOLERANCE_TOUCHING_M : TOLERANCE_M;
    const isElsewhere = this.errorM > toleranceM;
    // The input that ended a rest may be late. The server then takes these steps again (`spec/MOVEMENT.md`, section 9).
    if (isElsewhere && !isMoved && step - sender.restEndedStep < LATE_STEPS) return false;
    if (isElsewhere && !isMoved) this.#rest(step, x, y, z);
    else if (isElsewhere) this.#correct(step, x, y, z, wasCarried ? 0 : passed, avatar.hasJumped === true);
    if (isMoved) {
      this.#acknowledgedTick = tick;
      this.#acknowledgedStep = step;
      this.#acknowledged[0] = x;
      this.#acknowledged[1] = y;
      this.#acknowledged[2] = z;
    }
    return isElsewhere;
  }

  #correct(step: number, x: number, y: number, z: number, passed: number, hasJumped: boolean): void {
    this.corrections++;
    const mover = this.#mover;
    this.#before.copy(mover);
    this.#history.readMover(step, mover);
    const since = step - this.#correctedStep;
    this.#correctedStep = step;
    if (hasJumped) {
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
    if (hasJumped) this.#glide.clear();
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
    const newest = this.#clock.step;
    this.#others.rewind(step);
    this.#gather();
    this.#collisionWorld.advance(this.#tickOf(step));
    mover.updateGround(this.#gait, this.#collisionWorld.near, this.#collisionWorld.count);
    this.#launches.apply(step, mover);
    this.#history.putMover(step, mover);
    for (let again = step + 1; again <= newest; again++) this.#move(again, this.#history.input(again));
    this.#others.repeated();
    const before = this.#before;
    this.#glide.add(before.px - mover.px, before.py - mover.py, before.pz - mover.pz);
  }

  #show(): void {
    const from = this.#mover;
    const to = this.#ahead;
    const { share, wanted } = this.#clock;
    const { offset } = this.#glide;
    const actor = this.#actor;
    actor.position[0] = from.px + (to.px - from.px) * share + offset[0]!;
    actor.position[1] = from.py + (to.py - from.py) * share + offset[1]!;
    actor.position[2] = from.pz + (to.pz - from.pz) * share + offset[2]!;
    actor.velocity[0] = to.vx;
    actor.velocity[1] = to.vy;
    actor.velocity[2] = to.vz;
    actor.yaw = wanted.yaw;
    actor.gait = this.#gait;
  }
}
