import { CODING } from "./number-columns.js";

/** Widths that integers of 32 bits are packed to, by index; wider than the last they go as they stand. */
const BITS = [0, 1, 2, 4, 8, 16, 24] as const;
/** What a coding's head takes at most: its byte, and two zigzags of five. */
const HEAD_BYTES = 11;
const TWO_32 = 2 ** 32;

/** Differences between neighbours, while their column is written. */
let steps = new Int32Array(256);

/**
 * Writes a column of integers of at most 32 bits at `at`, as raw, packed or delta, whichever is smallest; returns where it ends.
 * One look at each value decides. There must be room for the raw column and its head. Unsigned values from 2^31 on are
 * negative in `values`.
 */
export function writeIntegers(
  bytes: Uint8Array,
  at: number,
  values: Int32Array,
  count: number,
  width: number,
  isUnsigned: boolean,
): number {
  if (steps.length < count) steps = new Int32Array(count * 2);
  const first = values[0]!;
  let last = first;
  let minStep = (values[1]! - first) | 0;
  let maxStep = minStep;
  for (let i = 1; i < count; i++) {
    const value = values[i]!;
    // In 32 bits, where steps between numbers far apart wrap: that is looked at below.
    const step = (value - last) | 0;
    steps[i] = step;
    minStep = step < minStep ? step : minStep;
    maxStep = step > maxStep ? step : maxStep;
    last = value;
  }
  let min = first;
  let max = last;
  // Ids mostly rise, and then their ends are the bounds. So few and small steps cannot have gone round.
  const isRising = minStep >= 0 && last >= first && maxStep * count < 2 ** 31;
  if (!isRising) {
    max = min;
    for (let i = 1; i < count; i++) {
      const value = values[i]!;
      min = value < min ? value : min;
      max = value > max ? value : max;
    }
  }
  // All of the upper half are only shifted; those of both halves are too far apart to be worth packing.
  const shift = isUnsigned && max < 0 ? TWO_32 : 0;
  const isSplit = (isUnsigned && min < 0 && max >= 0) || max - min >= 2 ** 31;
  const packed = isSplit ? -1 : widthIndex(max - min);
  const delta = isSplit ? -1 : widthIndex(maxStep - minStep);
  const raw = count * width;
  const packedCost = packed < 0 ? raw : packedLength(count, packed) + HEAD_BYTES / 2;
  const deltaCost = delta < 0 ? raw : packedLength(count - 1, delta) + HEAD_BYTES;
  if (deltaCost < raw && deltaCost < packedCost) {
    bytes[at] = CODING.delta + delta;
    const from = writeZigzag(bytes, writeZigzag(bytes, at + 1, first + shift), minStep);
    return pack(bytes, from, steps, 1, count, BITS[delta]!, minStep);
  }
  if (packedCost < raw) {
    bytes[at] = CODING.packed + packed;
    return pack(bytes, writeZigzag(bytes, at + 1, min + shift), values, 0, count, BITS[packed]!, min);
  }
  bytes[at] = CODING.raw;
  return pack(bytes, at + 1, values, 0, count, width * 8, 0);
}

