/**
 * The avatars of others that a predicted avatar runs into. The server's physics decides such steps (`spec/MOVEMENT.md`,
 * section 6). This prediction approximates them: two bodies exchange momentum, and separate slowly if they overlap.
 */
import { type Walker, walkerOf } from "../describe/walker.js";
import { Blend, type PoseBuffer, type PoseLayer } from "../poses/layer.js";
import type { Entity, EntityId, World } from "../world.js";
import { BodyMotion } from "./body-motion.js";
import { Glide } from "./glide.js";
import { STEPS_KEPT } from "./history.js";
import { type Layers, layersOf, pass } from "./layers.js";
import type { Gait, Mover } from "./mover.js";
import { Contact, Solid } from "./solid.js";
import type { StepClock } from "./step-clock.js";

const STEP_S = 1 / 60;
/** Maximum number of other avatars around the local avatar. */
const NEAR_MAX = 16;
/** The server's physics finds contacts of bodies that are nearer than this at the beginning of a step, in metres. */
const CONTACT_M = 0.02;
/** The share of an overlap that the server's physics removes in a step. */
const SEPARATION_SHARE = 0.15;
/** The least upward component of the direction from one walker to another one on which it stands. */
const ABOVE_COSINE = 0.555;
/** A smaller difference to the server's position is ignored, in metres. */
const TOLERANCE_M = 0.01;
/** A walker that is slower than this stands, in metres a second. Positions are rounded to 1/1,024 m. */
const STANDING_MPS = 0.15;
/** After this number of steps without a touch, the server's answers decide again. */
const TOUCHED_STEPS = 20;
/** Two answers that are farther apart, in steps, are not used to compute a velocity. */
const APART_STEPS_MAX = 6;
/** An avatar without an update for this many steps of the world rests. */
const QUIET_STEPS = 24;
/** Time in which the drawn avatar moves from its interpolated position to its predicted one, and back, in seconds. */
const ENTER_S = 0.12;
const LEAVE_S = 0.4;
/** Numbers of a stored state: position and velocity. */
const STRIDE = 6;

const UPRIGHT = [0, 0, 0, 1];
const TURN = [0, 0, 0, 1];
const PLACE = [0, 0, 0];

/** The avatar of another player, or a walker that rules steer. */
class Other {
  readonly solid = new Solid();
  readonly motion = new BodyMotion();
  /** Position and velocity after the newest step. */
  readonly state = new Float64Array(STRIDE);
  /** The newest received position, and the previous position. */
  readonly acknowledged = new Float64Array(3);
  readonly before = new Float64Array(3);
  acknowledgedTick = -1;
  apart = 0;
  /** The velocity that the other player's input demands, as far as it is known. */
  wishX = 0;
  wishZ = 0;
  /** The step before which there is no stored state; `undefined` while no step has touched the avatar. */
  since: number | undefined;
  touchedStep = Number.NEGATIVE_INFINITY;
  /** The direction of a wall that stopped it in the last step; 0 without a wall. */
  wallX = 0;
  wallZ = 0;
  /** The share of the prediction in the drawn position. */
  readonly blend = new Blend(ENTER_S, LEAVE_S);
  readonly glide = new Glide();
  #history: Float32Array | undefined;

  constructor(
    readonly id: EntityId,
    readonly gait: Walker,
  ) {
    this.solid.isGroundOnly = true;
    this.solid.radius = gait.radius;
    this.solid.half[1] = gait.height / 2 - gait.radius;
  }

  store(step: number): void {
    this.#history ??= new Float32Array(STRIDE * STEPS_KEPT);
    this.#history.set(this.state, STRIDE * (step & (STEPS_KEPT - 1)));
  }

  /** Reads a stored number of the state after a step. */
  stored(step: number, part: number): number {
    return this.#history?.[STRIDE * (step & (STEPS_KEPT - 1)) + part] ?? 0;
  }

  restore(step: number): void {
    for (let part = 0; part < STRIDE; part++) this.state[part] = this.stored(step, part);
  }

  /** Sets the state at a step of the world from the received motion. */
  extrapolate(tick: number | undefined): void {
    const { state, motion } = this;
    motion.at(tick, state, TURN);
    // Without the floor below it, a falling avatar would sink into the ground.
    state[1] = this.acknowledged[1]!;
    state[3] = this.wishX;
    state[4] = 0;
    state[5] = this.wishZ;
  }
}

