import type { DeltaFrame } from "../../delta/frame.js";
import { WireError } from "../../errors/nowcast-error.js";
import { type Grain, ROW_WIDTH, type RowValues } from "./grain.js";
import { MOTION_STEPS_MAX, MotionState, type MotionUnits, type MutablePose } from "./motion-state.js";
import { type GroupRecord, PayloadReader } from "./payload.js";

/** Number of frames of a group that are kept as baselines (`spec/WORLD.md`, section 5). */
const FRAMES_HELD = 128;

/**
 * Maximum number of out-of-sight entities that are remembered; then the number of steps for which each is remembered. A
 * late payload must not show such an entity again.
 */
const HIDDEN_MAX = 65_536;
const LATE_STEPS_MAX = 3600;

/** Groups without visible entities are forgotten after this many steps without a record. */
const QUIET_STEPS = 600;
const PAYLOADS_PER_SWEEP = 256;

/** The listener for entities that moved or are new. */
export interface Movement {
  /** The entity reached its pose at `row.tick`, and kept its earlier pose up to `stillTick`. */
  moved(id: number, row: Row, stillTick: number): void;
}

/** The pose of an entity at a step: `values` has its row at `at`, in the precision of `grain`. */
export interface Row extends RowValues {
  readonly grain: Grain;
  /** Modulo 2^32. */
  readonly tick: number;
  /** Set if a motion row arrived late: the poses since this path began differ from those that were reported. */
  readonly path?: MotionPath | undefined;
}

/** A motion row as a path. */
export class MotionPath {
  readonly #values: Int32Array;
  readonly #units: MotionUnits;

  constructor(
    /** The step at which the path begins, modulo 2^32. */
    readonly tick: number,
    values: Int32Array,
    units: MotionUnits,
  ) {
    this.#values = values;
    this.#units = units;
  }

  /** Returns the pose this many steps after the beginning. */
  after(steps: number): MutablePose {
    const state = this.begin();
    state.advance(steps);
    return state;
  }

  begin(): MotionState {
    return MotionState.of(this.#values, this.#units);
  }
}

/** The motion row of a group, integrated up to the newest payload. */
class HeldMotion {
  readonly path: MotionPath;
  readonly state: MotionState;
  #steps = 0;
  /** The step for which a pose of the group was reported last. */
  toldTick: number | undefined;
  /** Whether a pose of this row was reported. */
  isTold = false;

  constructor(path: MotionPath, toldTick: number | undefined) {
    this.path = path;
    this.state = path.begin();
    this.toldTick = toldTick;
  }

  /** Integrates up to this step. Earlier steps are ignored. */
  advanceTo(tick: number): void {
    const wanted = Math.min((tick - this.path.tick) >>> 0, MOTION_STEPS_MAX);
    for (; this.#steps < wanted; this.#steps++) this.state.step();
  }
}

export interface Applied {
  /** The step at which the payload left, modulo 2^32. */
  readonly tick: number;
  /** The number of the newest input of this client in force at that step; 0 for none. */
  readonly ackedInputSequence: number;
  /** Groups encoded against missing frames, which must be requested as a whole. */
  readonly missing: number;
}

interface HeldFrame extends DeltaFrame {
  readonly grain: Grain;
}

/** The state of a group. */
interface Held {
  /** The frames in the order of their ticks, the newest last. */
  readonly frames: HeldFrame[];
  /** The step up to which the newest frame is known to be valid. */
  heardTick: number;
  /** The step at which older frames were forgotten. */
  forgottenTick: number | undefined;
  /** The motion row of the newest frame. */
  motion: HeldMotion | undefined;
}

/** A copy of a world's movement. Payloads may arrive in any order and with any losses. */
export class Replica {
  readonly #groups = new Map<number, Held>();
  /**
   * The group of each entity in the newest frame of a group. If several groups contain an entity, this is the group
   * with the newest frame.
   */
  readonly #groupOf = new Map<number, number>();
  /** For each entity out of sight, the step at which it went out of sight. Rows up to that step are ignored. */
  readonly #hidden = new Map<number, number>();
  #tick: number | undefined;
  #payloads = 0;

