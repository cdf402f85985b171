/**
 * Orientations as the smallest three components of a unit quaternion.
 *
 * Everything here is done with operations that IEEE 754 defines exactly, in the order that `spec/DELTA.md` fixes, so
 * all machines round alike.
 */

export type Quaternion = [x: number, y: number, z: number, w: number];

/** Which components are stored, for each one that is left out. */
const OTHERS: readonly (readonly [number, number, number])[] = [
  [1, 2, 3],
  [0, 2, 3],
  [0, 1, 3],
  [0, 1, 2],
];

/** The quaternion of the four columns from `first` on, in units of 1 / (M√2), not normalised any further. */
export function unpack(values: Int32Array, first: number, bits: number): Quaternion {
  const top = (1 << bits) - 1;
  const largest = values[first]!;
  const others = OTHERS[largest]!;
  const a = 2 * values[first + 1]! - top;
  const b = 2 * values[first + 2]! - top;
  const c = 2 * values[first + 3]! - top;
  const rest = 2 * top * top - (a * a + b * b + c * c);
  const out: Quaternion = [0, 0, 0, 0];
  out[others[0]] = a;
  out[others[1]] = b;
  out[others[2]] = c;
  out[largest] = rest > 0 ? Math.sqrt(rest) : 0;
  return out;
}

/** Stored component `at` of a quaternion in the units of `unpack` if `largest` is left out, not rounded. */
export function component(quaternion: Quaternion, bits: number, largest: number, at: number): number {
  const top = (1 << bits) - 1;
  const value = quaternion[OTHERS[largest]![at]!]!;
  // A quaternion and its negative are the same orientation; the component left out is positive.
  return ((quaternion[largest]! < 0 ? -value : value) + top) / 2;
}

/** The stored component `at` of a row's orientation as if `largest` were omitted, rounded. */
export function inFrameOf(
  values: Int32Array,
  first: number,
  bits: number,
  largest: number,
  at: number,
): number {
  if (values[first] === largest) return values[first + 1 + at]!;
  return Math.floor(component(unpack(values, first, bits), bits, largest, at) + 0.5);
}
