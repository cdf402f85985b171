import type { Entity, EntityId, World } from "../world.js";
import { eulerToQuaternion, type NumberArray, slerp } from "./rotation.js";
import { SnapshotTimeline } from "./snapshot-timeline.js";

/** Where something is at the moment that is being drawn. Any array of three, or four, numbers will do. */
export interface Pose {
  readonly position: NumberArray;
  /** x, y, z, w. */
  readonly quaternion: NumberArray;
}

export interface InterpolatorOptions {
  /** Never draw newer than this many milliseconds ago; 0 by default. */
  readonly delayMsMin?: number;
  /** Never draw older than this; 1,000 by default. */
  readonly delayMsMax?: number;
}

/**
 * Draws a world that is heard of a few times a second as if it moved all the time: it shows the recent past, in which
 * the next snapshot is already known.
 *
 * ```ts
 * const interpolator = createInterpolator(world);
 * const pose = { position: [0, 0, 0], quaternion: [0, 0, 0, 1] };
 * function frame(nowMs: number) {
 *   interpolator.sample(nowMs);
 *   for (const id of world.entities.keys()) if (interpolator.pose(id, pose)) draw(id, pose);
 * }
 * ```
 *
 * Neither `sample` nor `pose` allocates.
 */
export interface Interpolator {
  /** Chooses the moment to show. Once a frame, with the clock of `performance.now()`. */
  sample(nowMs: number): void;
  /** Writes the pose at that moment; false for an entity that is not there. */
  pose(id: EntityId, out: Pose): boolean;
  /** How far behind the newest possible knowledge the moment is: the price of smoothness, in milliseconds. */
  readonly delayMs: number;
  /** The moment that is shown, in world steps with fraction. */
  readonly tick: number;
  /** Frames for which the next snapshot came too late, so that everything stood still. */
  readonly starvedFrames: number;
  /** Stops listening to the world. */
  close(): void;
}

/** What an interpolator listens to: a `World`, or a recording of one. */
export type InterpolationSource = Pick<World, "on" | "entities">;

export function createInterpolator(
  source: InterpolationSource,
  options: InterpolatorOptions = {},
): Interpolator {
  return new SnapshotInterpolator(source, options);
}

class SnapshotInterpolator implements Interpolator {
  starvedFrames = 0;

  private readonly timeline: SnapshotTimeline;
  private readonly tracks = new Map<EntityId, PoseTrack>();
  private readonly stopListening: (() => void)[];
  private newestTick = 0;

  constructor(source: InterpolationSource, options: InterpolatorOptions) {
    this.timeline = new SnapshotTimeline(options.delayMsMin ?? 0, options.delayMsMax ?? 1000);
    for (const entity of source.entities.values()) this.add(entity);
    this.stopListening = [
      source.on("welcome", ({ tick, stepHz }) => {
        this.timeline.restart(stepHz);
        this.newestTick = tick;
      }),
      source.on("spawn", ({ entities }) => {
        for (const entity of entities) this.add(entity);
      }),
      source.on("despawn", ({ entities }) => {
        for (const entity of entities) this.tracks.delete(entity.id);
      }),
      source.on("change", ({ entity }) => this.tracks.get(entity.id)?.place(entity)),
      source.on("snapshot", ({ tick, receivedAtMs, moved }) => {
        const previousTick = this.newestTick;
        this.newestTick = tick;
        this.timeline.record(tick, receivedAtMs);
        for (const entity of moved) {
          this.tracks.get(entity.id)?.record(entity, entity.stillTick ?? previousTick);
        }
      }),
    ];
  }

  get delayMs(): number {
    return this.timeline.delayMs;
  }

  get tick(): number {
    return this.timeline.tick;
  }

  sample(nowMs: number): void {
    this.timeline.advance(nowMs);
    if (this.timeline.tick > this.newestTick) this.starvedFrames++;
  }

  pose(id: EntityId, out: Pose): boolean {
    const track = this.tracks.get(id);
    if (track === undefined) return false;
    track.at(this.timeline.tick, out);
    return true;
  }

  close(): void {
    for (const stop of this.stopListening) stop();
    this.tracks.clear();
  }

  private add(entity: Entity): void {
    this.tracks.set(entity.id, new PoseTrack(entity));
  }
}

