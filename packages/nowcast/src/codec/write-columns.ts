import { CODING, EXACT_MAX } from "./number-columns.js";
import { type NumberColumn, type NumberKind, PACKED_BITS, packedBytes, packedWidth } from "./numbers.js";
import type { WireOutput } from "./output.js";

/** Writes the numbers unpacked. */
export function writeRaw(output: WireOutput, kind: NumberKind, values: NumberColumn): void {
  const at = output.reserve(values.length * kind.width);
  for (let i = 0; i < values.length; i++) kind.write(output.view, at + i * kind.width, values[i]!);
}

/**
 * Writes a column of at least four numbers, in the smallest coding among those that one pass over the values can
 * compare: raw, same, packed and delta. Smaller codings exist, but cost more to find.
 */
export function writeNumberColumn(output: WireOutput, kind: NumberKind, values: NumberColumn): void {
  if (isSame(values)) {
    output.u8(CODING.same);
    return writeRaw(output, kind, [values[0]!]);
  }
  const survey = kind.isFloat ? undefined : surveyOf(values);
  if (survey !== undefined) {
    const count = values.length;
    const packed = packedWidthOf(survey.max - survey.min);
    const delta = packedWidthOf(survey.maxStep - survey.minStep);
    const rawCost = count * kind.width;
    const packedCost = packed === undefined ? rawCost : packedBytes(count, packed) + 4;
    const deltaCost = delta === undefined ? rawCost : packedBytes(count - 1, delta) + 6;
    if (deltaCost < rawCost && deltaCost < packedCost) {
      return writeDelta(output, values as ArrayLike<number>, survey.minStep, delta!);
    }
    if (packedCost < rawCost)
      return writePackedColumn(output, values as ArrayLike<number>, survey.min, packed!);
  }
  output.u8(CODING.raw);
  writeRaw(output, kind, values);
}

/** Compares bits: −0 is not 0, and no two NaNs are equal. */
function isSame(values: NumberColumn): boolean {
  const first = values[0]!;
  if (Number.isNaN(first)) return false;
  for (let i = 1; i < values.length; i++) if (!Object.is(values[i], first)) return false;
  return true;
}

interface Survey {
  readonly min: number;
  readonly max: number;
  readonly minStep: number;
  readonly maxStep: number;
}

/** Returns `undefined` if doubles cannot compute with the values exactly. */
function surveyOf(values: NumberColumn): Survey | undefined {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  let minStep = Number.POSITIVE_INFINITY;
  let maxStep = Number.NEGATIVE_INFINITY;
  let before = Number.NaN;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (typeof value === "bigint" || Math.abs(value) > EXACT_MAX / 2) return undefined;
    if (value < min) min = value;
    if (value > max) max = value;
    if (i > 0) {
      const step = value - before;
      if (step < minStep) minStep = step;
      if (step > maxStep) maxStep = step;
    }
    before = value;
  }
  return { min, max, minStep, maxStep };
}

function packedWidthOf(span: number): number | undefined {
  return span < 2 ** 48 ? packedWidth(span) : undefined;
}

function writePackedColumn(output: WireOutput, values: ArrayLike<number>, base: number, width: number): void {
  output.u8(CODING.packed + width);
  output.zigzag(base);
  writePacked(output, values.length, width, (i) => values[i]! - base);
}

function writeDelta(output: WireOutput, values: ArrayLike<number>, step: number, width: number): void {
  output.u8(CODING.delta + width);
  output.zigzag(values[0]!);
  output.zigzag(step);
  writePacked(output, values.length - 1, width, (i) => values[i + 1]! - values[i]! - step);
}

/** `packed(n, w)` of `spec/WIRE.md`, section 5.1. */
export function writePacked(
  output: WireOutput,
  count: number,
  width: number,
  valueAt: (i: number) => number,
): void {
  const bits = PACKED_BITS[width]!;
  const at = output.reserveZeros(packedBytes(count, width));
  const { bytes, view } = output;
  if (bits === 0) return;
  for (let i = 0; i < count; i++) {
    const value = valueAt(i);
    if (bits < 8) {
      const bit = i * bits;
      bytes[at + (bit >> 3)]! |= value << (bit & 7);
    } else {
      const from = at + i * (bits / 8);
      bytes[from] = value;
      if (bits === 16) view.setUint16(from, value, true);
      else if (bits === 24) {
        view.setUint16(from, value & 0xffff, true);
        bytes[from + 2] = value >>> 16;
      } else if (bits === 32) view.setUint32(from, value, true);
      else if (bits === 48) {
        view.setUint32(from, value % 2 ** 32, true);
        view.setUint16(from + 4, Math.floor(value / 2 ** 32), true);
      }
    }
  }
}
