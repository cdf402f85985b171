import { columnsOf, type DeltaFrame } from "../../delta/frame.js";
import { FrameReader } from "../../delta/frame-reader.js";
import type { NumberArray } from "../interpolation/rotation.js";
import { readMotionFrame } from "./motion-row.js";
import type { MotionUnits, MutablePose } from "./motion-state.js";

/** Maximum entities of one group (`spec/WORLD.md`, section 6). */
const GROUP_ENTITIES_MAX = 20;

const POSITION_BITS_MAX = 10;
const ROTATION_BITS_MIN = 4;
const ROTATION_BITS_MAX = 12;

const POSITION_COLUMNS = 3;

/** The bit of a number in a payload that marks motion rows. */
const MOTION = 256;
/** The first bit of the number of a jump, and the greatest such number. */
const JUMP = 512;
const JUMP_MAX = 7;

/** Numbers of a row. */
export const ROW_WIDTH = 7;

/** The numbers of a row: {@link ROW_WIDTH} of them, from `at` on. */
export interface RowValues {
  readonly values: Int32Array;
  readonly at: number;
  /** The integrated pose of a motion row. */
  readonly pose?: MutablePose | undefined;
}

/** The arrays that receive a pose. */
export interface PoseArrays {
  readonly position: NumberArray;
  /** x, y, z, w. */
  readonly quaternion: NumberArray;
}

/**
 * The precision of rows (`spec/WORLD.md`, section 4). There is one object for each precision, so precisions compare by
 * identity.
 */
export class Grain {
  static readonly #all = new Map<number, Grain>();

  /** The units of motion rows; `undefined` if frames hold ordinary rows. */
  readonly motionUnits: MotionUnits | undefined;
  readonly #reader: FrameReader;
  readonly #metresPerStep: number;
  readonly #componentMax: number;

  private constructor(
    /** The number in a payload. */
    readonly number: number,
    positionBits: number,
    rotationBits: number,
    isMotion: boolean,
    /** The number of the jump that brought the entities to their places a short time ago; 0 without a jump. */
    readonly jump: number,
  ) {
    const columns = columnsOf([
      { kind: "number" },
      { kind: "number" },
      { kind: "number" },
      { kind: "orientation", bits: rotationBits },
    ]);
    this.#reader = new FrameReader(columns, GROUP_ENTITIES_MAX);
    this.motionUnits = isMotion
      ? {
          position: 2 ** (positionBits + 2),
          velocity: 2 ** (positionBits + 3),
          spin: 2 ** (rotationBits + 2),
          componentMax: 2 ** (rotationBits + 2) - 1,
        }
      : undefined;
    this.#metresPerStep = 2 ** -positionBits;
    this.#componentMax = 2 ** rotationBits - 1;
  }

  /** The precision with this number in a payload; `undefined` if there is none. */
  static of(number: number): Grain | undefined {
    const known = Grain.#all.get(number);
    if (known !== undefined) return known;
    const jump = Math.floor(number / JUMP);
    const isMotion = (number & MOTION) !== 0;
    const positionBits = (number >> 4) & 15;
    const rotationBits = number & 15;
    if (jump > (isMotion ? 0 : JUMP_MAX) || positionBits > POSITION_BITS_MAX) return undefined;
    if (rotationBits < ROTATION_BITS_MIN || rotationBits > ROTATION_BITS_MAX) return undefined;
    const grain = new Grain(number, positionBits, rotationBits, isMotion, jump);
    Grain.#all.set(number, grain);
    return grain;
  }

  /** Whether frames hold motion rows (`spec/MOTION.md`). */
  get isMotion(): boolean {
    return this.motionUnits !== undefined;
  }

  /** Reads a frame. Throws a `WireError` if the bytes are not a frame that is encoded against these baselines. */
  read(tick: number, bytes: Uint8Array, past: readonly DeltaFrame[]): DeltaFrame {
    if (this.motionUnits === undefined) return this.#reader.read(tick, bytes, past);
    return readMotionFrame(tick, bytes, this.motionUnits, past[0]);
  }

  /** Writes the pose of a row: the position in metres, and a rotation of length 1. */
  readPose({ values, at, pose }: RowValues, { position, quaternion }: PoseArrays): void {
    if (pose !== undefined) {
      for (let axis = 0; axis < 3; axis++) position[axis] = pose.position[axis]!;
      for (let part = 0; part < 4; part++) quaternion[part] = pose.quaternion[part]!;
      return;
    }
    for (let axis = 0; axis < POSITION_COLUMNS; axis++) {
      position[axis] = values[at + axis]! * this.#metresPerStep;
    }
    const largest = values[at + POSITION_COLUMNS]!;
    let column = at + POSITION_COLUMNS + 1;
    let square = 0;
    for (let i = 0; i < 4; i++) {
      if (i === largest) continue;
      const component = ((2 * values[column++]!) / this.#componentMax - 1) * Math.SQRT1_2;
      quaternion[i] = component;
      square += component * component;
    }
    quaternion[largest] = Math.sqrt(Math.max(0, 1 - square));
    if (square <= 1) return;
    const scale = 1 / Math.sqrt(square);
    for (let i = 0; i < 4; i++) quaternion[i]! *= scale;
  }
}
