import { CODING } from "./number-columns.js";

/** Widths that integers of 32 bits are packed to, by index; wider than the last they go as they stand. */
const BITS = [0, 1, 2, 4, 8, 16, 24] as const;
/** What a coding's head takes at most: its byte, and two zigzags of five. */
const HEAD_BYTES = 11;
const TWO_32 = 2 ** 32;

/**
 * Writes a column of integers of at most 32 bits at `at`, as raw, packed or delta, whichever is smallest; returns where it ends.
 * One look at each value decides. There must be room for the raw column and its head. `values` is worked in; unsigned
 * values from 2^31 on are negative in it.
 */
export function writeIntegers(
  bytes: Uint8Array,
  at: number,
  values: Int32Array,
  count: number,
  width: number,
  isUnsigned: boolean,
): number {
  let last = values[0]!;
  let minStep = values[1]! - last;
  let maxStep = minStep;
  for (let i = 1; i < count; i++) {
    const value = values[i]!;
    const step = value - last;
    if (step < minStep) minStep = step;
    if (step > maxStep) maxStep = step;
    last = value;
  }
  let min = values[0]!;
  let max = last;
  // Ids mostly rise, and then their ends are the bounds.
  if (minStep < 0) {
    max = min;
    for (let i = 1; i < count; i++) {
      const value = values[i]!;
      if (value < min) min = value;
      if (value > max) max = value;
    }
  }
  // All of the upper half are only shifted; those of both halves are too far apart to be worth packing.
  const shift = isUnsigned && max < 0 ? TWO_32 : 0;
  const isSplit = isUnsigned && min < 0 && max >= 0;
  const packed = isSplit ? -1 : widthIndex(max - min);
  const delta = isSplit ? -1 : widthIndex(maxStep - minStep);
  const raw = count * width;
  const packedCost = packed < 0 ? raw : packedLength(count, packed) + HEAD_BYTES / 2;
  const deltaCost = delta < 0 ? raw : packedLength(count - 1, delta) + HEAD_BYTES;
  if (deltaCost < raw && deltaCost < packedCost) {
    bytes[at] = CODING.delta + delta;
    const from = writeZigzag(bytes, writeZigzag(bytes, at + 1, values[0]! + shift), minStep);
    for (let i = 1, before = values[0]!; i < count; i++) {
      const value = values[i]!;
      values[i] = value - before - minStep;
      before = value;
    }
    return pack(bytes, from, values, 1, count, BITS[delta]!);
  }
  if (packedCost < raw) {
    bytes[at] = CODING.packed + packed;
    const from = writeZigzag(bytes, at + 1, min + shift);
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
  values: Int32Array,
  first: number,
  end: number,
  bits: number,
): number {
  let to = at;
  if (bits === 0) return to;
  if (bits < 8) {
    const perByte = 8 / bits;
    let i = first;
    for (; i + perByte <= end; i += perByte) {
      let byte = 0;
      for (let n = 0; n < perByte; n++) byte |= values[i + n]! << (n * bits);
      bytes[to++] = byte;
    }
    if (i < end) {
      let byte = 0;
      for (let n = 0; i + n < end; n++) byte |= values[i + n]! << (n * bits);
      bytes[to++] = byte;
    }
    return to;
  }
  for (let i = first; i < end; i++) {
    const value = values[i]!;
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

/** Columns of more rows than this are left to the general reader. */
export const INTEGERS_MAX = 16 * 1024;

/** Packed numbers on their way; no column is read while another one is. */
let unpacked = new Int32Array(256);
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
  { values, min, max }: IntegerTarget,
  count: number,
): number {
  const coding = at < end ? bytes[at]! : 0;
  const isDelta = coding >= CODING.delta;
  const bits = BITS[coding - (isDelta ? CODING.delta : CODING.packed)];
  if (bits === undefined || count > INTEGERS_MAX) return -1;
  let value = readZigzag(bytes, at + 1, end);
  const step = isDelta ? readZigzag(bytes, zigzagEnd, end) : 0;
  const start = zigzagEnd;
  const numbers = isDelta ? count - 1 : count;
  const length = Math.ceil((numbers * bits) / 8);
  // Neither is a number where a zigzag is too long.
  if (!(Math.abs(value) + Math.abs(step) < 2 ** 40) || length > end - start) return -1;
  const used = (numbers * bits) & 7;
  if (used !== 0 && bytes[start + length - 1]! >> used !== 0) return -1;
  unpack(bytes, start, numbers, bits);
  if (isDelta) {
    if (value < min || value > max) return -1;
    values[0] = value;
    for (let i = 1; i < count; i++) {
      value += step + unpacked[i - 1]!;
      if (value < min || value > max) return -1;
      values[i] = value;
    }
  } else {
    if (value < min) return -1;
    for (let i = 0; i < count; i++) {
      const sum = value + unpacked[i]!;
      if (sum > max) return -1;
      values[i] = sum;
    }
  }
  return start + length;
}

function unpack(bytes: Uint8Array, at: number, count: number, bits: number): void {
  if (unpacked.length < count) unpacked = new Int32Array(count * 2);
  const to = unpacked;
  if (bits === 0) {
    for (let i = 0; i < count; i++) to[i] = 0;
  } else if (bits < 8) {
    const mask = (1 << bits) - 1;
    for (let i = 0, bit = 0; i < count; i++, bit += bits)
      to[i] = (bytes[at + (bit >> 3)]! >> (bit & 7)) & mask;
  } else if (bits === 8) {
    for (let i = 0; i < count; i++) to[i] = bytes[at + i]!;
  } else if (bits === 16) {
    for (let i = 0, from = at; i < count; i++, from += 2) to[i] = bytes[from]! | (bytes[from + 1]! << 8);
  } else {
    for (let i = 0, from = at; i < count; i++, from += 3) {
      to[i] = bytes[from]! | (bytes[from + 1]! << 8) | (bytes[from + 2]! << 16);
    }
  }
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
