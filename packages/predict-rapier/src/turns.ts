/** Rotations: x, y, z, w at a place in an array. */

export interface Numbers {
  [at: number]: number;
}

/** The turn that leads from `b` to `a`, as its axis with the angle in radians as length, into `out` at 0. */
export function turnBetween(a: Numbers, at: number, b: Numbers, bt: number, out: Numbers): void {
  const [ax, ay, az, aw] = [a[at]!, a[at + 1]!, a[at + 2]!, a[at + 3]!];
  const [bx, by, bz, bw] = [-b[bt]!, -b[bt + 1]!, -b[bt + 2]!, b[bt + 3]!];
  let x = aw * bx + ax * bw + ay * bz - az * by;
  let y = aw * by - ax * bz + ay * bw + az * bx;
  let z = aw * bz + ax * by - ay * bx + az * bw;
  let w = aw * bw - ax * bx - ay * by - az * bz;
  if (w < 0) [x, y, z, w] = [-x, -y, -z, -w];
  const sine = Math.hypot(x, y, z);
  const share = sine < 1e-9 ? 0 : (2 * Math.atan2(sine, w)) / sine;
  out[0] = x * share;
  out[1] = y * share;
  out[2] = z * share;
}

/** Turns the rotation in `out` by an axis whose length is the angle in radians. */
export function turnBy(out: Numbers, at: number, x: number, y: number, z: number): void {
  const angle = Math.hypot(x, y, z);
  if (angle < 1e-9) return;
  const sine = Math.sin(angle / 2) / angle;
  const [tx, ty, tz, tw] = [x * sine, y * sine, z * sine, Math.cos(angle / 2)];
  const [qx, qy, qz, qw] = [out[at]!, out[at + 1]!, out[at + 2]!, out[at + 3]!];
  const nx = tw * qx + tx * qw + ty * qz - tz * qy;
  const ny = tw * qy - tx * qz + ty * qw + tz * qx;
  const nz = tw * qz + tx * qy - ty * qx + tz * qw;
  const nw = tw * qw - tx * qx - ty * qy - tz * qz;
  const scale = 1 / Math.hypot(nx, ny, nz, nw);
  out[at] = nx * scale;
  out[at + 1] = ny * scale;
  out[at + 2] = nz * scale;
  out[at + 3] = nw * scale;
}

/** Converts `x`, `y`, `z` from world coordinates to the coordinates of a body with this rotation. */
export function seenFrom(turn: Numbers, at: number, x: number, y: number, z: number, out: Numbers): void {
  const [qx, qy, qz, qw] = [-turn[at]!, -turn[at + 1]!, -turn[at + 2]!, turn[at + 3]!];
  const tx = 2 * (qy * z - qz * y);
  const ty = 2 * (qz * x - qx * z);
  const tz = 2 * (qx * y - qy * x);
  out[0] = x + qw * tx + qy * tz - qz * ty;
  out[1] = y + qw * ty + qz * tx - qx * tz;
  out[2] = z + qw * tz + qx * ty - qy * tx;
}