export class OtherWalkers implements PoseLayer {
  readonly #clock: StepClock;
  readonly #others = new Map<EntityId, Other>();
  /** The same in an array, because the iterator of a map is garbage in each frame. */
  readonly #all: Other[] = [];
  readonly #near: Other[] = [];
  readonly #contact = new Contact();
  readonly #place = { px: 0, py: 0, pz: 0 };
  readonly #releases: readonly (() => void)[];
  readonly #world: World;
  #own: EntityId | undefined;
  #mass = 70;
  #layers: Layers | undefined;
  /** The step that is prepared, and whether it is an estimate that changes no state. */
  #step = 0;
  #isLook = false;

  constructor(world: World, clock: StepClock) {
    this.#world = world;
    this.#clock = clock;
    this.#releases = [
      world.on("define", () => this.#readAll()),
      world.on("spawn", ({ entity }) => this.#read(entity)),
      world.on("change", ({ entity }) => this.#read(entity)),
      world.on("despawn", ({ entity }) => this.#forget(entity.id)),
    ];
  }

  close(): void {
    for (const release of this.#releases) release();
    this.#others.clear();
    this.#all.length = this.#near.length = 0;
  }

  /** Shows all avatars as they are interpolated. */
  end(): void {
    for (const other of this.#all) {
      other.since = undefined;
      other.blend.weight = 0;
    }
  }

  /** Sets the local avatar, its mass in kilograms, and its collision layers. */
  begin(own: EntityId, mass: number, layers: Layers): void {
    this.#own = own;
    this.#mass = mass;
    this.#layers = layers;
    this.#readAll();
  }

  /** Selects the avatars within `reach` metres. */
  gather({ px, py, pz }: Pick<Mover, "px" | "py" | "pz">, reach: number): void {
    let count = 0;
    for (const other of this.#all) {
      if (count >= NEAR_MAX) break;
      const place = other.since === undefined ? other.acknowledged : other.state;
      const isNear =
        Math.abs(place[0]! - px) < reach &&
        Math.abs(place[1]! - py) < reach &&
        Math.abs(place[2]! - pz) < reach;
      if (isNear) this.#near[count++] = other;
    }
    // An array that is emptied first would get new memory in each frame.
    this.#near.length = count;
  }

  /** Appends the near avatars as grounds. Returns the new number of solids. */
  addTo(solids: Solid[], count: number): number {
    for (const other of this.#near) solids[count++] = other.solid;
    return count;
  }

  /**
   * Prepares `step`, before which the world's step was `tick`. If `isLook`, the step is an estimate that changes no state.
   */
  prepare(step: number, tick: number | undefined, isLook: boolean): void {
    this.#step = step;
    this.#isLook = isLook;
    for (const other of this.#near) {
      if (other.since === undefined) other.extrapolate(tick);
      other.solid.place(other.state, UPRIGHT);
    }
  }

  /** The part of a step between the walker's steering and its travel: {@link Mover.step}. */
  collide(mover: Mover, gait: Gait, solids: readonly Solid[], count: number): void {
    for (const other of this.#near) this.#meet(other, mover, gait, solids, count);
  }

  /** Whether the local avatar touched another one in this step. */
  isTouched(step: number): boolean {
    for (const { since, touchedStep } of this.#near) {
      if (since !== undefined && step >= since && step - touchedStep < 2) return true;
    }
    return false;
  }

  /** Resets all states to those after a step, because the later steps are taken again. */
  rewind(step: number): void {
    for (const other of this.#all) {
      if (other.blend.weight > 0) other.glide.from(other.state);
      if (other.since === undefined) continue;
      if (other.since <= step) other.restore(step);
      else other.since = undefined;
    }
  }

  /** Ends a replay: drawn positions move gradually to the new result. */
  repeated(): void {
    for (const other of this.#all) if (other.blend.weight > 0) other.glide.to(other.state);
  }

  /** Compares the server's positions after a step. Returns whether the steps since then must be taken again. */
  onSnapshot(step: number | undefined, tick: number, moved: readonly Entity[]): boolean {
    for (const entity of moved) {
      const other = this.#others.get(entity.id);
      if (other !== undefined) this.#record(other, entity, tick);
    }
    let isWrong = false;
    for (const other of this.#all) {
      other.motion.quiet(tick);
      if (step === undefined) other.since = undefined;
      else if (this.#compare(other, step, tick)) isWrong = true;
    }
    return isWrong;
  }

  /** Advances the drawn positions by a frame. */
  advance(): void {
    for (const other of this.#all) {
      if (other.since === undefined && other.blend.weight === 0) continue;
      other.blend.advance(other.since !== undefined, this.#clock);
      other.glide.advance(this.#clock);
    }
  }

  /** Moves an avatar that was touched toward its predicted position. */
  place(id: EntityId, { position }: PoseBuffer): boolean {
    const other = this.#others.get(id);
    if (other === undefined || other.blend.weight === 0) return false;
    const { state, glide } = other;
    const seconds = other.since === undefined ? 0 : this.#clock.share * STEP_S;
    for (let axis = 0; axis < 3; axis++)
      PLACE[axis] = state[axis]! + state[3 + axis]! * seconds + glide.offset[axis]!;
    other.blend.move(position, PLACE);
    return true;
  }

  #meet(other: Other, mover: Mover, gait: Gait, solids: readonly Solid[], count: number): void {
    const { solid, state } = other;
    const contact = this.#contact;
    contact.measure(solid, mover, gait);
    const { x, y, z, gap } = contact;
    const isMet = Math.abs(y) < ABOVE_COSINE && gap < CONTACT_M;
    if (other.since === undefined) {
      if (!isMet) return;
      if (!this.#isLook) this.#enter(other);
    }
    const most = other.gait.groundAcceleration * STEP_S;
    const dx = other.wishX - state[3]!;
    const dz = other.wishZ - state[5]!;
    const change = Math.sqrt(dx * dx + dz * dz);
    const share = change > most ? most / change : 1;
    let vx = state[3]! + dx * share;
    let vz = state[5]! + dz * share;
    const toward = (mover.vx - vx) * x + mover.vy * y + (mover.vz - vz) * z;
    // Bodies that do not overlap yet may approach by the distance between them.
    const isStopping = toward * STEP_S < -Math.max(0, gap);
    if (isMet && (gap < 0 || isStopping)) {
      // A body that a wall stops does not give way.
      const isHeld = x * other.wallX + z * other.wallZ > 0.5;
      const part = isHeld ? 1 : other.gait.mass / (other.gait.mass + this.#mass);
      if (isStopping) {
        mover.vx = Math.fround(mover.vx - x * toward * part);
        mover.vy = Math.fround(mover.vy - y * toward * part);
        mover.vz = Math.fround(mover.vz - z * toward * part);
        vx += x * toward * (1 - part);
        vz += z * toward * (1 - part);
      }
      const push = gap < 0 ? -gap * SEPARATION_SHARE : -gap;
      mover.px = Math.fround(mover.px + x * push * part);
      mover.pz = Math.fround(mover.pz + z * push * part);
      if (!this.#isLook) {
        other.touchedStep = this.#step;
        state[0]! -= x * push * (1 - part);
        state[2]! -= z * push * (1 - part);
      }
    }
    if (this.#isLook) return;
    state[3] = vx;
    state[5] = vz;
    state[0]! += vx * STEP_S;
    state[2]! += vz * STEP_S;
    this.#stopAtWalls(other, solids, count);
    other.store(this.#step);
  }

  /** Begins to simulate an avatar. */
  #enter(other: Other): void {
    other.since = this.#step - 1;
    other.wallX = other.wallZ = 0;
    if (other.blend.weight === 0) other.glide.clear();
    other.store(this.#step - 1);
  }

  /** Pushes another avatar out of walls. */
  #stopAtWalls(other: Other, solids: readonly Solid[], count: number): void {
    const { state, gait } = other;
    const contact = this.#contact;
    const place = this.#place;
    other.wallX = other.wallZ = 0;
    for (let at = 0; at < count; at++) {
      const solid = solids[at]!;
      if (solid.isGroundOnly) continue;
      place.px = state[0]!;
      place.py = state[1]!;
      place.pz = state[2]!;
      contact.measure(solid, place, gait);
      if (contact.gap >= 0 || contact.y >= ABOVE_COSINE) continue;
      state[0]! -= contact.x * contact.gap;
      state[2]! -= contact.z * contact.gap;
      const inward = state[3]! * contact.x + state[5]! * contact.z;
      if (inward >= 0) continue;
      state[3]! -= contact.x * inward;
      state[5]! -= contact.z * inward;
      other.wallX = contact.x;
      other.wallZ = contact.z;
    }
  }

  #record(other: Other, { position, hasJumped }: Entity, tick: number): void {
    if (hasJumped) {
      other.since = undefined;
      other.blend.weight = 0;
      other.motion.jumped(tick, position, UPRIGHT);
    } else {
      other.motion.moved(tick, position, UPRIGHT);
    }
    other.before.set(other.acknowledged);
    other.apart = other.acknowledgedTick < 0 ? 0 : tick - other.acknowledgedTick;
    other.acknowledged.set(position);
    other.acknowledgedTick = tick;
  }

  #compare(other: Other, step: number, tick: number): boolean {
    const { acknowledged, since } = other;
    const isNews = other.acknowledgedTick === tick;
    const rests = tick - other.acknowledgedTick >= QUIET_STEPS;
    // The velocity of a pushed avatar does not tell what its player demands.
    const isPushed = since !== undefined && step > since && step - other.touchedStep <= TOUCHED_STEPS;
    if (!isPushed) this.#setWish(other);
    if (since === undefined) return false;
    if (step - other.touchedStep > TOUCHED_STEPS) {
      other.since = undefined;
      return false;
    }
    if (!isNews && !rests) return false;
    if (step < since) return this.#isElsewhere(other, since, tick + since - step);
    const dx = acknowledged[0]! - other.stored(step, 0);
    const dy = acknowledged[1]! - other.stored(step, 1);
    const dz = acknowledged[2]! - other.stored(step, 2);
    if (Math.sqrt(dx * dx + dy * dy + dz * dz) <= TOLERANCE_M) return false;
    this.#correct(other, step, rests);
    return true;
  }

  /** Whether a body that was touched after the acknowledged step began at the wrong place. */
  #isElsewhere(other: Other, since: number, tick: number): boolean {
    other.motion.at(tick, PLACE, TURN);
    const dx = PLACE[0]! - other.stored(since, 0);
    const dz = PLACE[2]! - other.stored(since, 2);
    return Math.sqrt(dx * dx + dz * dz) > TOLERANCE_M;
  }

  #correct(other: Other, step: number, rests: boolean): void {
    const { acknowledged, before, apart, since } = other;
    const kept = other.state.slice();
    other.restore(step);
    const isKnown = !rests && apart > 0 && apart <= APART_STEPS_MAX && step - apart >= since!;
    for (let axis = 0; axis < 3; axis++) {
      const predicted = other.state[axis]! - other.stored(step - apart, axis);
      const reported = acknowledged[axis]! - before[axis]!;
      if (isKnown && axis !== 1) other.state[3 + axis]! += ((reported - predicted) * 60) / apart;
      else if (rests) other.state[3 + axis] = 0;
      other.state[axis] = acknowledged[axis]!;
    }
    other.store(step);
    other.state.set(kept);
  }

  #setWish(other: Other): void {
    const { velocity, moves } = other.motion;
    const [x, z] = [velocity[0]!, velocity[2]!];
    const walks = moves && x * x + z * z > STANDING_MPS * STANDING_MPS;
    other.wishX = walks ? x : 0;
    other.wishZ = walks ? z : 0;
  }

  #readAll(): void {
    this.#others.clear();
    this.#all.length = this.#near.length = 0;
    if (this.#layers === undefined) return;
    for (const entity of this.#world.entities.values()) this.#read(entity);
  }

  #read(entity: Entity): void {
    const { id, kind, position, tick, parent } = entity;
    // An attached walker takes no step. It is drawn on its parent.
    const gait = parent === undefined ? walkerOf(kind) : undefined;
    const layers = this.#layers;
    if (layers === undefined || id === this.#own || gait === undefined || pass(layersOf(kind), layers))
      return this.#forget(id);
    const known = this.#others.get(id);
    if (known?.gait === gait) return;
    this.#forget(id);
    const other = new Other(id, gait);
    other.acknowledged.set(position);
    other.before.set(position);
    other.acknowledgedTick = tick;
    other.motion.jumped(tick, position, UPRIGHT);
    this.#others.set(id, other);
    this.#all.push(other);
  }

  #forget(id: EntityId): void {
    const other = this.#others.get(id);
    if (other === undefined) return;
    this.#others.delete(id);
    for (const list of [this.#all, this.#near]) {
      const at = list.indexOf(other);
      if (at >= 0) list.splice(at, 1);
    }
  }
}
