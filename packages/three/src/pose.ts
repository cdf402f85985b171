import type { Entity } from "nowcast/world";
import { Quaternion, type QuaternionLike, Vector3 } from "three";

/** The pose of an entity: its centre in metres, and its rotation. An `Object3D` is one. */
export interface Pose {
  readonly position: Vector3;
  readonly quaternion: Quaternion;
}

/** The poses of a frame, such as those of a `World`. */
export interface PoseSource {
  /** Writes the pose of an entity to `out`; returns false, and writes nothing, while it is not known. */
  pose(id: number, out: Pose): boolean;
  readonly display: {
    /** Whether the rules put the entity elsewhere since the frame before. */
    hasJumped(id: number): boolean;
  };
}

/** Makes an upright pose. At the yaw 0 it faces −Z; the yaw grows counter-clockwise, seen from above. */
export function createPose(x = 0, y = 0, z = 0, yaw = 0): Pose {
  return {
    position: new Vector3(x, y, z),
    quaternion: new Quaternion(0, Math.sin(yaw / 2), 0, Math.cos(yaw / 2)),
  };
}

/** The newest received pose of an entity. */
export function poseOf({ position, quaternion }: Pick<Entity, "position" | "quaternion">): Pose {
  return { position: new Vector3(...position), quaternion: new Quaternion(...quaternion) };
}

export function copyPose(from: Pose, to: Pose): void {
  to.position.copy(from.position);
  to.quaternion.copy(from.quaternion);
}

export function isSamePose(a: Pose, b: Pose): boolean {
  return a.position.equals(b.position) && a.quaternion.equals(b.quaternion);
}

/** The direction of an upright body: 0 is −Z, counter-clockwise seen from above. */
export function yawOf({ x, y, z, w }: QuaternionLike): number {
  return Math.atan2(2 * (w * y + x * z), 1 - 2 * (y * y + x * x));
}
