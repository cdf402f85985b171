/** The updates of the server for each body: its poses, and their steps. */
import type { Entity, EntityId, World } from "nowcast/world";
import { type BodyForm, formOf } from "./form.js";
import { seenFrom, turnBetween } from "./turns.js";

/** Bodies farther from the middle of the world than this, in metres, are not predicted. */
const PLACE_M_MAX = 100_000;
/** A quaternion is invalid if its squared length differs from 1 by more than this. */
const TURN_ERROR_MAX = 1e-3;
/**
 * The greatest speed of the engine, in metres a second, and the greatest spin that is extrapolated, in
 * radians a second.
 */
export const SPEED_MAX = 40;
export const SPIN_MAX = 60;
/** Two updates that are farther apart, in steps, are not used to compute a velocity. */
const APART_STEPS_MAX = 12;

/** The relation between the server's steps and the steps of this client. */
export interface NewsClock {
  /**
   * The difference between the world's step and this client's step at the same moment; undefined before the
   * first update.
   */
  readonly tickLead: number | undefined;
  /** The world's step of the newest update. */
  readonly tick: number;
  /** A body without an update for this many steps rests at its last pose. */
  readonly quietSteps: number;
}

/** One body of the world, as received. */
export class Track {
  readonly id: EntityId;
  /** `undefined` for a body that cannot be built. */
  readonly form: BodyForm | undefined;
  /** Distance of the body's farthest point from its middle, in metres. */
  readonly reach: number;
  /** The last two received positions and rotations. */
  readonly acknowledged = new Float64Array(7);
  readonly before = new Float64Array(7);
  acknowledgedTick: number;
  beforeTick: number;
  /** Whether all received numbers were valid. */
  isSane = false;
  /** The body's slot in the island; −1 if the body is not in the island. */
  slot = -1;
  /** Its index in the list of all tracks. */
  place = 0;
  /** The step before which the body may not enter the island again. */
  barredUntil = 0;

  constructor(
    readonly entity: Entity,
    form: BodyForm | undefined,
  ) {
    this.id = entity.id;
    this.form = form;
    this.reach = form === undefined ? 0 : Math.hypot(...form.half);
    this.acknowledgedTick = this.beforeTick = entity.tick;
    this.#read();
    this.before.set(this.acknowledged);
  }

  /** Records a new update. The earlier pose is valid up to the last step at which the body rested. */
  record(): void {
    const { tick, stillTick } = this.entity;
    if (tick <= this.acknowledgedTick) return;
    this.before.set(this.acknowledged);
    this.beforeTick = Math.max(this.acknowledgedTick, Math.min(tick - 1, stillTick ?? 0));
    this.acknowledgedTick = tick;
    this.#read();
  }

  /** Number of steps between the two newest updates, or 0 if no velocity can be computed from them. */
  get apart(): number {
    const steps = this.acknowledgedTick - this.beforeTick;
    return steps > 0 && steps <= APART_STEPS_MAX ? steps : 0;
  }

  /**
   * Writes the velocity and the spin between the two newest updates, six numbers at `at`, limited to the
   * bounds of the engine.
   */
  velocity(out: Float64Array, at: number): void {
    const { apart } = this;
    out.fill(0, at, at + 6);
    if (apart === 0) return;
    for (let axis = 0; axis < 3; axis++) {
      out[at + axis] = ((this.acknowledged[axis]! - this.before[axis]!) * 60) / apart;
    }
    turnBetween(this.acknowledged, 3, this.before, 3, SPIN);
    for (let axis = 0; axis < 3; axis++) out[at + 3 + axis] = (SPIN[axis]! * 60) / apart;
    shorten(out, at, SPEED_MAX);
    shorten(out, at + 3, SPIN_MAX);
  }

