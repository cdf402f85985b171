import type { WireInput } from "./input.js";
import type { NumberColumn } from "./numbers.js";
import { rangeMax } from "./wire-schema-bytes.js";

/** Quantisers, in the arithmetic of `spec/WIRE.md`, section 6: doubles, in the order written. */

export const TAU = Math.PI * 2;

/** Bytes of a quantised range. */
export function rangeWidth(low: number, high: number, step: number): number {
  const max = rangeMax(low, high, step);
  return max < 2 ** 8 ? 1 : max < 2 ** 16 ? 2 : max < 2 ** 24 ? 3 : 4;
}

export function quantiseRange(value: number, low: number, high: number, step: number): number {
  if (Number.isNaN(value)) return 0;
  const steps = Math.floor((Math.min(Math.max(value, low), high) - low) / step + 0.5);
  return Math.min(steps, rangeMax(low, high, step));
}

export function quantiseAngle(value: number, bits: number): number {
  if (!Number.isFinite(value)) return 0;
  const size = 2 ** bits;
  const steps = Math.floor((value / TAU) * size + 0.5) % size;
  return steps < 0 ? steps + size : steps;
}

export function dequantiseAngle(steps: number, bits: number): number {
  return (steps * TAU) / 2 ** bits;
}

/** Bytes of a quaternion in a plain block. */
export function quatWidth(bits: number): number {
  return Math.ceil((2 + 3 * bits) / 8);
}

/** The index of the largest component and the other three, in order. */
export function quantiseQuat(value: ArrayLike<number>, bits: number): [number, number, number, number] {
  const length = Math.sqrt(value[0]! ** 2 + value[1]! ** 2 + value[2]! ** 2 + value[3]! ** 2);
  const fine = Number.isFinite(length) && length > 0;
  const unit = fine
    ? [value[0]! / length, value[1]! / length, value[2]! / length, value[3]! / length]
    : [0, 0, 0, 1];
  let index = 0;
  for (let i = 1; i < 4; i++) if (Math.abs(unit[i]!) > Math.abs(unit[index]!)) index = i;
  const sign = unit[index]! < 0 ? -1 : 1;
  const middle = 2 ** (bits - 1) - 1;
  const others = unit
    .filter((_, i) => i !== index)
    .map((component) => {
      const steps = Math.floor(component * sign * Math.SQRT2 * middle + 0.5) + middle;
      return Math.min(Math.max(steps, 0), 2 * middle);
    });
  return [index, others[0]!, others[1]!, others[2]!];
}

/** Returns x, y, z, w from an index and three step numbers, which it checks. */
export function dequantiseQuat(
  input: WireInput,
  [index, ...steps]: readonly [number, number, number, number],
  bits: number,
): number[] {
  const middle = 2 ** (bits - 1) - 1;
  if (index > 3 || steps.some((step) => step > 2 * middle)) {
    input.fail(`component ${index}, steps ${steps.join(", ")} in a quaternion of ${bits} bits`);
  }
  const [a, b, c] = steps.map((step) => (step - middle) / (Math.SQRT2 * middle)) as [number, number, number];
  const largest = Math.sqrt(Math.max(0, 1 - (a * a + b * b + c * c)));
  const quat = [a, b, c];
  quat.splice(index, 0, largest);
  return quat;
}

/** The quaternion of a plain block: one little-endian number of up to seven bytes. */
export function readPlainQuat(input: WireInput, bits: number): number[] {
  const width = quatWidth(bits);
  let packed = 0n;
  const raw = input.raw(width, "a quaternion");
  for (let i = width - 1; i >= 0; i--) packed = packed * 256n + BigInt(raw[i]!);
  const mask = (1n << BigInt(bits)) - 1n;
  const part = (i: number): number => Number((packed >> BigInt(2 + bits * i)) & mask);
  if (packed >> BigInt(2 + bits * 3) !== 0n) input.fail("unused bits that are not zero");
  return dequantiseQuat(input, [Number(packed & 3n), part(0), part(1), part(2)], bits);
}

/** Converts a column of steps to numbers. */
export function dequantiseRange(
  input: WireInput,
  steps: NumberColumn,
  { low, high, step }: { readonly low: number; readonly high: number; readonly step: number },
): Float64Array {
  const max = rangeMax(low, high, step);
  const values = new Float64Array(steps.length);
  for (let i = 0; i < steps.length; i++) {
    const count = steps[i] as number;
    if (count > max) input.fail(`step ${count} of a range of ${max}`);
    values[i] = low + count * step;
  }
  return values;
}
