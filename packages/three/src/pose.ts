/** The pose of an entity: its centre in metres and its orientation as a quaternion. */
export interface Pose {
  x: number;
  y: number;
  z: number;
  qx: number;
  qy: number;
  qz: number;
  qw: number;
}

export function createPose(): Pose {
  return { x: 0, y: 0, z: 0, qx: 0, qy: 0, qz: 0, qw: 1 };
}

export function copyPose(from: Readonly<Pose>, to: Pose): void {
  to.x = from.x;
  to.y = from.y;
  to.z = from.z;
  to.qx = from.qx;
  to.qy = from.qy;
  to.qz = from.qz;
  to.qw = from.qw;
}

export function isSamePose(a: Readonly<Pose>, b: Readonly<Pose>): boolean {
  return (
    a.x === b.x &&
    a.y === b.y &&
    a.z === b.z &&
    a.qx === b.qx &&
    a.qy === b.qy &&
    a.qz === b.qz &&
    a.qw === b.qw
  );
}

/** The direction of an upright body: 0 is −Z, counter-clockwise seen from above. */
export function yawOf(pose: { qx: number; qy: number; qz: number; qw: number }): number {
  return Math.atan2(
    2 * (pose.qw * pose.qy + pose.qx * pose.qz),
    1 - 2 * (pose.qy * pose.qy + pose.qx * pose.qx),
  );
}
