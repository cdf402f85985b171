import type { PosedWorld } from "../posed-world.js";
import type { PoseBuffer, PoseLayer } from "../poses/layer.js";
import type { Entity, EntityId, EntityPath } from "../world.js";
import { type NumberArray, slerp } from "./rotation.js";
import { SnapshotTimeline } from "./snapshot-timeline.js";
import { StallWatch } from "./stall-watch.js";

/** The clock of a recorded or simulated world. */
export interface InterpolatorClock {
  /**
   * Calls back as soon as this program is idle again; `setTimeout` by default. A snapshot that arrives during a frame
   * is read only after the frame. That wait is not a delay of the network.
   */
  readonly whenFree?: ((callback: () => void) => void) | undefined;
  /**
   * Returns the earliest possible arrival time of a snapshot that was read at `readMs`: before `readMs` if this program
   * was too busy to read it. By default a late timer shows that the program was busy. Recordings have other times than
   * `performance.now()`, so they pass `(readMs) => readMs`.
   */
  readonly earliestMs?: ((readMs: number) => number) | undefined;
}

/**
 * The lowest layer of poses. It shows the recent
 * past, for which the next snapshot is already known. Positions are interpolated by cubic Hermite curves without
 * overshoot (Fritsch and Carlson, Monotone Piecewise Cubic Interpolation, 1980). An entity that jumped is shown nowhere
 * between the two places. If a snapshot is missing, moving entities are extrapolated for a tenth of a second.
 *
 * Neither `sample` nor `place` allocates.
 */
export class Interpolator implements PoseLayer {
  /** Number of frames in which entities were extrapolated because the next snapshot arrived too late. */
  starvedFrames = 0;

