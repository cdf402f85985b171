import { BitReader } from "../../delta/bits.js";
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
  const bits = new BitReader(bytes, 0, "motion row");
  const values = new Int32Array(ROW_WIDTH);
  let state: MotionState | undefined;
  if (baseline !== undefined) {
    state = MotionState.of(baseline.values, units);
    state.advance((tick - baseline.tick) >>> 0);
    state.writeRow(values, units);
  }
  const isSame = baseline !== undefined && bits.plain(1) === 0;
  const id = isSame ? baseline.ids[0]! : readId(bits);
  addVector(bits, values, 0);
  const largest = bits.plain(1) === 0 ? values[ROW.rotation]! : bits.plain(2);
  if (state === undefined) values.fill(0, ROW.rotation, ROW.velocity);
  else state.writeComponents(largest, values, units);
  values[ROW.rotation] = largest;
  addVector(bits, values, ROW.rotation + 1);
  addVector(bits, values, ROW.velocity);
  addVector(bits, values, ROW.spin);
  addVector(bits, values, ROW.acceleration);
  if (bits.plain(1) === 1) setVector(bits, values, ROW.inertia, 2);
  if (bits.plain(1) === 1) setVector(bits, values, ROW.decay, 1);
  bits.finish();
  for (let at = ROW.rotation + 1; at < ROW.velocity; at++) {
    if (values[at]! < 0 || values[at]! > units.componentMax) throw outOfRange(bits);
  }
  for (let at = ROW.inertia; at < ROW.decay; at++) {
    if (values[at]! < 1 || values[at]! > INERTIA_MAX) throw outOfRange(bits);
  }
  if (values[ROW.decay]! < 0 || values[ROW.decay]! > DECAY_MAX) throw outOfRange(bits);
  return { tick, ids: Uint32Array.of(id), values };
}

function readId(bits: BitReader): number {
  const width = bits.plain(ID_LENGTH_BITS);
  if (width > 32) throw outOfRange(bits);
  return bits.plain(width);
}

/** Adds a vector of three numbers; sums wrap at 32 bits. */
function addVector(bits: BitReader, values: Int32Array, first: number): void {
  const width = readWidth(bits);
  for (let at = first; at < first + 3; at++) values[at] = values[at]! + readSigned(bits, width);
}

function setVector(bits: BitReader, values: Int32Array, first: number, count: number): void {
  const width = readWidth(bits);
  for (let at = first; at < first + count; at++) values[at] = readSigned(bits, width);
}

function readWidth(bits: BitReader): number {
  const code = bits.plain(WIDTH_BITS);
  return code === WIDE ? 32 : code;
}

function readSigned(bits: BitReader, width: number): number {
  const raw = bits.plain(width);
  return width > 0 && raw >= 2 ** (width - 1) ? raw - 2 ** width : raw;
}

function outOfRange(bits: BitReader): WireError {
  return new WireError("out of range", bits.at, "motion row");
}
