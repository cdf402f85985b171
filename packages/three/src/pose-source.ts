import type { Pose } from "./pose.js";

/** Where entities are shown at the moment of a frame. */
export interface PoseSource {
  /** Writes the pose of an entity to `out`; returns false, and writes nothing, while it is not known. */
  pose(id: number, out: Pose): boolean;
}