  /** Distance of a place from the box around it, in metres; 0 inside. */
  distance(x: number, y: number, z: number): number {
    const { acknowledged, form } = this;
    if (form === undefined)
      return Math.hypot(x - acknowledged[0]!, y - acknowledged[1]!, z - acknowledged[2]!);
    seenFrom(acknowledged, 3, x - acknowledged[0]!, y - acknowledged[1]!, z - acknowledged[2]!, SEEN);
    const [hx, hy, hz] = form.half;
    const dx = Math.max(0, Math.abs(SEEN[0]!) - hx);
    const dy = Math.max(0, Math.abs(SEEN[1]!) - hy);
    const dz = Math.max(0, Math.abs(SEEN[2]!) - hz);
    return Math.hypot(dx, dy, dz);
  }

  /** A quick test whether a place may be within this distance. A result of false is always correct. */
  mayBeWithin(x: number, y: number, z: number, distanceM: number): boolean {
    const [dx, dy, dz] = [x - this.acknowledged[0]!, y - this.acknowledged[1]!, z - this.acknowledged[2]!];
    const far = distanceM + this.reach;
    return dx * dx + dy * dy + dz * dz < far * far;
  }

  #read(): void {
    const { position, rotation } = this.entity;
    const isPlace = (part: number) => Math.abs(part) <= PLACE_M_MAX;
    const [x, y, z, w] = rotation;
    const isTurn = Math.abs(x * x + y * y + z * z + w * w - 1) < TURN_ERROR_MAX;
    this.isSane = isTurn && position.every(isPlace);
    if (!this.isSane) return;
    this.acknowledged.set(position);
    for (let part = 0; part < 4; part++) this.acknowledged[3 + part] = rotation[part]!;
  }
}

const SEEN = [0, 0, 0];
const SPIN = [0, 0, 0];

/** Shortens a vector to this length if it is longer. */
export function shorten(vector: Float64Array | Float32Array, at: number, most: number): void {
  const length = Math.hypot(vector[at]!, vector[at + 1]!, vector[at + 2]!);
  if (length <= most) return;
  for (let axis = 0; axis < 3; axis++) vector[at + axis]! *= most / length;
}

/** Called for each removed body, so that no reference is kept. */
export type TrackGone = (track: Track) => void;

/** All bodies of a world with which other bodies can collide. */
export class Tracks {
  readonly byId = new Map<EntityId, Track>();
  readonly all: Track[] = [];
  readonly #releases: readonly (() => void)[];
  readonly #world: Pick<World, "on" | "entities">;
  readonly #gone: TrackGone;

  constructor(world: Pick<World, "on" | "entities">, gone: TrackGone) {
    this.#world = world;
    this.#gone = gone;
    this.#readAll();
    this.#releases = [
      world.on("define", () => this.#readAll()),
      world.on("spawn", ({ entities }) => {
        for (const entity of entities) this.#read(entity);
      }),
      world.on("change", ({ entity, parts }) => {
        if (parts.length > 0) this.#read(entity);
      }),
      world.on("owner", ({ entity }) => this.#read(entity)),
      world.on("despawn", ({ entities }) => {
        for (const { id } of entities) this.#forget(id);
      }),
    ];
  }

  close(): void {
    for (const release of this.#releases) release();
    for (const track of this.all) this.#gone(track);
    this.all.length = 0;
    this.byId.clear();
  }

  #readAll(): void {
    for (const track of this.all) this.#gone(track);
    this.all.length = 0;
    this.byId.clear();
    for (const entity of this.#world.entities.values()) this.#read(entity);
  }

  #read(entity: Entity): void {
    this.#forget(entity.id);
    // An attached body follows its parent, so its motion is not simulated here.
    const form = entity.parent === undefined ? formOf(entity) : "none";
    if (form === "none") return;
    const track = new Track(entity, form === "unknown" ? undefined : form);
    this.byId.set(entity.id, track);
    track.place = this.all.push(track) - 1;
  }

  #forget(id: EntityId): void {
    const track = this.byId.get(id);
    if (track === undefined) return;
    this.#gone(track);
    this.byId.delete(id);
    // The last track moves into the free place, so that removing thousands of bodies needs no searches.
    const last = this.all.pop()!;
    if (last === track) return;
    this.all[track.place] = last;
    last.place = track.place;
  }
}
