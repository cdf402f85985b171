import type { DeltaFrame } from "../../delta/frame.js";
import { WireError } from "../../errors/nowcast-error.js";
import { MotionState, type MotionUnits, ROW, ROW_WIDTH } from "./motion-state.js";

/** Bits of the width of the numbers in a vector. The greatest code stands for 32 bits. */
const WIDTH_BITS = 5;
const WIDE = 31;
/** Bits of the length of an id. */
const ID_LENGTH_BITS = 6;
/** The largest ratio of moments of inertia, and the largest decay, as numbers. */
const INERTIA_MAX = 2 ** 28;
const DECAY_MAX = 60 * 128;

/**
 * Reads a frame with at most one motion row (`spec/MOTION.md`, section 4). The baseline has one, too. Throws a
 * `WireError` if the bytes are not such a frame.
 */
export function readMotionFrame(
  tick: number,
  bytes: Uint8Array,
  units: MotionUnits,
  baseline: DeltaFrame | undefined,
): DeltaFrame {
  if (bytes.length === 0) return { tick, ids: new Uint32Array(0), values: new Int32Array(0) };
  const bits = new MotionBits(bytes);
  const values = new Int32Array(ROW_WIDTH);
  let state: MotionState | undefined;
  if (baseline !== undefined) {
    state = MotionState.of(baseline.values, units);
    state.advance((tick - baseline.tick) >>> 0);
    state.writeRow(values, units);
  }
  const isSame = baseline !== undefined && bits.take(1) === 0;
  const id = isSame ? baseline.ids[0]! : bits.take(bits.take(ID_LENGTH_BITS));
  bits.addVector(values, 0);
  const largest = bits.take(1) === 0 ? values[ROW.rotation]! : bits.take(2);
  if (state === undefined) values.fill(0, ROW.rotation, ROW.velocity);
  else state.writeComponents(largest, values, units);
  values[ROW.rotation] = largest;
  bits.addVector(values, ROW.rotation + 1);
  bits.addVector(values, ROW.velocity);
  bits.addVector(values, ROW.spin);
  bits.addVector(values, ROW.acceleration);
  if (bits.take(1) === 1) bits.setVector(values, ROW.inertia, 2);
  if (bits.take(1) === 1) bits.setVector(values, ROW.decay, 1);
  bits.end();
  for (let at = ROW.rotation + 1; at < ROW.velocity; at++) {
    if (values[at]! < 0 || values[at]! > units.componentMax) throw bits.outOfRange();
  }
  for (let at = ROW.inertia; at < ROW.decay; at++) {
    if (values[at]! < 1 || values[at]! > INERTIA_MAX) throw bits.outOfRange();
  }
  if (values[ROW.decay]! < 0 || values[ROW.decay]! > DECAY_MAX) throw bits.outOfRange();
  return { tick, ids: Uint32Array.of(id), values };
}

/** Reads bits, the lowest of a byte first. */
class MotionBits {
  readonly #bytes: Uint8Array;
  /** Number of bits that were read. */
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Returns an unsigned number of at most 32 bits. */
  take(bits: number): number {
    if (bits > 32) throw this.outOfRange();
    if (this.#at + bits > this.#bytes.length * 8) {
      throw new WireError("the payload ends too early", this.#bytes.length, "motion row");
    }
    let value = 0;
    for (let done = 0; done < bits; ) {
      const inByte = this.#at % 8;
      const count = Math.min(8 - inByte, bits - done);
      const part = (this.#bytes[(this.#at - inByte) / 8]! >> inByte) & ((1 << count) - 1);
      value += part * 2 ** done;
      done += count;
      this.#at += count;
    }
    return value;
  }

  /** Adds a vector of three numbers; sums wrap at 32 bits. */
  addVector(values: Int32Array, first: number): void {
    const bits = this.#width();
    for (let axis = 0; axis < 3; axis++) values[first + axis] = values[first + axis]! + this.#signed(bits);
  }

  setVector(values: Int32Array, first: number, count: number): void {
    const bits = this.#width();
    for (let at = 0; at < count; at++) values[first + at] = this.#signed(bits);
  }

  /** Refuses unread bytes and non-zero filling. */
  end(): void {
    const rest = this.#bytes.length * 8 - this.#at;
    if (rest >= 8 || this.take(rest) !== 0) throw this.outOfRange();
  }

  outOfRange(): WireError {
    return new WireError("out of range", Math.floor(this.#at / 8), "motion row");
  }

  #width(): number {
    const code = this.take(WIDTH_BITS);
    return code === WIDE ? 32 : code;
  }

  #signed(bits: number): number {
    const raw = this.take(bits);
    return bits > 0 && raw >= 2 ** (bits - 1) ? raw - 2 ** bits : raw;
  }
}
