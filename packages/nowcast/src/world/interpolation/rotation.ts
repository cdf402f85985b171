/** Rotations as quaternions, into the caller's arrays. */

/** A writable list of numbers: a plain or a typed array. */
export interface NumberArray {
  [index: number]: number;
}

/**
 * Spherical interpolation (Shoemake 1985) along the shorter way, from `from[a]` to `from[b]`, with
 * `t` from 0 to 1.
 */
export function slerp(from: NumberArray, a: number, b: number, t: number, out: NumberArray): void {
  const ax = from[a]!;
  const ay = from[a + 1]!;
  const az = from[a + 2]!;
  const aw = from[a + 3]!;
  let cosine = ax * from[b]! + ay * from[b + 1]! + az * from[b + 2]! + aw * from[b + 3]!;
  const sign = cosine < 0 ? -1 : 1;
  cosine *= sign;
  let weightA = 1 - t;
  let weightB = t;
  if (cosine < 0.9995) {
    const angle = Math.acos(cosine);
    const sine = Math.sin(angle);
    weightA = Math.sin(angle * weightA) / sine;
    weightB = Math.sin(angle * weightB) / sine;
  }
  weightB *= sign;
  const x = ax * weightA + from[b]! * weightB;
  const y = ay * weightA + from[b + 1]! * weightB;
  const z = az * weightA + from[b + 2]! * weightB;
  const w = aw * weightA + from[b + 3]! * weightB;
  // Close rotations are interpolated linearly. The error in length is negligible.
  const scale = 1 / Math.sqrt(x * x + y * y + z * z + w * w);
  out[0] = x * scale;
  out[1] = y * scale;
  out[2] = z * scale;
  out[3] = w * scale;
}

/** Writes the product a · b, which rotates by `b` first and by `a` second. `out` may be one of the two. */
export function multiplyRotations(a: NumberArray, b: NumberArray, out: NumberArray): void {
  const ax = a[0]!;
  const ay = a[1]!;
  const az = a[2]!;
  const aw = a[3]!;
  const bx = b[0]!;
  const by = b[1]!;
  const bz = b[2]!;
  const bw = b[3]!;
  out[0] = aw * bx + ax * bw + ay * bz - az * by;
  out[1] = aw * by - ax * bz + ay * bw + az * bx;
  out[2] = aw * bz + ax * by - ay * bx + az * bw;
  out[3] = aw * bw - ax * bx - ay * by - az * bz;
}

/** Writes a vector turned by a rotation. `out` may be the vector. */
export function rotateVector(rotation: NumberArray, vector: NumberArray, out: NumberArray): void {
  const x = rotation[0]!;
  const y = rotation[1]!;
  const z = rotation[2]!;
  const w = rotation[3]!;
  const vx = vector[0]!;
  const vy = vector[1]!;
  const vz = vector[2]!;
  // 2 · (axis × vector), and then vector + w · that + axis × that.
  const tx = 2 * (y * vz - z * vy);
  const ty = 2 * (z * vx - x * vz);
  const tz = 2 * (x * vy - y * vx);
  out[0] = vx + w * tx + y * tz - z * ty;
  out[1] = vy + w * ty + z * tx - x * tz;
  out[2] = vz + w * tz + x * ty - y * tx;
}

/** Scales a rotation to length 1. Writes the identity if the length is 0 or not finite. */
export function normalise(from: NumberArray, out: NumberArray): void {
  const length = Math.hypot(from[0]!, from[1]!, from[2]!, from[3]!);
  if (!(length > 0 && Number.isFinite(length))) {
    out[0] = out[1] = out[2] = 0;
    out[3] = 1;
    return;
  }
  for (let part = 0; part < 4; part++) out[part] = from[part]! / length;
}

/** The smallest angle in radians that turns one rotation into the other. */
export function angleBetween(a: NumberArray, b: NumberArray): number {
  const cosine = Math.abs(a[0]! * b[0]! + a[1]! * b[1]! + a[2]! * b[2]! + a[3]! * b[3]!);
  return 2 * Math.acos(Math.min(1, cosine));
}
