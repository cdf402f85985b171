/**
 * Selects the bodies to simulate: those around the avatar and around bodies that it touched, and the static
 * bodies around all of these.
 */
import type { RigidBody } from "@dimforge/rapier3d-deterministic-compat";
import type { WalkerMotion } from "nowcast/extend";
import type { EntityId } from "nowcast/world";
import { BODIES_MAX, type Island, STEPS_KEPT, STRIDE } from "./island.js";
import { BARRED_STEPS, Member } from "./member.js";
import type { NewsClock, Track } from "./tracks.js";

/** In each step, an eighth of the bodies is checked, but at least the first number and at most the second. */
const LOOKED_AT_MIN = 64;
const LOOKED_AT_MAX = 512;
const TURNS = 8;
/**
 * Distance to the avatar, or to a touched body, at which a body enters the simulation, and at which it leaves, in
 * metres.
 */
const NEAR_M = 2.5;
const FAR_M = 4;
const NEAR_TOUCHED_M = 1.5;
const FIXED_NEAR_M = 4;
const FIXED_FAR_M = 6;
/**
 * A movable body outside the simulation blocks simulated bodies as a static one does, if it is slower than
 * this, in metres a second.
 */
const PROXY_MPS_MAX = 1;
/**
 * If there is no room, a body replaces a farther one if it is nearer by at least this distance, in metres.
 */
const NEARER_M = 0.5;
/** If the last update of a body is older than this, in steps, its current position is unknown. */
const BEHIND_STEPS_MAX = 30;

const STATE = new Float32Array(STRIDE);
const SPEED = new Float64Array(6);

export class Neighbourhood {
  /** The members, by slots of the island. */
  readonly members: (Member | undefined)[] = new Array(BODIES_MAX).fill(undefined);
  count = 0;
  /** Bodies that could not be built, or for which there was no room. */
  refused = 0;
  readonly #fixed = new Map<Track, RigidBody>();
  #next = 0;
  /** The bodies that the local player's actions move in the next step. */
  readonly #touched: Member[] = [];
  /** Whether untouched bodies were added; then the ones among them that rest. */
  #hasNew = false;
  readonly #sleeping: number[] = [];
  readonly #island: Island;
  readonly #all: readonly Track[];

  constructor(island: Island, all: readonly Track[]) {
    this.#island = island;
    this.#all = all;
  }

  /** Checks some more bodies, before a step is taken. */
  look(step: number, own: EntityId, held: EntityId | undefined, at: WalkerMotion, clock: NewsClock): void {
    const share = Math.max(LOOKED_AT_MIN, Math.ceil(this.#all.length / TURNS));
    const count = Math.min(this.#all.length, share, LOOKED_AT_MAX);
    this.#touched.length = 0;
    for (const member of this.members) {
      if (member?.isTouched(this.#island, step)) this.#touched.push(member);
    }
    for (let looked = 0; looked < count; looked++) {
      this.#next = this.#next + 1 < this.#all.length ? this.#next + 1 : 0;
      const track = this.#all[this.#next]!;
      if (track.id === own || track.form === undefined) continue;
      if (track.form.motion === "fixed") this.#lookAtFixed(track, step, at);
      else this.#lookAtMoving(track, step, track.id === held, at, clock);
    }
    if (!this.#hasNew) return;
    this.#island.settle(this.#sleeping);
    this.#hasNew = false;
    this.#sleeping.length = 0;
  }

  get fixedCount(): number {
    return this.#fixed.size;
  }

  /** The entity was removed from the world, or replaced. */
  forget(track: Track): void {
    if (track.slot >= 0) this.remove(track);
    this.#removeFixed(track);
  }

  remove(track: Track): void {
    this.#island.remove(track.slot);
    this.members[track.slot] = undefined;
    track.slot = -1;
    this.count--;
  }

  #lookAtMoving(track: Track, step: number, isHeld: boolean, at: WalkerMotion, clock: NewsClock): void {
    const member = this.members[track.slot];
    if (member === undefined) {
      if (step < track.barredUntil || !track.isSane) return;
      const distanceM = distanceTo(track, at);
      const isNear = isHeld || distanceM < NEAR_M || this.#isNearTouched(track, NEAR_TOUCHED_M);
      const takesPart = isNear && this.#makeRoom(step, isHeld ? 0 : distanceM, at);
      if (takesPart) this.#add(track, step, clock);
      else this.#lookAtProxy(track, step, distanceM);
      return;
    }
    if (!track.isSane) return this.remove(track);
    const isNear = isHeld || member.isTouched(this.#island, step) || this.#distance(member, at) < FAR_M;
    if (isNear && step >= track.barredUntil) {
      member.isLeaving = false;
    } else if (step >= track.barredUntil && this.#isNearTouched(track, 2 * NEAR_TOUCHED_M)) {
      member.isLeaving = false;
    } else if (member.weight === 0) {
      this.remove(track);
    } else {
      member.isLeaving = true;
    }
  }

  /**
   * A body that is a little farther away, or for which there is no free slot, is an obstacle at its last
   * received pose.
   */
  #lookAtProxy(track: Track, step: number, distanceM: number): void {
    track.velocity(SPEED, 0);
    const isSlow = Math.hypot(SPEED[0]!, SPEED[1]!, SPEED[2]!) < PROXY_MPS_MAX;
    const isNear = distanceM < FAR_M && track.form!.motion === "dynamic" && isSlow;
    const body = this.#fixed.get(track);
    if (!isNear) this.#removeFixed(track);
    else if (body === undefined) this.#addFixed(track, step);
    else this.#island.moveFixed(body, track.acknowledged);
  }

  #lookAtFixed(track: Track, step: number, at: WalkerMotion): void {
    if (step < track.barredUntil) return;
    const distanceM = track.isSane ? distanceTo(track, at) : Number.POSITIVE_INFINITY;
    if (this.#fixed.has(track)) {
      const isFar = distanceM > FIXED_FAR_M && !this.#isNearTouched(track, FIXED_FAR_M);
      if (isFar) this.#removeFixed(track);
      return;
    }
    const isNear = distanceM < FIXED_NEAR_M || (track.isSane && this.#isNearTouched(track, FIXED_NEAR_M));
    if (!isNear) return;
    this.#addFixed(track, step);
  }

  #addFixed(track: Track, step: number): void {
    try {
      const body = this.#island.addFixed(track.form!, track.acknowledged);
      if (body === undefined) return this.#refuse(track, step);
      this.#fixed.set(track, body);
      this.#hasNew = true;
    } catch {
      this.#refuse(track, step);
    }
  }

  #removeFixed(track: Track): void {
    const body = this.#fixed.get(track);
    if (body === undefined) return;
    this.#island.removeFixed(body);
    this.#fixed.delete(track);
  }

  #refuse(track: Track, step: number): void {
    this.refused++;
    track.barredUntil = step + BARRED_STEPS;
  }

  /** Whether it is within this distance of a body that the local player's actions move. */
  #isNearTouched(track: Track, distanceM: number): boolean {
    const { states } = this.#island;
    for (const member of this.#touched) {
      if (member.track === track) continue;
      const at = member.slot * STRIDE;
      const [x, y, z] = [states[at]!, states[at + 1]!, states[at + 2]!];
      const far = distanceM + member.track.reach;
      if (track.mayBeWithin(x, y, z, far) && track.distance(x, y, z) < far) return true;
    }
    return false;
  }

  #distance({ slot, track }: Member, { px, py, pz }: WalkerMotion): number {
    const { states } = this.#island;
    const at = slot * STRIDE;
    return Math.hypot(states[at]! - px, states[at + 1]! - py, states[at + 2]! - pz) - track.reach;
  }

