/** The physics of a few bodies around an avatar, computed as on the server, and its recent steps. */
import type { Collider, EventQueue, RigidBody, World } from "@dimforge/rapier3d-deterministic-compat";
import type { Gait, WalkerMotion } from "nowcast/extend";
import type { Walker } from "nowcast/world";
import { type BodyForm, capsuleForm } from "./form.js";
import { InnerEdges } from "./inner-edges.js";
import type { Rapier } from "./rapier.js";
import { SPEED_MAX, shorten } from "./tracks.js";

/** Maximum number of bodies that can move. */
export const BODIES_MAX = 64;
/** Maximum number of static bodies around them. */
export const FIXED_MAX = 128;
/** Number of remembered steps; a power of two. */
export const STEPS_KEPT = 64;
/** Numbers of a body's state: position, rotation, velocity and spin. */
export const STRIDE = 13;

/** Equal to the server's: `crates/world/src/walker.rs`. */
const WALKABLE_COSINE = 0.555;
const TOUCH_DISTANCE = 0.03;
const GROUNDS_MAX = 4;
/** A body that moved less than this, in metres, has not moved. */
const FIXED_M = 0.002;
/** The length of a step without noticeable motion. */
const TINY_S = 1e-7;

/**
 * Collision groups: the group of the body in the upper half of the bits, and the groups with which it collides in the
 * lower half.
 */
const AVATAR_GROUP = 0x0001_ffff;
const BODY_GROUP = 0x0002_ffff;
const HELD_GROUP = 0x0002_fffe;

interface Slot {
  readonly body: RigidBody;
  readonly collider: Collider;
  readonly form: BodyForm;
}

export class Island {
  /** The state of each body after the newest step; `STRIDE` numbers each. */
  readonly states = new Float32Array(BODIES_MAX * STRIDE);
  readonly slots: (Slot | undefined)[] = new Array(BODIES_MAX).fill(undefined);
  /** The slot of each collider handle, or −1 for the avatar. */
  readonly #byCollider = new Map<number, number>();
  readonly #history = new Float32Array(BODIES_MAX * STEPS_KEPT * STRIDE);
  readonly #world: World;
  readonly #avatar: RigidBody;
  readonly #avatarCollider: Collider;
  readonly #avatarReach: number;
  readonly #vector = { x: 0, y: 0, z: 0 };
  readonly #turn = { x: 0, y: 0, z: 0, w: 1 };
  fixedCount = 0;
  readonly #rapier: Rapier;
  readonly #innerEdges: InnerEdges;
  /** Stays empty. Rapier calls hooks only in a step with such a queue. */
  readonly #events: EventQueue;

  constructor(rapier: Rapier, gait: Gait, walker: Walker | Gait) {
    this.#rapier = rapier;
    const { RigidBodyDesc } = rapier;
    this.#world = new rapier.World({ x: 0, y: -gait.gravity, z: 0 });
    this.#innerEdges = new InnerEdges(rapier);
    this.#events = new rapier.EventQueue(true);
    this.#avatar = this.#world.createRigidBody(RigidBodyDesc.dynamic().lockRotations().setCanSleep(false));
    const form = capsuleForm(walker);
    this.#avatarReach = Math.hypot(...form.half);
    const desc = form.build(rapier).setCollisionGroups(AVATAR_GROUP);
    this.#avatarCollider = this.#world.createCollider(desc, this.#avatar);
    this.#byCollider.set(this.#avatarCollider.handle, -1);
  }

  free(): void {
    this.#events.free();
    this.#world.free();
  }