  /** Applies a payload and reports its movement. Throws a `WireError` for an invalid payload. */
  apply(payload: Uint8Array, movement: Movement): Applied {
    const reader = new PayloadReader(payload);
    let missing = 0;
    for (let record = reader.next(); record !== undefined; record = reader.next()) {
      if (!this.#record(record, reader.tick, movement)) missing++;
    }
    if (this.#tick === undefined || isAfter(reader.tick, this.#tick)) this.#tick = reader.tick;
    for (const [group, held] of this.#groups) {
      if (held.motion !== undefined) this.#fly(group, held, held.motion, this.#tick, movement);
    }
    if (++this.#payloads % PAYLOADS_PER_SWEEP === 0) this.#sweep(this.#tick);
    return { tick: reader.tick, ackedInputSequence: reader.ackedInputSequence, missing };
  }

  /**
   * Returns the newest row of an entity; `undefined` for an entity that is in no known group. A motion row has the pose
   * at the newest step.
   */
  find(id: number): Row | undefined {
    const held = this.#groups.get(this.#groupOf.get(id) ?? -1);
    const row = rowIn(held?.frames.at(-1), id);
    if (row === undefined || held?.motion === undefined) return row;
    held.motion.advanceTo(this.#tick ?? row.tick);
    return { ...row, tick: this.#tick ?? row.tick, pose: held.motion.state };
  }

  /** Marks an entity as out of sight since this step. Rows up to this step are ignored, even if they arrive late. */
  hide(id: number, tick: number): void {
    const group = this.#groupOf.get(id);
    if (group !== undefined) {
      if (isAfter(this.#groups.get(group)!.heardTick, tick)) return;
      this.#groupOf.delete(id);
    }
    if (this.#hidden.size >= HIDDEN_MAX) {
      for (const [other, since] of this.#hidden) {
        if (((this.#tick ?? tick) - since) >>> 0 >= LATE_STEPS_MAX) this.#hidden.delete(other);
      }
    }
    if (this.#hidden.size < HIDDEN_MAX) this.#hidden.set(id, tick);
  }

  /** Applies a record. Returns false if a baseline is missing. */
  #record(record: GroupRecord, payloadTick: number, movement: Movement): boolean {
    const { group, tick, past, stay } = record;
    const held = this.#groups.get(group) ?? {
      frames: [],
      heardTick: payloadTick,
      forgottenTick: undefined,
      motion: undefined,
    };
    const { frames } = held;
    const newest = frames.at(-1);
    if (findFrame(frames, tick) !== undefined) {
      if (newest!.tick === tick) this.#showGroup(group, held, newest, tick, payloadTick, movement);
      return true;
    }
    const known: HeldFrame[] = [];
    for (const wanted of past) {
      const frame = findFrame(frames, wanted);
      // A payload older than the newest forgotten step has no new information.
      if (frame === undefined) {
        return held.forgottenTick !== undefined && !isAfter(payloadTick, held.forgottenTick);
      }
      known.push(frame);
    }
    const grain = (known[0]?.grain ?? record.grain)!;
    const isOther = ({ grain: other, ids }: HeldFrame) =>
      other !== grain || (record.isMotion && ids.length === 0);
    if (grain.isMotion !== record.isMotion || known.some(isOther))
      throw new WireError("of another grain", 0, "past age");
    let frame: HeldFrame;
    try {
      frame = { ...grain.read(tick, record.delta, known), grain };
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      throw new WireError(error.detail, error.offset, `replication.group ${group}.${error.path}`);
    }
    keep(held, frame);
    this.#groups.set(group, held);
    if (frames.at(-1) !== frame) return true;
    const path =
      grain.motionUnits === undefined || frame.ids.length === 0
        ? undefined
        : new MotionPath(tick, frame.values, grain.motionUnits);
    held.motion = path === undefined ? undefined : new HeldMotion(path, held.motion?.toldTick);
    const stillTick = past.length > 0 ? (past[0]! + stay) >>> 0 : tick;
    this.#showGroup(group, held, newest, stillTick, payloadTick, movement);
    return true;
  }

  /**
   * Handles a payload that confirms the newest frame of a group, so the frame's entities are in the group. `before` was
   * the newest frame until then.
   */
  #showGroup(
    group: number,
    held: Held,
    before: HeldFrame | undefined,
    stillTick: number,
    payloadTick: number,
    movement: Movement,
  ): void {
    const frame = held.frames.at(-1)!;
    if (before !== frame) this.#unplace(group, before, frame);
    for (let row = 0; row < frame.ids.length; row++) {
      const id = frame.ids[row]!;
      const hiddenTick = this.#hidden.get(id);
      if (hiddenTick !== undefined && !isAfter(payloadTick, hiddenTick)) continue;
      const at = this.#groupOf.get(id);
      const isHere = at === group;
      if (isHere && before === frame) continue;
      const known = isHere ? rowIn(before, id) : rowIn(this.#groups.get(at ?? -1)?.frames.at(-1), id);
      if (!isHere && known !== undefined && isAfter(known.tick, frame.tick)) continue;
      this.#groupOf.set(id, group);
      this.#hidden.delete(id);
      const { values, tick, grain } = frame;
      // Motion rows are reported after all records of the payload.
      if (grain.isMotion) continue;
      const now = { values, at: row * ROW_WIDTH, tick, grain };
      if (known !== undefined && isSameRow(known, now)) continue;
      movement.moved(id, now, isHere && known !== undefined ? stillTick : tick);
    }
    if (held.frames.length === 1 || isAfter(payloadTick, held.heardTick)) held.heardTick = payloadTick;
  }

  /** Reports the pose of a motion row at the newest step, unless it was reported before. */
  #fly(group: number, { frames }: Held, motion: HeldMotion, newestTick: number, movement: Movement): void {
    const row = { ...frames.at(-1)!, at: 0 };
    const id = row.ids[0]!;
    const { path, toldTick, isTold } = motion;
    if (this.#groupOf.get(id) !== group || (isTold && toldTick === newestTick)) return;
    motion.advanceTo(newestTick);
    motion.toldTick = newestTick;
    motion.isTold = true;
    const isLate = !isTold && toldTick !== undefined && isAfter(toldTick, path.tick);
    const tick = newestTick;
    movement.moved(
      id,
      { ...row, tick, pose: motion.state, path: isLate ? path : undefined },
      toldTick ?? tick,
    );
  }

  /** Removes from `#groupOf` the entities that are no longer in the group's frame. */
  #unplace(group: number, before: HeldFrame | undefined, { ids }: DeltaFrame): void {
    for (const id of before?.ids ?? []) {
      if (this.#groupOf.get(id) === group && !ids.includes(id)) this.#groupOf.delete(id);
    }
  }

  /**
   * Forgets the frames of groups that had no update for a long time and have no visible entity. When such a group
   * becomes visible again, the server sends it without baselines.
   */
  #sweep(tick: number): void {
    for (const [group, held] of this.#groups) {
      const { frames, heardTick } = held;
      if (frames.length === 0 || !isAfter(tick, (heardTick + QUIET_STEPS) >>> 0)) continue;
      if (frames.at(-1)!.ids.some((id) => this.#groupOf.get(id) === group)) continue;
      frames.length = 0;
      held.motion = undefined;
      held.forgottenTick = tick;
    }
  }
}

function findFrame(frames: readonly HeldFrame[], tick: number): HeldFrame | undefined {
  for (let at = frames.length - 1; at >= 0; at--) if (frames[at]!.tick === tick) return frames[at];
  return undefined;
}

function keep(held: Held, frame: HeldFrame): void {
  const { frames } = held;
  let place = frames.length;
  while (place > 0 && isAfter(frames[place - 1]!.tick, frame.tick)) place--;
  frames.splice(place, 0, frame);
  if (place === frames.length - 1 && frame.ids.length === 0) {
    // Older frames are dropped, because a baseline is never older than a frame without entities.
    held.forgottenTick = frame.tick;
    frames.splice(0, place);
  }
  if (frames.length > FRAMES_HELD) frames.shift();
}

/** Whether one step is later than another one; steps wrap. */
function isAfter(tick: number, other: number): boolean {
  return ((tick - other) | 0) > 0;
}

function rowIn(frame: HeldFrame | undefined, id: number): Row | undefined {
  const row = frame?.ids.indexOf(id) ?? -1;
  if (frame === undefined || row < 0) return undefined;
  return { values: frame.values, at: row * ROW_WIDTH, tick: frame.tick, grain: frame.grain };
}

function isSameRow(a: Row, b: Row): boolean {
  if (a.grain !== b.grain) return false;
  for (let column = 0; column < ROW_WIDTH; column++) {
    if (a.values[a.at + column] !== b.values[b.at + column]) return false;
  }
  return true;
}
