import { CODING } from "./number-columns.js";

/** Widths of packed integers of 32 bits, by index. */
const BITS = [0, 1, 2, 4, 8, 16, 24] as const;

/** The range of integers of one type. */
export interface IntegerBounds {
  readonly min: number;
  readonly max: number;
  /** Bytes of a number that is written as it stands. */
  readonly width: number;
}

/**
 * Where the integers of a column are and how one follows from the one before: `nextInteger` says how. Raw, packed and delta
 * columns are all of this form, so that one loop reads whichever it gets.
 */
export interface IntegerColumn {
  /** Where the column ends. */
  readonly end: number;
  /** The bit of the memory, which has less than 2^31 of them, at which the first number begins, and from one to the next. */
  readonly bit: number;
  readonly bits: number;
  readonly mask: number;
  /** The number added to every value. */
  readonly step: number;
  /** All bits where the integer before is added too, else none. */
  readonly kept: number;
  /** The integer assumed before the first. */
  readonly before: number;
}

/** Integer i of a column, after the one before it. Those of u32 from 2^31 on are negative; those of i16 lack their sign. */
export function nextInteger(view: DataView, column: IntegerColumn, before: number, i: number): number {
  const bit = column.bit + i * column.bits;
  const number = (view.getInt32(bit >> 3, true) >> (bit & 7)) & column.mask;
  return ((before & column.kept) + column.step + number) | 0;
}

/** `count` integers that stand side by side from a byte on. */
export function rawIntegers(at: number, count: number, width: number): IntegerColumn {
  const mask = width === 4 ? -1 : 0xffff;
  return { end: at + count * width, bit: at * 8, bits: width * 8, mask, step: 0, kept: 0, before: 0 };
}

/**
 * Opens a raw, packed or delta column of `count` integers of at most 32 bits. None for every other coding, where something is
 * wrong or not known to fit, and so near the end of the memory that four bytes cannot be read everywhere: that is left to the
 * general reader.
 */
export function openIntegers(
  view: DataView,
  at: number,
  end: number,
  { min, max, width }: IntegerBounds,
  count: number,
): IntegerColumn | undefined {
  if (at >= end) return undefined;
  const coding = view.getUint8(at);
  if (coding === CODING.raw) {
    const column = rawIntegers(at + 1, count, width);
    return column.end > end || column.end + 4 - width > view.byteLength ? undefined : column;
  }
  const isDelta = coding >= CODING.delta;
  const bits = BITS[coding - (isDelta ? CODING.delta : CODING.packed)];
  if (bits === undefined) return undefined;
  const base = readZigzag(view, at + 1, end);
  const step = isDelta ? readZigzag(view, zigzagEnd, end) : 0;
  const start = zigzagEnd;
  const numbers = isDelta ? count - 1 : count;
  const length = Math.ceil((numbers * bits) / 8);
  if (length > end - start || start + length + 4 > view.byteLength) return undefined;
  const used = (numbers * bits) & 7;
  if (used !== 0 && view.getUint8(start + length - 1) >> used !== 0) return undefined;
  // No number can be beyond these, and where they are within bounds none needs to be looked at. Too long a zigzag is no number.
  const times = isDelta ? numbers : 1;
  const least = base + times * Math.min(0, step);
  const greatest = base + times * Math.max(0, step + 2 ** bits - 1);
  if (!(base <= max && least >= min && greatest <= max)) return undefined;
  const mask = 2 ** bits - 1;
  if (!isDelta) {
    return { end: start + length, bit: start * 8, bits, mask, step: base | 0, kept: 0, before: 0 };
  }
  // The first integer has no number of its own: it takes the bits in front, and what they are is taken off before.
  const bit = start * 8 - bits;
  const first = (view.getInt32(bit >> 3, true) >> (bit & 7)) & mask;
  const before = (base - step - first) | 0;
  return { end: start + length, bit, bits, mask, step: step | 0, kept: -1, before };
}

/** Where the last zigzag ended. */
let zigzagEnd = 0;

/** A zigzag of up to 42 bits; NaN for anything else. */
function readZigzag(view: DataView, at: number, end: number): number {
  let value = 0;
  let scale = 1;
  for (let i = at; i < end && i < at + 6; i++) {
    const byte = view.getUint8(i);
    value += (byte & 0x7f) * scale;
    scale *= 128;
    if (byte >= 0x80) continue;
    if (byte === 0 && i > at) return Number.NaN;
    zigzagEnd = i + 1;
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
  return Number.NaN;
}
