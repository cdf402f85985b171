/** A server with a walker behind an emulated link, and a client that predicts it. */

import { AdjustedGait, readWalker } from "../../src/world/describe/walker.js";
import type { InputChange, PosedWorld } from "../../src/world/posed-world.js";
import { createPoseBuffer, type PoseLayer } from "../../src/world/poses/layer.js";
import { AvatarPrediction } from "../../src/world/prediction/avatar-prediction.js";
import { CollisionWorld } from "../../src/world/prediction/collision-world.js";
import { Mover } from "../../src/world/prediction/mover.js";
import { Solid } from "../../src/world/prediction/solid.js";
import type { Entity, EntityId, Input, Kind } from "../../src/world/world.js";
import { mulberry32 } from "./random.js";

const STEP_MS = 1000 / 60;
export const FRAME_MS = 1000 / 60;
export const STILL: Input = { forward: 0, right: 0, yaw: 0, run: false, jump: false };
export const AHEAD: Input = { ...STILL, forward: 1 };
const AVATAR = 9 as EntityId;
const PLATFORM = 8 as EntityId;
/** Equal to the server's constant in `crates/room/src/session/input_buffer.rs`. */
const WAIT_STEPS = 3;
const REST_STEPS = 60;
export const PATIENCE_STEPS = 60;
const LATE_STEPS_MAX = 60;
const STRIDE_EVERY_STEPS = 4;
const WINDOW_STEPS = 60;
const RESERVE_STEPS = 2;
const APART_STEPS_MAX = 120;

interface Link {
  readonly delayMs: number;
  readonly jitterMs: number;
  /** Share of lost packets, 0 to 1. */
  readonly loss: number;
  /** Packets that are lost in a row. */
  readonly burst: number;
  /** Models TCP: a lost message arrives this much later, and no later message overtakes it. */
  readonly againMs?: number;
  /** A stream that stalls at intervals. Messages sent during a stall arrive together, and only the newest is read. */
  readonly stall?: { readonly forMs: number; readonly everyMs: number };
}

export const kind = (name: string, size: number[]): Kind => ({
  name,
  body: { motion: "fixed", shape: "box", size },
  walker: undefined,
  look: undefined,
  attributes: [],
  owner: undefined,
});
/** Returns the centre and the yaw of a platform at a time, in metres, radians and seconds. */
export type Course = (seconds: number) => readonly [number, number, number, number];

/** An action that throws the avatar ahead and upward. */
export const LEAP = { name: "leap", arguments: [], hint: { key: "l", predict: "launch", speed: 2, rise: 7 } };

/** Half edges of the platform. */
const PLATFORM_HALF = [4, 0.5, 4];

const PERSON: Kind = {
  name: "person",
  body: undefined,
  walker: { adjustable: true },
  look: undefined,
  attributes: [],
  owner: undefined,
};

