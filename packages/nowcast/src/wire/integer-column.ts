import { CODING } from "./number-columns.js";

/** Widths that integers of 32 bits are packed to, by index; wider than the last they go as they stand. */
const BITS = [0, 1, 2, 4, 8, 16, 24] as const;
/** What a coding's head takes at most: its byte, and two zigzags of five. */
const HEAD_BYTES = 11;
const TWO_32 = 2 ** 32;

/**
 * Writes `count` integers of at most 32 bits, at least four, that stand from `from` on in `values` as a column at `at`: as raw,
 * packed or delta, whichever is smallest; returns where it ends. One look at each value decides. There must be room for the raw
 * column and its head. Unsigned values from 2^31 on are negative in `values`.
 */
export function writeIntegers(
  bytes: Uint8Array,
  at: number,
  values: Int32Array,
  from: number,
  count: number,
  width: number,
  isUnsigned: boolean,
): number {
  const end = from + count;
  const first = values[from]!;
  const last = values[end - 1]!;
  let minStep = (values[from + 1]! - first) | 0;
  let stepSpan = 0;
  let before = first;
  for (let i = from + 1; i < end; i++) {
    const value = values[i]!;
    // In 32 bits, where steps between numbers far apart wrap: that is looked at below.
    const above = (value - before - minStep) | 0;
    // As unsigned numbers, what is below the least step is beyond the greatest too: one question in place of two.
    if (above >>> 0 > stepSpan >>> 0) {
      if (above >= 0) {
        stepSpan = above;
      } else {
        minStep = (minStep + above) | 0;
        stepSpan -= above;
        if (stepSpan >= 2 ** 31) break;
      }
    }
    before = value;
  }
  const maxStep = minStep + stepSpan;
  let min = first;
  let max = last;
  // Ids mostly rise, and then their ends are the bounds. So few and small steps cannot have gone round.
  const isRising = minStep >= 0 && last >= first && maxStep * count < 2 ** 31;
  if (!isRising) {
    max = min;
    for (let i = from + 1; i < end; i++) {
      const value = values[i]!;
      min = value < min ? value : min;
      max = value > max ? value : max;
    }
  }
  // All of the upper half are only shifted; those of both halves are too far apart to be worth packing.
  const shift = isUnsigned && max < 0 ? TWO_32 : 0;
  const isSplit = (isUnsigned && min < 0 && max >= 0) || max - min >= 2 ** 31;
  const packed = isSplit ? -1 : widthIndex(max - min);
  const delta = isSplit || maxStep >= 2 ** 31 ? -1 : widthIndex(stepSpan);
  const raw = count * width;
  const packedCost = packed < 0 ? raw : packedLength(count, packed) + HEAD_BYTES / 2;
  const deltaCost = delta < 0 ? raw : packedLength(count - 1, delta) + HEAD_BYTES;
  if (deltaCost < raw && deltaCost < packedCost) {
    bytes[at] = CODING.delta + delta;
    const to = writeZigzag(bytes, writeZigzag(bytes, at + 1, first + shift), minStep);
    return pack(bytes, to, values, from + 1, end, BITS[delta]!, true, minStep);
  }
  if (packedCost < raw) {
    bytes[at] = CODING.packed + packed;
    return pack(bytes, writeZigzag(bytes, at + 1, min + shift), values, from, end, BITS[packed]!, false, min);
  }
  bytes[at] = CODING.raw;
  return pack(bytes, at + 1, values, from, end, width * 8, false, 0);
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

/**
 * `packed` of section 5.1 for what the values from `from` to `end`, or the steps that lead to them, are above `base`; of 32 bits
 * it is the raw column.
 */
function pack(
  bytes: Uint8Array,
  at: number,
  values: Int32Array,
  from: number,
  end: number,
  bits: number,
  isDelta: boolean,
  base: number,
): number {
  if (bits === 0) return at;
  // What is taken off every value besides the base: the one before it, or nothing.
  const kept = isDelta ? -1 : 0;
  let before = isDelta ? values[from - 1]! : 0;
  let to = at;
  let i = from;
  if (bits === 2 || bits === 4) {
    for (; i + 4 <= end; i += 4) {
      const a = values[i]!;
      const b = values[i + 1]!;
      const c = values[i + 2]!;
      const d = values[i + 3]!;
      const four =
        (a - before - base) |
        ((b - (a & kept) - base) << bits) |
        ((c - (b & kept) - base) << (2 * bits)) |
        ((d - (c & kept) - base) << (3 * bits));
      before = d & kept;
      bytes[to++] = four;
      if (bits === 4) bytes[to++] = four >>> 8;
    }
  }
  if (bits < 8) {
    while (i < end) {
      let byte = 0;
      for (let bit = 0; bit < 8 && i < end; bit += bits, i++) {
        const value = values[i]!;
        byte |= (value - before - base) << bit;
        before = value & kept;
      }
      bytes[to++] = byte;
    }
    return to;
  }
  for (; i < end; i++) {
    const value = values[i]!;
    const number = (value - before - base) | 0;
    before = value & kept;
    bytes[to++] = number;
    if (bits > 8) bytes[to++] = number >>> 8;
    if (bits > 16) bytes[to++] = number >>> 16;
    if (bits > 24) bytes[to++] = number >>> 24;
  }
  return to;
}

/** What integers of one type may be, and the array that they are read into: those from 2^31 on become negative there. */
export interface IntegerTarget {
  readonly values: Int32Array;
  readonly min: number;
  readonly max: number;
  /** Bytes of a number that is written as it stands. */
  readonly width: number;
}

/** Where the last zigzag ended. */
let zigzagEnd = 0;

/**
 * Reads a raw, packed or delta column of `count` integers of at most 32 bits from `at`, without any memory of its own; returns where
 * it ends. −1 for every other coding, and where something is wrong: the general reader finds out what.
 */
export function readIntegers(
  bytes: Uint8Array,
  at: number,
  end: number,
  target: IntegerTarget,
  count: number,
): number {
  if (at >= end) return -1;
  const coding = bytes[at]!;
  if (coding === CODING.raw) return readRaw(bytes, at + 1, end, target, count);
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

/** Numbers as they stand. */
function readRaw(
  bytes: Uint8Array,
  start: number,
  end: number,
  { values, width, min }: IntegerTarget,
  count: number,
): number {
  if (count * width > end - start) return -1;
  // Of two bytes; a signed number's upper one has the sign.
  const sign = width === 2 && min < 0 ? 16 : 0;
  for (let i = 0, at = start; i < count; i++, at += width) {
    let value = bytes[at]! | (bytes[at + 1]! << 8);
    if (width === 4) value |= (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    values[i] = (value << sign) >> sign;
  }
  return start + count * width;
}

/** Reads what is known to fit, in 32 bits. */
function readSafe(packed: Packed, values: Int32Array): void {
  const { bytes, start, bits, isDelta, base, step, count } = packed;
  let sum = base | 0;
  let i = 0;
  if (isDelta) values[i++] = sum;
  let n = 0;
  if (isDelta && (bits === 2 || bits === 4)) {
    // Ids that rise: four small steps at once.
    const least = step | 0;
    const mask = (1 << bits) - 1;
    for (let at = start; i + 4 <= count; i += 4, n += 4) {
      const four = bits === 2 ? bytes[at++]! : bytes[at++]! | (bytes[at++]! << 8);
      sum = (sum + least + (four & mask)) | 0;
      values[i] = sum;
      sum = (sum + least + ((four >> bits) & mask)) | 0;
      values[i + 1] = sum;
      sum = (sum + least + ((four >> (2 * bits)) & mask)) | 0;
      values[i + 2] = sum;
      sum = (sum + least + (four >> (3 * bits))) | 0;
      values[i + 3] = sum;
    }
  }
  for (; i < count; i++, n++) {
    const value = (sum + step + numberAt(bytes, start, n, bits)) | 0;
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