/** Enough for a second at 60 snapshots a second. */
const SAMPLES_MAX = 64;
/** Things that never moved need a single sample; room grows with the first motion. */
const SAMPLES_MIN = 1;
/** Position and quaternion. */
const STRIDE = 7;

const PLACED = [0, 0, 0, 1];

/** The recent poses of one entity, oldest overwritten first. */
class PoseTrack {
  private capacity = SAMPLES_MIN;
  private ticks = new Float64Array(SAMPLES_MIN);
  private poses = new Float64Array(SAMPLES_MIN * STRIDE);
  private newest = 0;
  private count = 1;

  constructor(entity: Entity) {
    this.write(0, entity);
  }

  /** What was put somewhere else is there from now on: nothing lies between the two places. */
  place(entity: Entity): void {
    const [at, { position, euler }] = [this.newest * STRIDE, entity];
    eulerToQuaternion(euler[0], euler[1], euler[2], PLACED, 0);
    const isThere =
      position.every((coordinate, axis) => coordinate === this.poses[at + axis]) &&
      PLACED.every((component, i) => component === this.poses[at + 3 + i]);
    if (isThere) return;
    this.newest = 0;
    this.count = 1;
    this.write(0, entity);
  }

  /** Up to `stillTick` it was where it was before: without better knowledge, up to the snapshot before. */
  record(entity: Entity, stillTick: number): void {
    const last = this.ticks[this.newest]!;
    if (entity.tick <= last) return this.write(this.newest, entity);
    if (last < stillTick && stillTick < entity.tick) this.repeatNewest(stillTick);
    this.write(this.push(), entity);
  }

  at(tick: number, out: Pose): void {
    let after = this.newest;
    if (tick >= this.ticks[after]!) return this.read(after, out);
    for (let step = 1; step < this.count; step++) {
      const before = (this.newest - step + this.capacity) % this.capacity;
      if (tick >= this.ticks[before]!) return this.between(before, after, tick, out);
      after = before;
    }
    this.read(after, out);
  }

  private between(before: number, after: number, tick: number, out: Pose): void {
    const from = this.ticks[before]!;
    const t = (tick - from) / (this.ticks[after]! - from);
    const a = before * STRIDE;
    const b = after * STRIDE;
    for (let axis = 0; axis < 3; axis++) {
      const start = this.poses[a + axis]!;
      out.position[axis] = start + (this.poses[b + axis]! - start) * t;
    }
    slerp(this.poses, a + 3, b + 3, t, out.quaternion);
  }

  private read(slot: number, out: Pose): void {
    const at = slot * STRIDE;
    for (let axis = 0; axis < 3; axis++) out.position[axis] = this.poses[at + axis]!;
    for (let i = 0; i < 4; i++) out.quaternion[i] = this.poses[at + 3 + i]!;
  }

  private write(slot: number, { position, euler, tick }: Entity): void {
    const at = slot * STRIDE;
    this.ticks[slot] = tick;
    this.poses[at] = position[0];
    this.poses[at + 1] = position[1];
    this.poses[at + 2] = position[2];
    eulerToQuaternion(euler[0], euler[1], euler[2], this.poses, at + 3);
  }

  private repeatNewest(tick: number): void {
    const from = this.newest;
    const to = this.push();
    // Growing keeps the slots of what was there, and a full ring overwrites the oldest, which is not the newest.
    this.poses.copyWithin(to * STRIDE, from * STRIDE, (from + 1) * STRIDE);
    this.ticks[to] = tick;
  }

  private push(): number {
    if (this.count === this.capacity && this.capacity < SAMPLES_MAX) this.grow();
    this.newest = (this.newest + 1) % this.capacity;
    this.count = Math.min(this.count + 1, this.capacity);
    return this.newest;
  }

  /** Only called while the ring has never wrapped, so slots keep their places. */
  private grow(): void {
    this.capacity = Math.min(SAMPLES_MAX, this.capacity * 4);
    const ticks = new Float64Array(this.capacity);
    const poses = new Float64Array(this.capacity * STRIDE);
    ticks.set(this.ticks);
    poses.set(this.poses);
    this.ticks = ticks;
    this.poses = poses;
  }
}
