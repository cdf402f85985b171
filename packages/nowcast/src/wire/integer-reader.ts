import { CODING } from "./number-columns.js";

/** Widths of packed integers of 32 bits, by index. */
const BITS = [0, 1, 2, 4, 8, 16, 24] as const;

/** What integers of one type may be. */
export interface IntegerBounds {
  readonly min: number;
  readonly max: number;
  /** Bytes of a number that is written as it stands. */
  readonly width: number;
}

/**
 * Reads a raw, packed or delta column of `count` integers of at most 32 bits that begins at `at`, from `to` on into the reader's
 * words, where those from 2^31 on become negative; returns where it ends. −1 for every other coding, and where something is
 * wrong: the general reader finds out what.
 */
export type IntegerReader = (
  view: DataView,
  at: number,
  end: number,
  bounds: IntegerBounds,
  to: number,
  count: number,
) => number;

/** A packed or delta column whose bytes are all there. */
interface Packed {
  readonly view: DataView;
  readonly start: number;
  readonly bits: number;
  readonly isDelta: boolean;
  readonly base: number;
  readonly step: number;
  readonly count: number;
}

/** A reader of columns into one array, which engines compile to better loops than one into any array: see `Memory`. */
export function integerReader(target: Int32Array): IntegerReader {
  const words = target;

  return (view, at, end, bounds, to, count) => {
    if (at >= end) return -1;
    const coding = view.getUint8(at);
    if (coding === CODING.raw) return readRaw(view, at + 1, end, bounds, to, count);
    const isDelta = coding >= CODING.delta;
    const bits = BITS[coding - (isDelta ? CODING.delta : CODING.packed)];
    if (bits === undefined) return -1;
    const base = readZigzag(view, at + 1, end);
    const step = isDelta ? readZigzag(view, zigzagEnd, end) : 0;
    const start = zigzagEnd;
    const numbers = isDelta ? count - 1 : count;
    const length = Math.ceil((numbers * bits) / 8);
    // Neither is a number where a zigzag is too long.
    if (!(Math.abs(base) + Math.abs(step) < 2 ** 40) || length > end - start) return -1;
    const used = (numbers * bits) & 7;
    if (used !== 0 && view.getUint8(start + length - 1) >> used !== 0) return -1;
    const packed = { view, start, bits, isDelta, base, step, count };
    // No number can be beyond this, and where that is within bounds none needs to be looked at.
    const greatest = base + (isDelta ? numbers : 1) * (step + 2 ** bits - 1);
    if (step >= 0 && base >= bounds.min && greatest <= Math.min(bounds.max, 2 ** 31 - 1)) {
      if (isDelta && bits === 4) readRising(packed, to);
      else readSafe(packed, to);
      return start + length;
    }
    return readWithin(packed, bounds, to) ? start + length : -1;
  };

  /** Numbers as they stand. */
  function readRaw(
    view: DataView,
    start: number,
    end: number,
    { width, min }: IntegerBounds,
    to: number,
    count: number,
  ): number {
    if (count * width > end - start) return -1;
    if (width === 4) for (let i = 0; i < count; i++) words[to + i] = view.getInt32(start + i * 4, true);
    else if (min < 0) for (let i = 0; i < count; i++) words[to + i] = view.getInt16(start + i * 2, true);
    else for (let i = 0; i < count; i++) words[to + i] = view.getUint16(start + i * 2, true);
    return start + count * width;
  }

  /** Ids that rise with gaps, which are known to fit: eight steps of four bits at once. */
  function readRising(packed: Packed, to: number): void {
    const { view, start, count } = packed;
    const step = packed.step | 0;
    let sum = packed.base | 0;
    words[to] = sum;
    let i = 1;
    for (let at = start; i + 8 <= count; i += 8, at += 4) {
      const steps = view.getInt32(at, true);
      const place = to + i;
      sum = (sum + step + (steps & 15)) | 0;
      words[place] = sum;
      sum = (sum + step + ((steps >> 4) & 15)) | 0;
      words[place + 1] = sum;
      sum = (sum + step + ((steps >> 8) & 15)) | 0;
      words[place + 2] = sum;
      sum = (sum + step + ((steps >> 12) & 15)) | 0;
      words[place + 3] = sum;
      sum = (sum + step + ((steps >> 16) & 15)) | 0;
      words[place + 4] = sum;
      sum = (sum + step + ((steps >> 20) & 15)) | 0;
      words[place + 5] = sum;
      sum = (sum + step + ((steps >> 24) & 15)) | 0;
      words[place + 6] = sum;
      sum = (sum + step + (steps >>> 28)) | 0;
      words[place + 7] = sum;
    }
    for (; i < count; i++) {
      sum = (sum + step + numberAt(view, start, i - 1, 4)) | 0;
      words[to + i] = sum;
    }
  }

  /** Reads what is known to fit, in 32 bits. */
  function readSafe({ view, start, bits, isDelta, base, step, count }: Packed, to: number): void {
    let sum = base | 0;
    let i = 0;
    if (isDelta) words[to + i++] = sum;
    for (let n = 0; i < count; i++, n++) {
      const value = (sum + step + numberAt(view, start, n, bits)) | 0;
      if (isDelta) sum = value;
      words[to + i] = value;
    }
  }

  /** Reads what may not fit; false when it does not. */
  function readWithin(
    { view, start, bits, isDelta, base, step, count }: Packed,
    { min, max }: IntegerBounds,
    to: number,
  ): boolean {
    let sum = base;
    if (base < min || base > max) return false;
    for (let i = 0; i < count; i++) {
      if (!isDelta) sum = base + numberAt(view, start, i, bits);
      else if (i > 0) sum += step + numberAt(view, start, i - 1, bits);
      if (sum < min || sum > max) return false;
      words[to + i] = sum;
    }
    return true;
  }
}

/** A number of a packed column that begins at `start`. */
function numberAt(view: DataView, start: number, index: number, bits: number): number {
  if (bits === 0) return 0;
  if (bits < 8) {
    const bit = index * bits;
    return (view.getUint8(start + (bit >> 3)) >> (bit & 7)) & ((1 << bits) - 1);
  }
  if (bits === 8) return view.getUint8(start + index);
  if (bits === 16) return view.getUint16(start + index * 2, true);
  const at = start + index * 3;
  return view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
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