export function entityOf(id: number, of: Kind, position: [number, number, number]): Mutable<Entity> {
  const base = {
    scale: [1, 1, 1] as const,
    parent: undefined,
    owner: undefined,
    attributes: {},
    quaternion: [0, 0, 0, 1] as const,
  };
  return { id: id as EntityId, kind: of, position, tick: 0, ...base };
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Listener = (event: never) => void;

/** An interpolation that shows every entity where it is. */
const EVERYWHERE: PoseLayer = { place: () => true };

/** A server with one walker behind a link, in virtual time; it takes steps as defined in `spec/WORLD.md`. */
export class Rig {
  nowMs = 0;
  readonly mover = new Mover();
  /** Bodies that the client does not know of. */
  readonly hidden: Solid[] = [];
  readonly source: PosedWorld;
  readonly predictor: AvatarPrediction;
  /** For each frame: the jump of the shown position relative to the predicted path. */
  readonly jumps: number[] = [];
  readonly errors: number[] = [];

  readonly #link: Link;
  readonly #random: () => number;
  readonly #listeners = new Map<string, Listener>();
  #isCut = false;
  readonly #avatar = entityOf(AVATAR, PERSON, [0, 0.9, 0]);
  readonly #entities: Map<EntityId, Entity>;
  readonly #surroundings: CollisionWorld;
  #flights: { atMs: number; way: "up" | "down"; arrive: () => void }[] = [];
  #lostLeft = 0;
  #input: Input = STILL;
  #waiting: { step: number; input: Input }[] = [];
  #newest: number | undefined;
  #next = 0;
  #known = 0;
  #stillSteps = 0;
  #patience = PATIENCE_STEPS;
  #owed = 0;
  #hasGivenUp = false;
  #least = [0, 0];
  #tick = 0;
  /** The world's step before the newest jump. */
  #jumpTick = Number.POSITIVE_INFINITY;
  /** The steps of received actions. */
  readonly #leaps: number[] = [];
  #attributes: Record<string, number | boolean> = {};
  readonly #adjusted = new AdjustedGait();
  readonly #lastAtMs = { up: 0, down: 0 };
  /** Number of world steps in which the walker waited; then number of world steps in which it took two steps. */
  waits = 0;
  strides = 0;
  /** Messages of the client. */
  sent = 0;
  readonly #place = [0, 0, 0];
  readonly #course: Course | undefined;
  /** The platform at its place on the server. */
  readonly #platform = new Solid();

  /** With a course, the walker begins on a platform that the rules move. */
  constructor(link: Link, seed: number, obstacles: Entity[] = [], course?: Course) {
    this.#course = course;
    this.#link = link;
    this.#random = mulberry32(seed);
    const floor = entityOf(1, kind("floor", [200, 1, 200]), [0, -0.5, 0]);
    const size = PLATFORM_HALF.map((half) => 2 * half);
    const platformKind = {
      ...kind("platform", size),
      body: { motion: "kinematic", shape: "box", size },
    } as Kind;
    const platform = entityOf(PLATFORM, platformKind, courseAt(course, 0).place);
    const platforms = course === undefined ? [] : [platform];
    this.#platform.half.set(PLATFORM_HALF);
    this.#platform.moves = true;
    const entities = [floor, ...obstacles, ...platforms, this.#avatar];
    this.#entities = new Map(entities.map((entity) => [entity.id, entity]));
    const on = (type: string, listener: Listener) => {
      this.#listeners.set(`${type}${this.#listeners.size}`, listener);
      return () => undefined;
    };
    const source = {
      on,
      entities: this.#entities,
      avatarId: AVATAR,
      avatar: this.#avatar,
      status: "open",
      connection: "steady",
      inputAtStep: (number: number, changes: readonly InputChange[]) => {
        this.sent++;
        const copies = changes.map((change) => ({ ...change }));
        this.#fly("up", () => this.#receive(number, copies));
        return true;
      },
      definition: { version: 1, kinds: [], actions: [LEAP], events: [], assets: [] },
    };
    this.source = source as unknown as PosedWorld;
    if (course !== undefined) this.#avatar.position = [0, course(0)[1] + 1.4, 0];
    this.mover.restart(...this.#avatar.position);
    this.#surroundings = new CollisionWorld(this.source, 70);
    this.predictor = new AvatarPrediction(this.source);
  }

  /** Advances the time, with one frame every 1/60 s. `controls` returns the input of each frame. */
  run(ms: number, controls: (nowMs: number) => Input): void {
    const endMs = this.nowMs + ms;
    while (this.nowMs < endMs) {
      this.nowMs += 1;
      this.#land();
      while (Math.floor(this.nowMs / STEP_MS) > this.#tick) this.#serve();
      if (Math.floor(this.nowMs / FRAME_MS) === Math.floor((this.nowMs - 1) / FRAME_MS)) continue;
      const offsetM = this.predictor.offsetM;
      this.predictor.input(controls(this.nowMs));
      this.predictor.frame(this.nowMs, EVERYWHERE);
      this.jumps.push(Math.max(0, offsetM - this.predictor.offsetM));
    }
  }

  /** The shown positions of the frames of such a run. */
  path(ms: number, controls: (nowMs: number) => Input): number[][] {
    const places: number[][] = [];
    for (const endMs = this.nowMs + ms; this.nowMs < endMs; ) {
      this.run(1, controls);
      places.push(this.shown);
    }
    return places;
  }

  /** Cuts the link: no message arrives in either direction. The page learns of it after a second. */
  cut(): void {
    this.#isCut = true;
    this.#flights = [];
  }

  /** The page knows that it reaches no server. */
  noticeCut(): void {
    Object.assign(this.source, { status: "reconnecting", connection: "lost" });
  }

  /** The page joins again as the same player, and receives the avatar's place. */
  rejoin(): void {
    this.#isCut = false;
    this.#newest = undefined;
    this.#waiting = [];
    this.#avatar.position = [this.mover.px, this.mover.py, this.mover.pz];
    Object.assign(this.source, { status: "open", connection: "steady" });
    for (const [type, listener] of this.#listeners) {
      if (type.startsWith("welcome"))
        (listener as (event: unknown) => void)({ tick: this.#tick, stepHz: 60 });
    }
  }

  get shown(): number[] {
    const pose = createPoseBuffer();
    this.predictor.place(AVATAR, pose);
    return [...pose.position];
  }

  /** Acts as `World.act` does. */
  act(action: string): void {
    const step = Math.round(this.predictor.moment);
    this.#fly("up", () => this.#leaps.push(step));
    this.predictor.acted(action, {});
  }

  /** The rules change the speeds of the avatar, or freeze it. */
  adjust(speed: number, jump = 1, frozen = false): void {
    this.#attributes = { speed, jump, frozen };
  }

  teleport(x: number, y: number, z: number): void {
    this.mover.restart(x, y, z);
    this.#jumpTick = this.#tick;
  }

  #land(): void {
    const landed = this.#flights.filter(({ atMs }) => atMs <= this.nowMs);
    this.#flights = this.#flights.filter(({ atMs }) => atMs > this.nowMs);
    landed.forEach(({ way, arrive }, at) => {
      // A state replaces one that was not read yet.
      const isRead = this.#link.stall === undefined || way === "down";
      if (isRead || !landed.slice(at + 1).some((later) => later.way === way)) arrive();
    });
  }

  #fly(way: "up" | "down", arrive: () => void): void {
    if (this.#isCut) return;
    const { delayMs, jitterMs, loss, burst, againMs, stall } = this.#link;
    if (this.#lostLeft === 0 && this.#random() < loss / burst) this.#lostLeft = burst;
    let atMs = this.nowMs + delayMs / 2 + this.#random() * jitterMs;
    if (this.#lostLeft > 0) {
      this.#lostLeft--;
      if (againMs === undefined) return;
      atMs += againMs;
    }
    if (stall !== undefined && way === "up") {
      const leftMs = stall.everyMs - (this.nowMs % stall.everyMs);
      if (leftMs <= stall.forMs) atMs += leftMs;
    }
    if (againMs !== undefined) atMs = this.#lastAtMs[way] = Math.max(atMs, this.#lastAtMs[way]);
    this.#flights.push({ atMs, way, arrive });
  }

  #receive(number: number, changes: InputChange[]): void {
    const lead = apart(number, this.#next);
    const stands = this.#rests;
    if (Math.abs(lead) > APART_STEPS_MAX) {
      this.#newest = undefined;
      this.#waiting = [];
    }
    if (this.#newest === undefined || (stands && (lead < WAIT_STEPS || lead > WAIT_STEPS + 2))) {
      const again = this.#newest === undefined ? 0 : Math.max(0, apart(this.#next, number - WAIT_STEPS));
      this.#owed = Math.min(PATIENCE_STEPS, again);
      this.#next = number - WAIT_STEPS;
    }
    if (this.#newest === undefined || apart(number, this.#known) > 0) this.#known = number;
    for (const { ago, ...input } of changes.reverse()) {
      const step = number - ago;
      if (this.#newest !== undefined && apart(step, this.#newest) <= 0) continue;
      this.#newest = step;
      const late = apart(this.#next, step);
      if (late > 0 && late <= LATE_STEPS_MAX && stands && !this.#hasGivenUp) {
        this.#next = step;
        this.#owed = Math.min(PATIENCE_STEPS, this.#owed + late);
      }
      this.#waiting.push({ step, input });
    }
  }

  get #rests(): boolean {
    return this.#waiting.length === 0 && this.#stillSteps >= REST_STEPS;
  }

  /** Moves the platform to its place after the present step of the world. */
  #movePlatform(): void {
    const course = this.#course;
    if (course === undefined) return;
    const [from, to] = [courseAt(course, this.#tick - 1), courseAt(course, this.#tick)];
    this.#platform.place(to.place, [0, Math.sin(to.yaw / 2), 0, Math.cos(to.yaw / 2)]);
    this.#platform.pivot.set(to.place);
    this.#platform.velocity.set(to.place.map((metres, axis) => (metres - from.place[axis]!) * 60));
    this.#platform.spin.set([0, (to.yaw - from.yaw) * 60, 0]);
  }

  /** The height of the shown avatar above the shown platform, in metres. */
  get feetM(): number {
    return this.shown[1]! - 0.9 - this.#shownPlatform[1]! - PLATFORM_HALF[1]!;
  }

  /** The distance of the shown avatar along x from the centre of the shown platform, in metres. */
  get aboardM(): number {
    return this.shown[0]! - this.#shownPlatform[0]!;
  }

  get #shownPlatform(): Float64Array {
    const shown = createPoseBuffer();
    shown.position.set(this.#entities.get(PLATFORM)!.position);
    for (const layer of this.predictor.layers) layer.place(PLATFORM, shown);
    return shown.position;
  }

  #serve(): void {
    this.#tick++;
    this.#movePlatform();
    if (this.#newest === undefined) return;
    const inHand = apart(this.#known, this.#next);
    if (this.#tick % WINDOW_STEPS === 0) this.#least = [inHand, this.#least[0]!];
    this.#least[0] = Math.min(this.#least[0]!, inHand);
    const isKnown = inHand >= 0 || (this.#rests && !this.#hasGivenUp);
    if (!isKnown && this.#patience > 0) {
      this.#patience--;
      this.#owed = Math.min(PATIENCE_STEPS, this.#owed + 1);
      this.waits++;
    } else if (!isKnown) {
      this.#hasGivenUp = true;
      this.#step();
    } else {
      this.#hasGivenUp = false;
      if (this.#tick % STRIDE_EVERY_STEPS === 0) {
        this.#patience = Math.min(PATIENCE_STEPS, this.#patience + 1);
        if (this.#owed > 0 && !this.#rests && this.#least.every((least) => least > RESERVE_STEPS)) {
          this.#owed--;
          this.#least = this.#least.map((least) => least - 1);
          this.strides++;
          this.#step();
        }
      }
      this.#step();
    }
    this.#tell();
  }

  #step(): void {
    const step = this.#next++;
    while (this.#waiting.length > 0 && apart(this.#waiting[0]!.step, step) <= 0) {
      this.#input = this.#waiting.shift()!.input;
    }
    const input = this.#hasGivenUp ? { ...this.#input, forward: 0, right: 0, jump: false } : this.#input;
    const { forward, right, jump } = input;
    this.#stillSteps = forward === 0 && right === 0 && !jump ? this.#stillSteps + 1 : 0;
    const { near } = this.#surroundings;
    const { px: x0, py: y0, pz: z0 } = this.mover;
    this.#surroundings.gather({ px: x0, py: y0, pz: z0 }, 6, AVATAR, PLATFORM);
    const person = this.#adjusted.of(readWalker({ adjustable: true }), this.#attributes);
    const known = near.slice(0, this.#surroundings.count);
    const platforms = this.#course === undefined ? [] : [this.#platform];
    this.mover.step(person, input, [...known, ...platforms, ...this.hidden]);
    if (this.#leaps[0] !== undefined && this.#leaps[0] <= step) {
      this.#leaps.shift();
      this.#launch(input.yaw);
    }
    const { px, py, pz } = this.mover;
    if (!this.predictor.predicted(step, this.#place)) return;
    const [x, y, z] = this.#place;
    this.errors.push(Math.hypot(px - x!, py - y!, pz - z!));
  }

  /** The rules of the action: `avatar:launch(avatar.facing * speed + vector.create(0, rise, 0))`. */
  #launch(yaw: number): void {
    const { speed, rise } = LEAP.hint;
    this.mover.vx = Math.fround(-Math.sin(yaw) * speed);
    this.mover.vy = rise;
    this.mover.vz = Math.fround(-Math.cos(yaw) * speed);
    this.mover.stepsSinceGround = 6;
    this.mover.stepsSinceJump = this.mover.groundCount = 0;
  }

  /** Twenty times a second. */
  #tell(): void {
    if (this.#tick % 3 !== 0) return;
    const { px, py, pz } = this.mover;
    const [tick, rounded] = [this.#tick, [px, py, pz].map((metres) => Math.round(metres * 1024) / 1024)];
    const ackedInputSequence = (this.#next - 1) & 0xffff;
    const { place, yaw } = courseAt(this.#course, this.#tick);
    const attributes = this.#attributes;
    const jumpTick = this.#jumpTick;
    this.#fly("down", () => {
      if (tick <= this.#avatar.tick) return;
      this.#avatar.hasJumped = this.#avatar.tick <= jumpTick && jumpTick < tick;
      const isMoved = rounded.some((metres, axis) => metres !== this.#avatar.position[axis]);
      this.#avatar.position = rounded as [number, number, number];
      this.#avatar.attributes = attributes;
      this.#avatar.tick = tick;
      const moved: Entity[] = isMoved ? [this.#avatar] : [];
      const platform = this.#entities.get(PLATFORM) as Mutable<Entity> | undefined;
      if (platform !== undefined) {
        platform.position = place.map((metres) => Math.round(metres * 1024) / 1024) as typeof place;
        const half = Math.round(yaw * 8192) / 8192 / 2;
        platform.quaternion = [0, Math.sin(half), 0, Math.cos(half)];
        platform.tick = tick;
        moved.push(platform);
      }
      const event = { tick, ackedInputSequence, moved, receivedAtMs: 0 };
      for (const [type, listener] of this.#listeners) {
        if (type.startsWith("snapshot")) (listener as (event: unknown) => void)(event);
      }
    });
  }
}

function courseAt(
  course: Course | undefined,
  tick: number,
): { place: [number, number, number]; yaw: number } {
  const [x, y, z, yaw] = course?.(tick / 60) ?? [0, 0, 0, 0];
  return { place: [x, y, z], yaw };
}

function apart(a: number, b: number): number {
  return ((a - b) << 16) >> 16;
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}
