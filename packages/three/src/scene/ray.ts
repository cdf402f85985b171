import type { Pose } from "../pose.js";

/** A box in the world for ray tests: its pose and half edge lengths. */
export interface RayBox extends Pose {
  readonly halfX: number;
  readonly halfY: number;
  readonly halfZ: number;
}

/**
 * Distance along a ray of unit direction to a box grown by `margin` on all sides, by the slab method in the box's
 * coordinates. `Infinity` if the ray misses, and if it starts inside, because a box around the viewer does not block
 * the view.
 */
export function rayBoxDistance(
  box: RayBox,
  margin: number,
  ox: number,
  oy: number,
  oz: number,
  dx: number,
  dy: number,
  dz: number,
): number {
  const { position, quaternion } = box;
  const rx = ox - position.x;
  const ry = oy - position.y;
  const rz = oz - position.z;
  const hx = box.halfX + margin;
  const hy = box.halfY + margin;
  const hz = box.halfZ + margin;
  // If the ray misses the bounding sphere, no exact test is needed. The ray misses the spheres of nearly all boxes of a
  // world.
  const along = -(rx * dx + ry * dy + rz * dz);
  const radius2 = hx * hx + hy * hy + hz * hz;
  const distance2 = rx * rx + ry * ry + rz * rz;
  if (distance2 - along * along > radius2) return Number.POSITIVE_INFINITY;
  if (along < 0 && distance2 > radius2) return Number.POSITIVE_INFINITY;

  const { x: qx, y: qy, z: qz, w: qw } = quaternion;
  // Rotates both vectors by the inverse quaternion, unrolled: v + 2w(q×v) + 2q×(q×v) with q negated.
  let tx = 2 * (qz * ry - qy * rz);
  let ty = 2 * (qx * rz - qz * rx);
  let tz = 2 * (qy * rx - qx * ry);
  const lx = rx + qw * tx + (qz * ty - qy * tz);
  const ly = ry + qw * ty + (qx * tz - qz * tx);
  const lz = rz + qw * tz + (qy * tx - qx * ty);
  tx = 2 * (qz * dy - qy * dz);
  ty = 2 * (qx * dz - qz * dx);
  tz = 2 * (qy * dx - qx * dy);
  const ldx = dx + qw * tx + (qz * ty - qy * tz);
  const ldy = dy + qw * ty + (qx * tz - qz * tx);
  const ldz = dz + qw * tz + (qy * tx - qx * ty);

  let near = Number.NEGATIVE_INFINITY;
  let far = Number.POSITIVE_INFINITY;
  for (let axis = 0; axis < 3; axis++) {
    const o = axis === 0 ? lx : axis === 1 ? ly : lz;
    const d = axis === 0 ? ldx : axis === 1 ? ldy : ldz;
    const h = axis === 0 ? hx : axis === 1 ? hy : hz;
    if (Math.abs(d) < 1e-9) {
      if (Math.abs(o) > h) return Number.POSITIVE_INFINITY;
      continue;
    }
    const a = (-h - o) / d;
    const b = (h - o) / d;
    near = Math.max(near, Math.min(a, b));
    far = Math.min(far, Math.max(a, b));
  }
  return near > far || near < 0 ? Number.POSITIVE_INFINITY : near;
}
