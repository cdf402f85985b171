import type { Pose } from "./pose.js";

/** The poses at which entities are shown in a frame. */
export interface PoseSource {
  /** Writes the pose of an entity to `out`; returns false, and writes nothing, while it is not known. */
  pose(id: number, out: Pose): boolean;
  /** Whether the rules put the entity elsewhere since the frame before. */
  hasJumped(id: number): boolean;
}
