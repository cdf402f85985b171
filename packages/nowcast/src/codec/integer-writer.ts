import type { Memory } from "./memory.js";
import { CODING } from "./number-columns.js";

/** Widths in bits of packed 32-bit integers, by index. Wider integers are written unpacked. */
const BITS = [0, 1, 2, 4, 8, 16, 24] as const;
/** Maximum size of a coding's header: its byte, and two zigzags of five. */
const HEAD_BYTES = 11;
const TWO_32 = 2 ** 32;

/**
 * Writes a column of `count` integers (at least four) of at most 32 bits. The integers are in the
 * memory's words from `from` on, and the column is written at `at`. Its coding is raw, packed or
 * delta, whichever is smallest; one pass over the values decides. Returns the end of the column.
 * There must be room for the raw column and its head, and the head must end before the integers
 * begin. Unsigned values from 2^31 on are negative words.
 */
export type IntegerWriter = (
  at: number,
  from: number,
  count: number,
  width: number,
  isUnsigned: boolean,
) => number;

/** Writes columns within one piece of memory. */
export function integerWriter(memory: Memory): IntegerWriter {
  const { bytes, words } = memory;

  return (at, from, count, width, isUnsigned) => {
    const end = from + count;
    const first = words[from]!;
    const last = words[end - 1]!;
    let minStep = (words[from + 1]! - first) | 0;
    let stepSpan = 0;
    let before = first;
    for (let i = from + 1; i < end; i++) {
      const value = words[i]!;
      // Steps are computed in 32 bits, in which steps between distant numbers wrap. The code below
      // detects this.
      const above = (value - before - minStep) | 0;
      // Values below the least step wrap to large unsigned numbers, which exceed the span. So one
      // comparison covers both bounds.
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
    // Ids mostly rise. If they do, the first and the last id are the bounds, because the sum of these few small steps
    // cannot have wrapped.
    const isRising = minStep >= 0 && last >= first && maxStep * count < 2 ** 31;
    if (!isRising) {
      max = min;
      for (let i = from + 1; i < end; i++) {
        const value = words[i]!;
        min = value < min ? value : min;
        max = value > max ? value : max;
      }
    }
    // If all values are in the upper half of the range, they are shifted. Values in both halves are
    // too far apart to pack.
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
      if (BITS[delta] === 4) return packRising(to, from + 1, end, minStep);
      return pack(to, from + 1, end, BITS[delta]!, true, minStep);
    }
    if (packedCost < raw) {
      bytes[at] = CODING.packed + packed;
      return pack(writeZigzag(bytes, at + 1, min + shift), from, end, BITS[packed]!, false, min);
    }
    bytes[at] = CODING.raw;
    return pack(at + 1, from, end, width * 8, false, 0);
  };

  /**
   * Like `pack` with 4 bits for the steps, relative to the least step. This is the usual width for rising ids with
   * gaps.
   */
  function packRising(at: number, from: number, end: number, minStep: number): number {
    let before = words[from - 1]!;
    let to = at;
    let i = from;
    for (; i + 4 <= end; i += 4) {
      const a = words[i]!;
      const b = words[i + 1]!;
      const c = words[i + 2]!;
      const d = words[i + 3]!;
      bytes[to] = (a - before - minStep) | ((b - a - minStep) << 4);
      bytes[to + 1] = (c - b - minStep) | ((d - c - minStep) << 4);
      before = d;
      to += 2;
    }
    return pack(to, i, end, 4, true, minStep);
  }

  /**
   * Writes `packed` of section 5.1 for the words from `from` to `end`, or for the steps between them, relative to
   * `base`. With 32 bits it is the raw column.
   */
  function pack(at: number, from: number, end: number, bits: number, isDelta: boolean, base: number): number {
    if (bits === 0) return at;
    // The number that is subtracted from every value besides the base: the preceding value, or 0.
    const kept = isDelta ? -1 : 0;
    let before = isDelta ? words[from - 1]! : 0;
    let to = at;
    let i = from;
    if (bits === 2 || bits === 4) {
      for (; i + 4 <= end; i += 4) {
        const a = words[i]!;
        const b = words[i + 1]!;
        const c = words[i + 2]!;
        const d = words[i + 3]!;
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
          const value = words[i]!;
          byte |= (value - before - base) << bit;
          before = value & kept;
        }
        bytes[to++] = byte;
      }
      return to;
    }
    for (; i < end; i++) {
      const value = words[i]!;
      const number = (value - before - base) | 0;
      before = value & kept;
      bytes[to++] = number;
      if (bits > 8) bytes[to++] = number >>> 8;
      if (bits > 16) bytes[to++] = number >>> 16;
      if (bits > 24) bytes[to++] = number >>> 24;
    }
    return to;
  }
}

/**
 * The index of the width that holds a number of at most 32 bits, or −1 if packing would save too
 * little.
 */
function widthIndex(span: number): number {
  if (span >= 2 ** 24) return -1;
  const bits = 32 - Math.clz32(span);
  return bits <= 2 ? bits : bits <= 4 ? 3 : bits <= 8 ? 4 : bits <= 16 ? 5 : 6;
}

function packedLength(count: number, index: number): number {
  return Math.ceil((count * BITS[index]!) / 8);
}

/** The zigzag of an integer with at most 33 bits. */
function writeZigzag(bytes: Uint8Array, at: number, value: number): number {
  return writeVarint(bytes, at, value < 0 ? -2 * value - 1 : 2 * value);
}

/** Writes LEB128 of a safe integer. Returns the offset of its end. */
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
