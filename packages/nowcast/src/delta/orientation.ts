/**
 * Orientations as the smallest three components of a unit quaternion.
 *
 * This module uses only operations that IEEE 754 defines exactly, in the order of `spec/DELTA.md`,
 * so all machines round in the same way.
 */

export type Quaternion = [x: number, y: number, z: number, w: number];

/** The stored components, for each component that can be left out. */
const OTHERS: readonly (readonly [number, number, number])[] = [
  [1, 2, 3],
  [0, 2, 3],
  [0, 1, 3],
  [0, 1, 2],
];

/**
 * Returns the quaternion of the four columns from `first` on, in units of 1 / (M√2), without
 * normalisation.
 */
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

/**
 * Returns the unrounded stored component `at` of a quaternion in the units of `unpack`, if the
 * component `largest` is left out.
 */
export function component(quaternion: Quaternion, bits: number, largest: number, at: number): number {
  const top = (1 << bits) - 1;
  const value = quaternion[OTHERS[largest]![at]!]!;
  // A quaternion and its negative are the same orientation. The sign is chosen so that the omitted
  // component is positive.
  return ((quaternion[largest]! < 0 ? -value : value) + top) / 2;
}

/**
 * Returns the rounded stored component `at` of a row's orientation, as if the component `largest`
 * were left out.
 */
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
