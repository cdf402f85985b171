import { WireInput } from "../../codec/input.js";
import { WireError } from "../../errors/nowcast-error.js";
import { Grain } from "./grain.js";

/** Maximum groups of one world (`spec/WORLD.md`, section 6). */
const GROUPS_MAX = 65_536;

/** The time of a group's record, and its baselines. */
interface GroupHead {
  /** Whether the frame holds a motion row (`spec/MOTION.md`). */
  readonly isMotion: boolean;
  /** The step, modulo 2^32, since which the group has not changed. */
  readonly tick: number;
  /** The steps of the baselines, newest first. */
  readonly past: readonly number[];
  /** Number of steps for which the first baseline stayed unchanged. */
  readonly stay: number;
  /**
   * The precision of the group's rows, if the record has no baseline. Otherwise the precision of the baselines applies.
   */
  readonly grain: Grain | undefined;
}

/** The record of one group in a payload. */
export interface GroupRecord extends GroupHead {
  readonly group: number;
  readonly delta: Uint8Array;
}

/** The bytes of a replication source (`spec/WORLD.md`, section 5): the step, the controls, and the records one by one. */
export class PayloadReader {
  /** The step at which the payload left, modulo 2^32. */
  readonly tick: number;
  /** The number of the newest input of this client in force at that step; 0 for none. */
  readonly ackedInputSequence: number;
  #before: GroupHead | undefined;
  readonly #input: WireInput;

  constructor(bytes: Uint8Array) {
    this.#input = new WireInput(bytes);
    this.#input.path.push("head");
    this.tick = this.#input.view.getUint32(this.#input.advance(4, "tick"), true);
    this.ackedInputSequence = this.#input.view.getUint16(this.#input.advance(2, "controls"), true);
  }

  next(): GroupRecord | undefined {
    if (this.#input.at === this.#input.end) return undefined;
    const first = this.#count("group");
    const group = first >>> 4;
    const isMotion = (first & 8) !== 0;
    const isAlike = (first & 4) !== 0;
    const depth = first & 3;
    if (group >= GROUPS_MAX || (isMotion && depth > 1)) throw this.#refused("group");
    const head = this.#head(isMotion, isAlike, depth);
    this.#before = head;
    const delta = this.#input.raw(this.#count("delta"), "delta");
    return { ...head, group, delta };
  }

  #head(isMotion: boolean, isAlike: boolean, depth: number): GroupHead {
    const before = this.#before;
    if (isAlike && before === undefined) throw this.#refused("group");
    if (isAlike && !isMotion) {
      if (before!.isMotion || depth === 0 || before!.past.length !== depth) throw this.#refused("group");
      return before!;
    }
    const tick = isAlike ? before!.tick : (this.tick - this.#count("age")) >>> 0;
    const past: number[] = [];
    let newer = 0;
    for (let left = depth; left > 0; left--) {
      const age = this.#count("past age");
      if (age <= newer) throw this.#refused("past age");
      newer = age;
      past.push((tick - age) >>> 0);
    }
    const grain = past.length > 0 ? undefined : Grain.of(this.#count("grain"));
    if (past.length === 0 && grain?.isMotion !== isMotion) throw this.#refused("grain");
    const stay = past.length > 0 && !isMotion ? this.#count("stay") : 0;
    if (past.length > 0 && stay >= (tick - past[0]!) >>> 0) throw this.#refused("stay");
    return { isMotion, tick, past, stay, grain };
  }

  #count(field: string): number {
    this.#input.path[0] = field;
    return this.#input.count(field);
  }

  #refused(field: string): WireError {
    return new WireError("out of range", this.#input.at, field);
  }
}
