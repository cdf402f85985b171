import type { DeltaFrame } from "../../delta/frame.js";
import { FrameReader } from "../../delta/frame-reader.js";
import { DeltaLayout } from "../../delta/layout.js";
import { WireError } from "../../errors/nowcast-error.js";
import { GROUP_ENTITIES_MAX, type GroupRecord, PayloadReader } from "./payload.js";

/** Frames of a group that are kept, for those that are told against them (`spec/WORLD.md`, section 5). */
const FRAMES_HELD = 128;

/** What the numbers of a row mean (`spec/WORLD.md`, section 4). */
const ORIENTATION_BITS = 12;
const LAYOUT = new DeltaLayout([
  { kind: "number" },
  { kind: "number" },
  { kind: "number" },
  { kind: "orientation", bits: ORIENTATION_BITS },
]);
const STEPS_PER_METRE = 1024;
const COMPONENT_MAX = 2 ** ORIENTATION_BITS - 1;
const POSITION_COLUMNS = 3;

/** What hears of entities that are somewhere else, or new. */
export interface Movement {
  /**
   * `values` holds the row of the entity at `at` (see {@link readPosition}). At `tick` it got there; up to `stillTick` it
   * was where it was before.
   */
  moved(id: number, values: Int32Array, at: number, tick: number, stillTick: number): void;
}

/** Where an entity got to at a step: `values` holds its row at `at` (see {@link readPosition}). */
export interface Row {
  readonly values: Int32Array;
  readonly at: number;
  /** Modulo 2^32. */
  readonly tick: number;
}

export interface Applied {
  /** The step at which the payload left, modulo 2^32. */
  readonly tick: number;
  /** The number of the newest controls of this client that were in force at that step; 0 for none. */
  readonly controls: number;
  /** Groups told against frames that are not here: to be asked for as a whole. */
  readonly missing: number;
}

/** A copy of a world's movement, kept up by payloads in any order and with any losses. */
export class Replica {
  readonly #reader = new FrameReader(LAYOUT, GROUP_ENTITIES_MAX);
  /** The frames of each group by age, the newest last. */
  readonly #groups = new Map<number, DeltaFrame[]>();
  /** Of each entity in a newest frame. */
  readonly #groupOf = new Map<number, number>();

  /** Takes in a payload and tells what moved by it. Throws a `WireError` for what no server writes. */
  apply(payload: Uint8Array, movement: Movement): Applied {
    const reader = new PayloadReader(payload);
    let missing = 0;
    for (let record = reader.next(); record !== undefined; record = reader.next()) {
      if (!this.#record(record, movement)) missing++;
    }
    return { tick: reader.tick, controls: reader.controls, missing };
  }

  /** The newest row of an entity that is known to be in a group; undefined for others. */
  find(id: number): Row | undefined {
    const frame = this.#groups.get(this.#groupOf.get(id) ?? -1)?.at(-1);
    if (frame === undefined) return undefined;
    const at = frame.ids.indexOf(id) * LAYOUT.width;
    return at < 0 ? undefined : { values: frame.values, at, tick: frame.tick };
  }

  /** False if it was told against a frame that is not here. */
  #record({ group, tick, past, stay, delta }: GroupRecord, movement: Movement): boolean {
    const frames = this.#groups.get(group) ?? [];
    if (findFrame(frames, tick) !== undefined) return true;
    const known: DeltaFrame[] = [];
    for (const wanted of past) {
      const frame = findFrame(frames, wanted);
      if (frame === undefined) return false;
      known.push(frame);
    }
    const frame = this.#decode(group, tick, delta, known);
    const newest = frames.at(-1);
    keep(frames, frame);
    this.#groups.set(group, frames);
    if (frames.at(-1) !== frame) return true;
    this.#place(group, newest, frame);
    const stillTick = past.length > 0 ? (past[0]! + stay) >>> 0 : tick;
    tellMovement(newest, frame, stillTick, movement);
    return true;
  }

  /** Remembers where to find the entities of a group. */
  #place(group: number, before: DeltaFrame | undefined, { ids }: DeltaFrame): void {
    for (const id of before?.ids ?? []) if (this.#groupOf.get(id) === group) this.#groupOf.delete(id);
    for (const id of ids) this.#groupOf.set(id, group);
  }

  #decode(group: number, tick: number, delta: Uint8Array, past: readonly DeltaFrame[]): DeltaFrame {
    try {
      return this.#reader.read(tick, delta, past);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      throw new WireError(error.detail, error.offset, `replication.group ${group}.${error.path}`);
    }
  }
}

/** Position in metres. */
export function readPosition(values: Int32Array, at: number, out: number[]): void {
  for (let axis = 0; axis < POSITION_COLUMNS; axis++) out[axis] = values[at + axis]! / STEPS_PER_METRE;
}

/** The quaternion x, y, z, w. */
export function readRotation(values: Int32Array, at: number, out: number[]): void {
  const largest = values[at + POSITION_COLUMNS]!;
  let column = at + POSITION_COLUMNS + 1;
  let rest = 1;
  for (let i = 0; i < 4; i++) {
    if (i === largest) continue;
    const component = ((2 * values[column++]!) / COMPONENT_MAX - 1) * Math.SQRT1_2;
    out[i] = component;
    rest -= component * component;
  }
  out[largest] = Math.sqrt(Math.max(0, rest));
}

function findFrame(frames: readonly DeltaFrame[], tick: number): DeltaFrame | undefined {
  for (let at = frames.length - 1; at >= 0; at--) if (frames[at]!.tick === tick) return frames[at];
  return undefined;
}

function keep(frames: DeltaFrame[], frame: DeltaFrame): void {
  let place = frames.length;
  while (place > 0 && ((frame.tick - frames[place - 1]!.tick) | 0) < 0) place--;
  frames.splice(place, 0, frame);
  if (frames.length > FRAMES_HELD) frames.shift();
}

function tellMovement(
  before: DeltaFrame | undefined,
  { ids, values, tick }: DeltaFrame,
  stillTick: number,
  movement: Movement,
): void {
  const { width } = LAYOUT;
  let old = 0;
  for (let row = 0; row < ids.length; row++) {
    const id = ids[row]!;
    while (before !== undefined && old < before.ids.length && before.ids[old]! < id) old++;
    const isKnown = before !== undefined && before.ids[old] === id;
    if (isKnown && isSameRow(before.values, old * width, values, row * width)) continue;
    movement.moved(id, values, row * width, tick, isKnown ? stillTick : tick);
  }
}

function isSameRow(a: Int32Array, aStart: number, b: Int32Array, bStart: number): boolean {
  for (let column = 0; column < LAYOUT.width; column++) {
    if (a[aStart + column] !== b[bStart + column]) return false;
  }
  return true;
}
