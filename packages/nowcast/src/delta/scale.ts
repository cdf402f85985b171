/** Numbers on a scale of half octaves, which models use as contexts (`spec/DELTA.md`, section 3). */

/** 0, 1, 2, 3, 4 (for 4 and 5), 5 (6 and 7), 6 (8 to 11), … up to 31; for an unsigned 32-bit number. */
export function magnitude(size: number): number {
  if (size < 4) return size;
  const octave = 31 - Math.clz32(size);
  const step = 2 * octave + ((size >>> (octave - 1)) & 1);
  return step < 31 ? step : 31;
}

/** `magnitude`, limited to 23. */
export function sizeOf(n: number): number {
  const size = magnitude(n);
  return size < 23 ? size : 23;
}

/** The number of bits of an unsigned 32-bit number; 0 for 0. */
export function bitLength(n: number): number {
  return 32 - Math.clz32(n);
}

/** Steps beyond this are jumps, not motion. */
export const STEP_MAX = 1 << 20;

/** |n| of a signed 32-bit number, limited to the largest step that counts as motion. */
export function limitedStep(n: number): number {
  const size = n < 0 ? -n : n;
  return size < STEP_MAX ? size : STEP_MAX;
}

const RESIDUAL_MAX = 4000;

/** The size of a residual in sixteenths of a step, up to a maximum. */
export function sixteenths(residual: number): number {
  return 16 * Math.min(Math.abs(residual), RESIDUAL_MAX);
}