  readonly #timeline = new SnapshotTimeline();
  readonly #tracks = new Map<EntityId, PoseTrack>();
  readonly #stopListening: (() => void)[];
  /** The shown moment and the newest received step. */
  readonly #moment: Moment = { tick: 0, newestTick: 0, stepHz: 60 };
  /** The step received before the newest one. */
  #previousTick = 0;
  /**
   * The time at which the newest frame began, and the time at which this program was idle after it;
   * NaN until then. A field of one type is written without an allocation.
   */
  #frameMs = Number.NEGATIVE_INFINITY;
  #freeMs = Number.NEGATIVE_INFINITY;
  readonly #whenFree: (callback: () => void) => void;
  readonly #noteFree = (): void => {
    this.#freeMs = performance.now();
  };
  readonly #stalls: Pick<StallWatch, "earliestMs"> & { close?(): void };

  constructor(world: PosedWorld, { whenFree, earliestMs }: InterpolatorClock = {}) {
    this.#stalls = earliestMs === undefined ? new StallWatch() : { earliestMs };
    this.#whenFree = whenFree ?? ((callback) => void setTimeout(callback, 0));
    this.#restart(world.stepHz, 0);
    for (const entity of world.entities.values()) this.#add(entity);
    this.#stopListening = [
      world.on("welcome", ({ tick, stepHz }) => this.#restart(stepHz, tick)),
      world.on("spawn", ({ entity }) => this.#add(entity)),
      world.on("despawn", ({ entity }) => this.#tracks.delete(entity.id)),
      world.on("change", ({ entity }) => this.#tracks.get(entity.id)?.place(entity)),
      world.on("snapshot", ({ tick, receivedAtMs, moved }) => {
        if (tick > this.#moment.newestTick) this.#previousTick = this.#moment.newestTick;
        this.#moment.newestTick = tick;
        this.#timeline.record(tick, receivedAtMs, this.#earliestMs(receivedAtMs));
        const previousTick = Math.min(tick, this.#previousTick);
        for (const entity of moved) {
          this.#tracks.get(entity.id)?.record(entity, entity.stillTick ?? previousTick, previousTick);
        }
      }),
    ];
  }

  /** Delay of the shown moment behind the newest possible data, in milliseconds: the cost of smoothness. */
  get delayMs(): number {
    return this.#timeline.delayMs;
  }

  /** The moment that is shown, in steps of the world with a fraction. */
  get tick(): number {
    return this.#timeline.tick;
  }

  /** Whether there is a moment to show: after the first snapshot of a connection. */
  get isRunning(): boolean {
    return this.#timeline.isRunning;
  }

  /** Chooses the moment to show. */
  sample(nowMs: number): void {
    this.#timeline.advance(nowMs);
    this.#frameMs = nowMs;
    if (!Number.isNaN(this.#freeMs)) this.#whenFree(this.#noteFree);
    this.#freeMs = Number.NaN;
    this.#moment.tick = this.#timeline.tick;
    if (this.#moment.tick > this.#moment.newestTick) this.starvedFrames++;
  }

  place(id: EntityId, out: PoseBuffer): boolean {
    const track = this.#tracks.get(id);
    if (track === undefined) return false;
    track.at(this.#moment, out);
    return true;
  }

  /** Whether the shown place of an entity lies beyond a jump that the frame before did not show. */
  hasJumped(id: EntityId): boolean {
    return this.#tracks.get(id)?.jumpShownAt === this.#moment.tick;
  }

  /** Age of an entity's shown state, in milliseconds: the delay, plus the extrapolated time. */
  ageMs(id: EntityId): number {
    const track = this.#tracks.get(id);
    const known = Math.max(this.#moment.newestTick, track?.newestTick ?? 0);
    const lag = track?.lag ?? 0;
    const beyond = Math.max(0, this.#timeline.tick - lag - known);
    return this.#timeline.delayMs + ((lag + beyond) * 1000) / this.#moment.stepHz;
  }

  close(): void {
    this.#stalls.close?.();
    for (const stop of this.#stopListening) stop();
    this.#tracks.clear();
  }

  /**
   * Returns the earliest possible arrival time of a snapshot that is read now. A page reads nothing
   * while it draws a frame or is stalled. Afterwards it reads all waiting snapshots in sequence,
   * and each read takes time.
   */
  #earliestMs(readMs: number): number {
    const unstalledMs = this.#stalls.earliestMs(readMs);
    const wasBusy = !(readMs - this.#freeMs >= QUEUE_MS);
    if (!wasBusy) return unstalledMs;
    // `NaN` stays `NaN`.
    this.#freeMs = Math.max(this.#freeMs, readMs);
    return Math.min(unstalledMs, this.#frameMs);
  }

  #restart(stepHz: number, tick: number): void {
    this.#timeline.restart(stepHz);
    this.#moment.stepHz = stepHz;
    this.#moment.newestTick = tick;
    this.#previousTick = tick;
  }

  #add(entity: Entity): void {
    this.#tracks.set(entity.id, new PoseTrack(entity));
  }
}

/** A snapshot that is read within this time after a frame may have waited for the frame's end. */
const QUEUE_MS = 8;
/** Longest extrapolation without a new sample, in seconds. */
const EXTRAPOLATION_S_MAX = 0.1;
/** Number of samples: enough for one second at 60 snapshots a second. */
const SAMPLES_MAX = 64;
/** Entities that never moved need a single sample. The buffer grows with the first motion. */
const SAMPLES_MIN = 1;
/** Numbers of a sample: position, quaternion, and 1 if the entity jumped there. */
const STRIDE = 8;
/** An entity is shown at most this many steps later than entities that are sent more often. */
const LAG_MAX = 15;
/**
 * Rate at which the lag of an entity adapts, in steps of lag per world step. While the lag adapts, the entity's motion
 * is slower or faster by this share.
 */
const LAG_WARP = 0.2;
/** The needed lag shrinks by this share with each update of an entity that is not late. */
const LAG_DECAY = 0.25;

/**
 * After a gap in the samples, an entity glides to its new place within `GLIDE_S` seconds, if the distance is at most
 * the second constant, in metres.
 */
const GLIDE_S = 0.4;
const GLIDE_M_MAX = 8;

/** The moment of a frame. Its numbers are fields of one object, because a call with fractions as arguments may allocate. */
interface Moment {
  /** The shown step of the world, with a fraction. */
  tick: number;
  /** The newest received step. */
  newestTick: number;
  stepHz: number;
}

type Sample = Pick<Entity, "position" | "quaternion" | "tick" | "hasJumped">;

/** The recent poses of one entity. New poses overwrite the oldest. */
class PoseTrack {
  #capacity = SAMPLES_MIN;
  #ticks = new Float64Array(SAMPLES_MIN);
  #poses = new Float64Array(SAMPLES_MIN * STRIDE);
  #newest = 0;
  #count = 1;
  /**
   * Number of steps by which the entity is shown later than others. `#lagNeeded` is the number of steps that it needs.
   * A server sends distant entities in every second round, or less often. Without this lag, the shown moment would pass
   * the newest sample before the next one arrives.
   */
  lag = 0;
  #lagNeeded = 0;
  #lateBefore = 0;
  #lagTick = Number.NEGATIVE_INFINITY;
  /** The step at which this entity is shown, with a fraction. */
  #shownTick = 0;
  /** The step of the newest jump, and the moment of the frame that showed it first. */
  #jumpTick = Number.POSITIVE_INFINITY;
  jumpShownAt = Number.NaN;
  /** The position in the last frame, while samples are missing; otherwise `undefined`. */
  #heldAt: [number, number, number] | undefined;
  /**
   * The offset between the shown position and the samples' position when samples arrived again, and the moment that was
   * shown at that time.
   */
  readonly #glide: [number, number, number] = [0, 0, 0];
  #glideTick = Number.NEGATIVE_INFINITY;

  constructor(entity: Entity) {
    this.#write(0, entity);
  }

  /** Moves the entity to another place at once: nothing is interpolated between the two places. */
  place(entity: Entity): void {
    const [at, { position, quaternion }] = [this.#newest * STRIDE, entity];
    const isThere =
      position.every((coordinate, axis) => coordinate === this.#poses[at + axis]) &&
      quaternion.every((component, i) => component === this.#poses[at + 3 + i]);
    if (isThere) return;
    this.#heldAt = undefined;
    this.#glideTick = Number.NEGATIVE_INFINITY;
    this.#newest = 0;
    this.#count = 1;
    this.#jumpTick = Number.NEGATIVE_INFINITY;
    this.#write(0, entity);
  }

  /**
   * Records a pose of the entity, which stayed at its earlier pose up to `stillTick`. If the server does not report
   * that step, `stillTick` is `previousTick`: the step of the previous snapshot, which contained no movement of the
   * entity.
   */
  record(entity: Entity, stillTick: number, previousTick: number): void {
    const last = this.#ticks[this.#newest]!;
    const late = Math.min(LAG_MAX, previousTick - Math.max(last, stillTick));
    // A single late update may follow a lost packet. The display does not wait for lost packets.
    this.#lagNeeded = Math.max(0, Math.min(late, this.#lateBefore), this.#lagNeeded - LAG_DECAY);
    this.#lateBefore = late;
    if (entity.hasJumped) {
      this.#heldAt = undefined;
      this.#glideTick = Number.NEGATIVE_INFINITY;
      this.#jumpTick = entity.tick;
    }
    if (entity.path !== undefined) this.#correct(entity.path);
    if (entity.tick < last) this.#dropSince(entity.tick);
    if (entity.tick <= this.newestTick) return this.#write(this.#newest, entity);
    if (last < stillTick && stillTick < entity.tick) this.#repeatNewest(stillTick);
    this.#write(this.#push(), entity);
  }

  get newestTick(): number {
    return this.#ticks[this.#newest]!;
  }

  /** Replaces the samples that were recorded before a change of the motion was known. */
  #correct({ startTick, after }: EntityPath): void {
    for (let back = 0; back < this.#count; back++) {
      const slot = (this.#newest - back + this.#capacity) % this.#capacity;
      const tick = this.#ticks[slot]!;
      if (tick <= startTick) return;
      this.#write(slot, { ...after(tick - startTick), tick });
    }
  }

  /** Drops the samples since this step, except the oldest. */
  #dropSince(tick: number): void {
    while (this.#count > 1 && this.newestTick >= tick) {
      this.#newest = (this.#newest - 1 + this.#capacity) % this.#capacity;
      this.#count--;
    }
  }

  /** Writes the pose at a moment. Entities without an update stood still up to the newest step. */
  at(moment: Moment, out: PoseBuffer): void {
    this.#adaptLag(moment);
    this.#shownTick = moment.tick - this.lag;
    if (this.#shownTick >= this.#jumpTick) {
      this.#jumpTick = Number.POSITIVE_INFINITY;
      this.jumpShownAt = moment.tick;
    }
    this.#interpolate(moment, out);
    const isStarved = this.#shownTick - moment.newestTick > EXTRAPOLATION_S_MAX * moment.stepHz;
    this.#bridgeGap(moment, isStarved, out.position);
  }

  /**
   * If no snapshot arrives for longer than the maximum extrapolation, the entity stops, while the shown moment
   * continues. When snapshots arrive again, their position differs from the shown one. The entity then glides to the
   * received position instead of jumping.
   */
  #bridgeGap({ tick, stepHz }: Moment, isStarved: boolean, position: NumberArray): void {
    const heldAt = this.#heldAt;
    const glide = this.#glide;
    if (isStarved) {
      this.#heldAt ??= [0, 0, 0];
      for (let axis = 0; axis < 3; axis++) this.#heldAt[axis] = position[axis]!;
      return;
    }
    if (heldAt !== undefined) {
      this.#heldAt = undefined;
      for (let axis = 0; axis < 3; axis++) glide[axis] = heldAt[axis]! - position[axis]!;
      const isNear = Math.hypot(glide[0], glide[1], glide[2]) <= GLIDE_M_MAX;
      this.#glideTick = isNear ? tick : Number.NEGATIVE_INFINITY;
    }
    const passed = (tick - this.#glideTick) / (GLIDE_S * stepHz);
    if (passed < 0 || passed >= 1) return;
    const share = 1 - passed * passed * (3 - 2 * passed);
    for (let axis = 0; axis < 3; axis++) position[axis] = position[axis]! + glide[axis]! * share;
  }

  #interpolate({ newestTick: knownTick, stepHz }: Moment, out: PoseBuffer): void {
    const tick = this.#shownTick;
    let after = this.#newest;
    const newestTick = this.#ticks[after]!;
    if (tick >= newestTick) {
      this.#read(after, out);
      if (tick > knownTick && newestTick >= knownTick) this.#goOn(stepHz, out);
      return;
    }
    for (let step = 1; step < this.#count; step++) {
      const before = (this.#newest - step + this.#capacity) % this.#capacity;
      if (tick >= this.#ticks[before]!) return this.#between(before, after, step, out);
      after = before;
    }
    this.#read(after, out);
  }

  #adaptLag({ tick }: Moment): void {
    const elapsed = tick - this.#lagTick;
    this.#lagTick = tick;
    if (this.lag === this.#lagNeeded || elapsed <= 0) return;
    const most = LAG_WARP * elapsed;
    this.lag += Math.max(-most, Math.min(most, this.#lagNeeded - this.lag));
  }

  /** `before` is the sample `back` steps behind the newest. */
  #between(before: number, after: number, back: number, out: PoseBuffer): void {
    if (this.#isJump(after)) return this.#read(before, out);
    const from = this.#ticks[before]!;
    const span = this.#ticks[after]! - from;
    const t = (this.#shownTick - from) / span;
    const a = before * STRIDE;
    const b = after * STRIDE;
    const earlier = back + 1 < this.#count ? (before - 1 + this.#capacity) % this.#capacity : before;
    const later = back > 1 ? (after + 1) % this.#capacity : after;
    const first = earlier !== before && this.#isJump(before) ? before : earlier;
    const last = later !== after && this.#isJump(later) ? after : later;
    for (let axis = 0; axis < 3; axis++) {
      const start = this.#poses[a + axis]!;
      const rise = this.#poses[b + axis]! - start;
      const slope = rise / span;
      const startSlope = first === before ? slope : meanSlope(this.#slope(first, before, axis), slope);
      const endSlope = last === after ? slope : meanSlope(slope, this.#slope(after, last, axis));
      const [t2, t3] = [t * t, t * t * t];
      out.position[axis] =
        start + rise * (3 * t2 - 2 * t3) + span * (startSlope * (t3 - 2 * t2 + t) + endSlope * (t3 - t2));
    }
    slerp(this.#poses, a + 3, b + 3, t, out.quaternion);
  }

  /** Extrapolates from the newest sample, with the motion between the two newest. */
  #goOn(stepHz: number, out: PoseBuffer): void {
    if (this.#count < 2) return;
    const before = (this.#newest - 1 + this.#capacity) % this.#capacity;
    if (this.#isJump(this.#newest)) return;
    const most = Math.min(this.#shownTick - this.newestTick, EXTRAPOLATION_S_MAX * stepHz);
    for (let axis = 0; axis < 3; axis++) {
      out.position[axis] = out.position[axis]! + this.#slope(before, this.#newest, axis) * most;
    }
  }

  /** The speed between two samples, in metres a step. */
  #slope(before: number, after: number, axis: number): number {
    const rise = this.#poses[after * STRIDE + axis]! - this.#poses[before * STRIDE + axis]!;
    return rise / (this.#ticks[after]! - this.#ticks[before]!);
  }

  /** Whether the entity jumped to the place of a sample. */
  #isJump(slot: number): boolean {
    return this.#poses[slot * STRIDE + 7] === 1;
  }

  #read(slot: number, out: PoseBuffer): void {
    const at = slot * STRIDE;
    for (let axis = 0; axis < 3; axis++) out.position[axis] = this.#poses[at + axis]!;
    for (let i = 0; i < 4; i++) out.quaternion[i] = this.#poses[at + 3 + i]!;
  }

  #write(slot: number, { position, quaternion, tick, hasJumped }: Sample): void {
    const at = slot * STRIDE;
    this.#ticks[slot] = tick;
    this.#poses[at] = position[0];
    this.#poses[at + 1] = position[1];
    this.#poses[at + 2] = position[2];
    for (let part = 0; part < 4; part++) this.#poses[at + 3 + part] = quaternion[part]!;
    this.#poses[at + 7] = hasJumped ? 1 : 0;
  }

  #repeatNewest(tick: number): void {
    const from = this.#newest;
    const to = this.#push();
    // The newest sample is still in its slot: growing keeps the slots of samples, and a full ring overwrites only the
    // oldest sample.
    this.#poses.copyWithin(to * STRIDE, from * STRIDE, (from + 1) * STRIDE);
    this.#ticks[to] = tick;
  }

  #push(): number {
    if (this.#count === this.#capacity && this.#capacity < SAMPLES_MAX) this.#grow();
    this.#newest = (this.#newest + 1) % this.#capacity;
    this.#count = Math.min(this.#count + 1, this.#capacity);
    return this.#newest;
  }

  /**
   * Makes the ring larger. Called only before the ring has wrapped, so samples keep their slots.
   */
  #grow(): void {
    this.#capacity = Math.min(SAMPLES_MAX, this.#capacity * 4);
    const ticks = new Float64Array(this.#capacity);
    const poses = new Float64Array(this.#capacity * STRIDE);
    ticks.set(this.#ticks);
    poses.set(this.#poses);
    this.#ticks = ticks;
    this.#poses = poses;
  }
}

/** The slope of a curve at the joint of two lines, chosen so that the curve does not overshoot. */
function meanSlope(a: number, b: number): number {
  if (a * b <= 0) return 0;
  // The harmonic mean (Fritsch and Butland, 1984).
  return (2 * a * b) / (a + b);
}