/** The index of the width that holds a number of at most 32 bits; −1 where that saves too little. */
function widthIndex(span: number): number {
  if (span >= 2 ** 24) return -1;
  const bits = 32 - Math.clz32(span);
  return bits <= 2 ? bits : bits <= 4 ? 3 : bits <= 8 ? 4 : bits <= 16 ? 5 : 6;
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

/** `packed` of section 5.1 for what the values from `first` to `end` are above `base`; of 32 bits it is the raw column. */
function pack(
  bytes: Uint8Array,
  at: number,
  values: Int32Array,
  first: number,
  end: number,
  bits: number,
  base: number,
): number {
  let to = at;
  if (bits === 0) return to;
  let i = first;
  if (bits === 4) {
    for (; i + 2 <= end; i += 2) bytes[to++] = (values[i]! - base) | ((values[i + 1]! - base) << 4);
  }
  if (bits < 8) {
    for (; i < end; i += 8 / bits) {
      let byte = 0;
      for (let n = 0, bit = 0; bit < 8 && i + n < end; n++, bit += bits) {
        byte |= (values[i + n]! - base) << bit;
      }
      bytes[to++] = byte;
    }
    return to;
  }
  for (; i < end; i++) {
    const value = values[i]! - base;
    bytes[to++] = value;
    if (bits > 8) bytes[to++] = value >>> 8;
    if (bits > 16) bytes[to++] = value >>> 16;
    if (bits > 24) bytes[to++] = value >>> 24;
  }
  return to;
}

/** What integers of one type may be, and the array that they are read into. */
export interface IntegerTarget {
  readonly values: { [index: number]: number };
  readonly min: number;
  readonly max: number;
}

/** Where the last zigzag ended. */
let zigzagEnd = 0;

/**
 * Reads a packed or delta column of `count` integers of at most 32 bits from `at`, without any memory of its own; returns where it
 * ends. −1 for every other coding, and where something is wrong: the general reader finds out what.
 */
export function readIntegers(
  bytes: Uint8Array,
  at: number,
  end: number,
  target: IntegerTarget,
  count: number,
): number {
  const coding = at < end ? bytes[at]! : 0;
  const isDelta = coding >= CODING.delta;
  const bits = BITS[coding - (isDelta ? CODING.delta : CODING.packed)];
  if (bits === undefined) return -1;
  const base = readZigzag(bytes, at + 1, end);
  const step = isDelta ? readZigzag(bytes, zigzagEnd, end) : 0;
  const start = zigzagEnd;
  const numbers = isDelta ? count - 1 : count;
  const length = Math.ceil((numbers * bits) / 8);
  // Neither is a number where a zigzag is too long.
  if (!(Math.abs(base) + Math.abs(step) < 2 ** 40) || length > end - start) return -1;
  const used = (numbers * bits) & 7;
  if (used !== 0 && bytes[start + length - 1]! >> used !== 0) return -1;
  const packed = { bytes, start, bits, isDelta, base, step, count };
  // No number can be beyond this, and where that is within bounds none needs to be looked at.
  const greatest = base + (isDelta ? numbers : 1) * (step + 2 ** bits - 1);
  if (step >= 0 && base >= target.min && greatest <= Math.min(target.max, 2 ** 31 - 1)) {
    readSafe(packed, target.values);
    return start + length;
  }
  return readWithin(packed, target) ? start + length : -1;
}

/** A packed or delta column whose bytes are all there. */
interface Packed {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly bits: number;
  readonly isDelta: boolean;
  readonly base: number;
  readonly step: number;
  readonly count: number;
}

/** Reads what is known to fit, in 32 bits. */
function readSafe(
  { bytes, start, bits, isDelta, base, step, count }: Packed,
  values: IntegerTarget["values"],
): void {
  let sum = base | 0;
  const least = step | 0;
  const mask = (1 << bits) - 1;
  let i = 0;
  if (isDelta) values[i++] = sum;
  if (bits === 0 || bits >= 8) {
    for (let n = 0; i < count; i++, n++) {
      const value = (sum + least + numberAt(bytes, start, n, bits)) | 0;
      if (isDelta) sum = value;
      values[i] = value;
    }
    return;
  }
  for (let bit = 0; i < count; i++, bit += bits) {
    const value = (sum + least + ((bytes[start + (bit >> 3)]! >> (bit & 7)) & mask)) | 0;
    if (isDelta) sum = value;
    values[i] = value;
  }
}

/** Reads what may not fit; false when it does not. */
function readWithin(
  { bytes, start, bits, isDelta, base, step, count }: Packed,
  { values, min, max }: IntegerTarget,
): boolean {
  let sum = base;
  if (base < min || base > max) return false;
  for (let i = 0; i < count; i++) {
    if (!isDelta) sum = base + numberAt(bytes, start, i, bits);
    else if (i > 0) sum += step + numberAt(bytes, start, i - 1, bits);
    if (sum < min || sum > max) return false;
    values[i] = sum;
  }
  return true;
}

/** A number of a packed column that begins at `start`. */
function numberAt(bytes: Uint8Array, start: number, index: number, bits: number): number {
  if (bits === 0) return 0;
  if (bits < 8) {
    const bit = index * bits;
    return (bytes[start + (bit >> 3)]! >> (bit & 7)) & ((1 << bits) - 1);
  }
  const at = start + index * (bits >> 3);
  if (bits === 8) return bytes[at]!;
  if (bits === 16) return bytes[at]! | (bytes[at + 1]! << 8);
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16);
}

/** A zigzag of up to 42 bits; NaN for anything else. */
function readZigzag(bytes: Uint8Array, at: number, end: number): number {
  let value = 0;
  let scale = 1;
  for (let i = at; i < end && i < at + 6; i++) {
    const byte = bytes[i]!;
    value += (byte & 0x7f) * scale;
    scale *= 128;
    if (byte >= 0x80) continue;
    if (byte === 0 && i > at) return Number.NaN;
    zigzagEnd = i + 1;
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
  return Number.NaN;
}