  /** If all slots are used, the farthest untouched body is replaced by a nearer one. */
  #makeRoom(step: number, distanceM: number, at: WalkerMotion): boolean {
    if (this.count < BODIES_MAX) return true;
    let farthest: Member | undefined;
    let most = distanceM + NEARER_M;
    for (const member of this.members) {
      if (member === undefined || member.weight > 0 || member.isTouched(this.#island, step)) continue;
      const away = this.#distance(member, at);
      if (away <= most) continue;
      most = away;
      farthest = member;
    }
    if (farthest === undefined) return false;
    this.remove(farthest.track);
    return true;
  }

  /** A new member starts at its received state, from which it is extrapolated. */
  #add(track: Track, step: number, { tickLead, tick, quietSteps }: NewsClock): void {
    const behind = tickLead === undefined ? 0 : step - 1 - (track.acknowledgedTick - tickLead);
    const isMoving =
      tick - track.acknowledgedTick < quietSteps && behind <= BEHIND_STEPS_MAX && track.apart > 0;
    SPEED.fill(0);
    if (isMoving) track.velocity(SPEED, 0);
    STATE.set(track.acknowledged);
    STATE.set(SPEED, 7);
    const place = (ago: number) => {
      for (let axis = 0; axis < 3; axis++) {
        STATE[axis] = track.acknowledged[axis]! + (SPEED[axis]! * (behind - ago)) / 60;
      }
    };
    place(0);
    let slot: number;
    try {
      slot = this.#island.add(track.form!, STATE);
    } catch {
      return this.#refuse(track, step);
    }
    if (slot < 0) return;
    for (let ago = 0; ago < STEPS_KEPT; ago++) {
      place(ago);
      this.#island.write(slot, step - 1 - ago, STATE);
    }
    if (!isMoving && track.form!.motion === "dynamic") this.#sleeping.push(slot);
    this.#hasNew = true;
    this.#removeFixed(track);
    track.slot = slot;
    this.members[slot] = new Member(track, slot, isMoving);
    this.count++;
  }
}

/**
 * Distance of the avatar's middle from a body, in metres; infinite if the body is too far away to affect the avatar.
 */
function distanceTo(track: Track, { px, py, pz }: WalkerMotion): number {
  if (!track.mayBeWithin(px, py, pz, FIXED_FAR_M)) return Number.POSITIVE_INFINITY;
  return track.distance(px, py, pz);
}
