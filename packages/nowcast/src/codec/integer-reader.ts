import { CODING } from "./number-columns.js";

/** Widths of packed 32-bit integers, by index. */
const BITS = [0, 1, 2, 4, 8, 16, 24] as const;

/** The range of an integer type. */
export interface IntegerBounds {
  readonly min: number;
  readonly max: number;
  /** How many bytes an unpacked number takes. */
  readonly width: number;
}

/**
 * The position of a column's integers, and the relation of each integer to the previous one; see
 * `nextInteger`. Raw, packed and delta columns all have this form, so one loop reads all of them.
 */
export interface IntegerColumn {
  /** The end of the column. */
  readonly end: number;
  /**
   * The bit at which the first number begins; the memory has less than 2^31 bits. Then the distance between two
   * numbers, in bits.
   */
  readonly bit: number;
  readonly bits: number;
  readonly mask: number;
  /** The number added to every value. */
  readonly step: number;
  /** A mask: all bits are set if the previous integer is added, otherwise none. */
  readonly kept: number;
  /** The integer assumed before the first. */
  readonly before: number;
}

/**
 * Reads integer i of a column, given the previous one. Values of u32 from 2^31 on are returned as
 * negative numbers, and values of i16 are not sign-extended.
 */
export function nextInteger(view: DataView, column: IntegerColumn, before: number, i: number): number {
  const bit = column.bit + i * column.bits;
  const number = (view.getInt32(bit >> 3, true) >> (bit & 7)) & column.mask;
  return ((before & column.kept) + column.step + number) | 0;
}

/** `count` adjacent integers, from a given byte on. */
export function rawIntegers(at: number, count: number, width: number): IntegerColumn {
  const mask = width === 4 ? -1 : 0xffff;
  return { end: at + count * width, bit: at * 8, bits: width * 8, mask, step: 0, kept: 0, before: 0 };
}

/**
 * Opens a raw, packed or delta column with `count` integers of at most 32 bits. Returns `undefined` for every other
 * coding, for columns with a fault or without a known bound, and for columns so near the end of the memory that four
 * bytes cannot be read at every position. The general reader handles these columns.
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
  // If these bounds are within the range of the type, single numbers need no check. A zigzag that
  // is too long is invalid.
  const times = isDelta ? numbers : 1;
  const least = base + times * Math.min(0, step);
  const greatest = base + times * Math.max(0, step + 2 ** bits - 1);
  if (!(base <= max && least >= min && greatest <= max)) return undefined;
  const mask = 2 ** bits - 1;
  if (!isDelta) {
    return { end: start + length, bit: start * 8, bits, mask, step: base | 0, kept: 0, before: 0 };
  }
  // The first integer has no packed number. The loop reads the bits before the column for it, so
  // these bits are subtracted here.
  const bit = start * 8 - bits;
  const first = (view.getInt32(bit >> 3, true) >> (bit & 7)) & mask;
  const before = (base - step - first) | 0;
  return { end: start + length, bit, bits, mask, step: step | 0, kept: -1, before };
}

/** The end of the last zigzag. */
let zigzagEnd = 0;

/** Reads a zigzag of up to 42 bits; NaN if it is invalid. */
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
