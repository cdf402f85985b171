import { CODING } from "./number-columns.js";

/** Widths that integers of 32 bits are packed to, by index; wider than the last they go as they stand. */
const BITS = [0, 1, 2, 4, 8, 16, 24] as const;
/** What a coding's head takes at most: its byte, and two zigzags of five. */
const HEAD_BYTES = 11;

/**
 * Writes a column of integers of at most 32 bits at `at`, as raw, packed or delta, whichever is smallest; returns where it ends.
 * One look at each value decides. There must be room for the raw column and its head.
 */
export function writeIntegers(
  bytes: Uint8Array,
  at: number,
  values: Float64Array,
  count: number,
  width: number,
): number {
  let before = values[0]!;
  let min = before;
  let max = before;
  let minStep = values[1]! - before;
  let maxStep = minStep;
  for (let i = 1; i < count; i++) {
    const value = values[i]!;
    const step = value - before;
    if (value < min) min = value;
    if (value > max) max = value;
    if (step < minStep) minStep = step;
    if (step > maxStep) maxStep = step;
    before = value;
  }
  const packed = widthIndex(max - min);
  const delta = widthIndex(maxStep - minStep);
  const raw = count * width;
  const packedCost = packed < 0 ? raw : packedLength(count, packed) + HEAD_BYTES / 2;
  const deltaCost = delta < 0 ? raw : packedLength(count - 1, delta) + HEAD_BYTES;
  if (deltaCost < raw && deltaCost < packedCost) {
    bytes[at] = CODING.delta + delta;
    const from = writeZigzag(bytes, writeZigzag(bytes, at + 1, values[0]!), minStep);
    for (let i = count - 1; i > 0; i--) values[i] = values[i]! - values[i - 1]! - minStep;
    return pack(bytes, from, values, 1, count, BITS[delta]!);
  }
  if (packedCost < raw) {
    bytes[at] = CODING.packed + packed;
    const from = writeZigzag(bytes, at + 1, min);
    for (let i = 0; i < count; i++) values[i] = values[i]! - min;
    return pack(bytes, from, values, 0, count, BITS[packed]!);
  }
  bytes[at] = CODING.raw;
  return pack(bytes, at + 1, values, 0, count, width * 8);
}

function widthIndex(span: number): number {
  for (let index = 0; index < BITS.length; index++) if (span < 2 ** BITS[index]!) return index;
  return -1;
}

function packedLength(count: number, index: number): number {
  return Math.ceil((count * BITS[index]!) / 8);
}

/** A zigzag of an integer of at most 33 bits. */
function writeZigzag(bytes: Uint8Array, at: number, value: number): number {
  return writeVarint(bytes, at, value < 0 ? -2 * value - 1 : 2 * value);
}

/** LEB128 of a safe integer; returns where it ends. */
export function writeVarint(bytes: Uint8Array, at: number, value: number): number {
  let rest = value;
  let to = at;
  while (rest >= 0x80) {
    bytes[to++] = (rest % 128) | 0x80;
    rest = Math.floor(rest / 128);
  }
  bytes[to++] = rest;
  return to;
}

/** `packed` of section 5.1 for the values from `first` to `end`; of 32 bits it is the raw column. */
function pack(
  bytes: Uint8Array,
  at: number,
  values: Float64Array,
  first: number,
  end: number,
  bits: number,
): number {
  let to = at;
  if (bits === 0) return to;
  if (bits < 8) {
    let byte = 0;
    let filled = 0;
    for (let i = first; i < end; i++) {
      byte |= values[i]! << filled;
      filled += bits;
      if (filled === 8) {
        bytes[to++] = byte;
        byte = 0;
        filled = 0;
      }
    }
    if (filled > 0) bytes[to++] = byte;
    return to;
  }
  for (let i = first; i < end; i++) {
    const value = values[i]! | 0;
    bytes[to++] = value;
    if (bits > 8) bytes[to++] = value >>> 8;
    if (bits > 16) bytes[to++] = value >>> 16;
    if (bits > 24) bytes[to++] = value >>> 24;
  }
  return to;
}