  /**
   * Adds a body in a state of `STRIDE` numbers. Returns its slot, or −1 if there is no room. Throws for a
   * form that Rapier cannot build.
   */
  add(form: BodyForm, state: Float32Array): number {
    const slot = this.slots.indexOf(undefined);
    if (slot < 0) return -1;
    const { RigidBodyDesc } = this.#rapier;
    const desc =
      form.motion === "kinematic" ? RigidBodyDesc.kinematicVelocityBased() : RigidBodyDesc.dynamic();
    desc.setGravityScale(form.motion === "walker" ? 0 : form.gravityScale);
    desc.setLinearDamping(form.linearDamping).setAngularDamping(form.angularDamping);
    desc.setCcdEnabled(form.isBullet);
    if (form.locksRotation) desc.lockRotations();
    const shape = form.build(this.#rapier).setCollisionGroups(BODY_GROUP);
    const body = this.#world.createRigidBody(desc);
    try {
      const collider = this.#world.createCollider(shape, body);
      this.slots[slot] = { body, collider, form };
      this.#byCollider.set(collider.handle, slot);
      this.#innerEdges.addMoving(collider, form.motion === "kinematic");
    } catch (error) {
      this.#world.removeRigidBody(body);
      throw error;
    }
    this.states.fill(0, slot * STRIDE, (slot + 1) * STRIDE);
    this.put(slot, state, 0);
    return slot;
  }

  remove(slot: number): void {
    const { body, collider } = this.slots[slot]!;
    this.#byCollider.delete(collider.handle);
    this.#innerEdges.removeMoving(collider);
    this.#world.removeRigidBody(body);
    this.slots[slot] = undefined;
  }

  addFixed(form: BodyForm, pose: ArrayLike<number>): RigidBody | undefined {
    if (this.fixedCount >= FIXED_MAX) return undefined;
    const shape = form.build(this.#rapier).setCollisionGroups(BODY_GROUP);
    const desc = this.#rapier.RigidBodyDesc.fixed().setTranslation(pose[0]!, pose[1]!, pose[2]!);
    const body = this.#world.createRigidBody(
      desc.setRotation({ x: pose[3]!, y: pose[4]!, z: pose[5]!, w: pose[6]! }),
    );
    try {
      const collider = this.#world.createCollider(shape, body);
      // A body that rests outside of the island is no ground for the server.
      if (form.motion === "fixed") this.#innerEdges.addFixed(collider, Math.hypot(...form.half));
    } catch (error) {
      this.#world.removeRigidBody(body);
      throw error;
    }
    this.fixedCount++;
    return body;
  }

  /** Moves a static body to a pose, unless it is already there. */
  moveFixed(body: RigidBody, pose: ArrayLike<number>): void {
    const { x, y, z } = body.translation(this.#vector);
    const isThere = Math.hypot(x - pose[0]!, y - pose[1]!, z - pose[2]!) < FIXED_M;
    if (isThere) return;
    body.setTranslation({ x: pose[0]!, y: pose[1]!, z: pose[2]! }, true);
    body.setRotation({ x: pose[3]!, y: pose[4]!, z: pose[5]!, w: pose[6]! }, true);
  }

  removeFixed(body: RigidBody): void {
    this.#innerEdges.removeFixed(body.collider(0));
    this.#world.removeRigidBody(body);
    this.fixedCount--;
  }

  /** Sets whether a body floats because it is held, and whether it passes through the avatar. */
  setHeld(slot: number, isHeld: boolean, isPassing: boolean): void {
    const { body, collider, form } = this.slots[slot]!;
    collider.setCollisionGroups(isPassing ? HELD_GROUP : BODY_GROUP);
    if (form.motion === "dynamic") body.setGravityScale(isHeld ? 0 : form.gravityScale, true);
  }

  /** Sets a body to a state of `STRIDE` numbers, unless it already has that state. */
  put(slot: number, from: Float32Array, at: number): void {
    const { body } = this.slots[slot]!;
    const to = slot * STRIDE;
    const { states } = this;
    if (differs(states, to, from, at, 3)) body.setTranslation(this.#read3(from, at), true);
    if (differs(states, to + 3, from, at + 3, 4)) body.setRotation(this.#read4(from, at + 3), true);
    if (differs(states, to + 7, from, at + 7, 3)) body.setLinvel(this.#read3(from, at + 7), true);
    if (differs(states, to + 10, from, at + 10, 3)) body.setAngvel(this.#read3(from, at + 10), true);
    states.set(from.subarray(at, at + STRIDE), to);
  }

  setVelocity(slot: number, x: number, y: number, z: number): void {
    const at = slot * STRIDE + 7;
    this.states[at] = x;
    this.states[at + 1] = y;
    this.states[at + 2] = z;
    this.slots[slot]!.body.setLinvel(this.#read3(this.states, at), true);
  }

  setSpin(slot: number, x: number, y: number, z: number): void {
    const at = slot * STRIDE + 10;
    this.states[at] = x;
    this.states[at + 1] = y;
    this.states[at + 2] = z;
    this.slots[slot]!.body.setAngvel(this.#read3(this.states, at), true);
  }

  /** Sets the avatar's position before a step, and its velocity in it. */
  putAvatar({ px, py, pz }: WalkerMotion, velocity: Float64Array): void {
    const avatar = this.#avatar;
    const { x, y, z } = avatar.translation(this.#vector);
    // A new value makes the solver drop its stored contacts, so equal values are not set.
    if (x !== px || y !== py || z !== pz) avatar.setTranslation({ x: px, y: py, z: pz }, true);
    this.#vector.x = velocity[0]!;
    this.#vector.y = velocity[1]!;
    this.#vector.z = velocity[2]!;
    avatar.setLinvel(this.#vector, true);
  }

  /** One step of 1/60 s. Returns false if a body got an invalid value; the body then keeps its position, at rest. */
  step(): boolean {
    this.#step();
    let isSane = true;
    for (let slot = 0; slot < BODIES_MAX; slot++) {
      if (this.slots[slot] !== undefined && !this.#readState(slot)) isSane = false;
    }
    return isSane;
  }

  /** Writes the avatar's position after the step of physics. Returns false if it is invalid. */
  readAvatar(out: WalkerMotion): boolean {
    const place = this.#avatar.translation(this.#vector);
    const [x, y, z] = [place.x, place.y, place.z];
    const speed = this.#avatar.linvel(this.#vector);
    if (!Number.isFinite(x + y + z + speed.x + speed.y + speed.z)) return false;
    out.px = x;
    out.py = y;
    out.pz = z;
    const fast = Math.hypot(speed.x, speed.y, speed.z);
    const share = fast > SPEED_MAX ? SPEED_MAX / fast : 1;
    out.vx = Math.fround(speed.x * share);
    out.vy = Math.fround(speed.y * share);
    out.vz = Math.fround(speed.z * share);
    return true;
  }

  /** Writes the ground under the feet, which the server also computes after physics. */
  readGrounds(out: WalkerMotion): void {
    out.groundCount = 0;
    const { narrowPhase, bodies } = this.#world;
    const own = this.#avatarCollider.handle;
    narrowPhase.contactPairsWith(own, (other) => {
      narrowPhase.contactPair(own, other, bodies, (manifold, isFlipped) => {
        if (out.groundCount >= GROUNDS_MAX || manifold.numSolverContacts() === 0) return;
        let nearest = Number.POSITIVE_INFINITY;
        for (let at = 0; at < manifold.numContacts(); at++) {
          nearest = Math.min(nearest, manifold.contactDist(at));
        }
        const { x, y, z } = manifold.normal(this.#vector);
        const sign = isFlipped ? 1 : -1;
        if (y * sign < WALKABLE_COSINE || nearest >= TOUCH_DISTANCE) return;
        out.grounds[3 * out.groundCount] = x * sign;
        out.grounds[3 * out.groundCount + 1] = y * sign;
        out.grounds[3 * out.groundCount + 2] = z * sign;
        out.groundCount++;
      });
    });
  }

  /** Calls back for each body that touches this one, or the avatar (−1). */
  touched(slot: number, each: (other: number) => void): void {
    const collider = slot < 0 ? this.#avatarCollider : this.slots[slot]!.collider;
    const { narrowPhase, bodies } = this.#world;
    narrowPhase.contactPairsWith(collider.handle, (other) => {
      const met = this.#byCollider.get(other);
      if (met === undefined || met < 0) return;
      let isActive = false;
      narrowPhase.contactPair(collider.handle, other, bodies, (manifold) => {
        isActive ||= manifold.numSolverContacts() > 0;
      });
      if (isActive) each(met);
    });
  }

  isSleeping(slot: number): boolean {
    return this.slots[slot]!.body.isSleeping();
  }

  /**
   * Finds the contacts of new bodies without moving any body, and puts the new bodies to sleep. The engine
   * does the same for a world that it loads.
   */
  settle(sleeping: readonly number[]): void {
    this.#stepStill(0);
    for (const slot of sleeping) this.slots[slot]?.body.sleep();
    this.#stepStill(TINY_S);
    // In this very short step no position changes, but velocities may change.
    for (let slot = 0; slot < BODIES_MAX; slot++) if (this.slots[slot] !== undefined) this.#readState(slot);
  }

  #stepStill(seconds: number): void {
    const usual = this.#world.timestep;
    this.#world.timestep = seconds;
    this.#step();
    this.#world.timestep = usual;
  }

  #step(): void {
    // Bodies may have been set to other places since the last step.
    this.#world.propagateModifiedBodyPositionsToColliders();
    const { x, y, z } = this.#avatar.translation(this.#vector);
    this.#innerEdges.examine(this.#avatarCollider, x, y, z, this.#avatarReach);
    for (let slot = 0; slot < BODIES_MAX; slot++) {
      const { collider, body, form } = this.slots[slot] ?? {};
      if (collider === undefined || body!.isSleeping()) continue;
      const at = slot * STRIDE;
      const [bx, by, bz] = [this.states[at]!, this.states[at + 1]!, this.states[at + 2]!];
      this.#innerEdges.examine(collider, bx, by, bz, Math.hypot(...form!.half));
    }
    this.#world.step(this.#events, this.#innerEdges);
  }

  /** In kilograms. */
  mass(slot: number): number {
    return this.slots[slot]!.body.mass();
  }

  /** Whether the upright box around a body overlaps one around (x, y, z) with these half edges. */
  meets(slot: number, x: number, y: number, z: number, wide: number, high: number): boolean {
    const { states } = this;
    const at = slot * STRIDE;
    const [hx, hy, hz] = this.slots[slot]!.form.half;
    const [qx, qy, qz, qw] = [states[at + 3]!, states[at + 4]!, states[at + 5]!, states[at + 6]!];
    const dx = Math.abs(states[at]! - x) - wide;
    const dy = Math.abs(states[at + 1]! - y) - high;
    const dz = Math.abs(states[at + 2]! - z) - wide;
    const [xx, yy, zz] = [qx * qx, qy * qy, qz * qz];
    const [xy, xz, yz] = [qx * qy, qx * qz, qy * qz];
    const [wx, wy, wz] = [qw * qx, qw * qy, qw * qz];
    return (
      dx < Math.abs(1 - 2 * (yy + zz)) * hx + 2 * Math.abs(xy - wz) * hy + 2 * Math.abs(xz + wy) * hz &&
      dy < 2 * Math.abs(xy + wz) * hx + Math.abs(1 - 2 * (xx + zz)) * hy + 2 * Math.abs(yz - wx) * hz &&
      dz < 2 * Math.abs(xz - wy) * hx + 2 * Math.abs(yz + wx) * hy + Math.abs(1 - 2 * (xx + yy)) * hz
    );
  }

  /** Stores the state of all bodies after a step. */
  save(step: number): void {
    for (let slot = 0; slot < BODIES_MAX; slot++) {
      if (this.slots[slot] === undefined) continue;
      const from = slot * STRIDE;
      this.#history.set(this.states.subarray(from, from + STRIDE), this.#place(slot, step));
    }
  }

  /** Stores the state of one body at a step. */
  write(slot: number, step: number, state: Float32Array, at = 0): void {
    this.#history.set(state.subarray(at, at + STRIDE), this.#place(slot, step));
  }

  /** Reads the state of a body after one of the newest `STEPS_KEPT` steps. */
  read(slot: number, step: number, out: Float32Array, at = 0): void {
    const from = this.#place(slot, step);
    out.set(this.#history.subarray(from, from + STRIDE), at);
  }

  /** Resets a body to its state after a step. */
  restore(slot: number, step: number): void {
    this.put(slot, this.#history, this.#place(slot, step));
  }

  #place(slot: number, step: number): number {
    return (slot * STEPS_KEPT + (step & (STEPS_KEPT - 1))) * STRIDE;
  }

  #readState(slot: number): boolean {
    const { body } = this.slots[slot]!;
    const at = slot * STRIDE;
    const { states } = this;
    const place = body.translation(this.#vector);
    const sum = place.x + place.y + place.z;
    if (!Number.isFinite(sum)) return false;
    states[at] = place.x;
    states[at + 1] = place.y;
    states[at + 2] = place.z;
    const { x, y, z, w } = body.rotation(this.#turn);
    if (!Number.isFinite(x + y + z + w)) return false;
    states[at + 3] = x;
    states[at + 4] = y;
    states[at + 5] = z;
    states[at + 6] = w;
    const speed = body.linvel(this.#vector);
    states[at + 7] = speed.x;
    states[at + 8] = speed.y;
    states[at + 9] = speed.z;
    const spin = body.angvel(this.#vector);
    states[at + 10] = spin.x;
    states[at + 11] = spin.y;
    states[at + 12] = spin.z;
    const isFast = Math.hypot(states[at + 7]!, states[at + 8]!, states[at + 9]!) > SPEED_MAX;
    if (isFast) {
      shorten(states, at + 7, SPEED_MAX);
      body.setLinvel(this.#read3(states, at + 7), true);
    }
    return Number.isFinite(states[at + 7]! + states[at + 10]! + states[at + 11]! + states[at + 12]!);
  }

  #read3(from: Float32Array, at: number): { x: number; y: number; z: number } {
    this.#vector.x = from[at]!;
    this.#vector.y = from[at + 1]!;
    this.#vector.z = from[at + 2]!;
    return this.#vector;
  }

  #read4(from: Float32Array, at: number): { x: number; y: number; z: number; w: number } {
    this.#turn.x = from[at]!;
    this.#turn.y = from[at + 1]!;
    this.#turn.z = from[at + 2]!;
    this.#turn.w = from[at + 3]!;
    return this.#turn;
  }
}

function differs(a: Float32Array, at: number, b: Float32Array, bt: number, count: number): boolean {
  for (let part = 0; part < count; part++) if (a[at + part] !== b[bt + part]) return true;
  return false;
}
