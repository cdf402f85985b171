import { createPose, type Pose } from "@nowcast/three/internal";
import type { PerspectiveCamera } from "three";
import type { Project } from "./world-ui.js";

/** Height of a panel above the middle of its entity, in metres. */
const ABOVE_M = 1.3;

/** Returns the function that finds entities in a picture, for `WorldUi`. `pose` writes the drawn pose of an entity. */
export function projectOver(
  canvas: HTMLCanvasElement,
  camera: PerspectiveCamera,
  pose: (id: number, out: Pose) => boolean,
): Project {
  const shown = createPose();
  const point = shown.position;
  return (entity) => {
    if (!pose(entity, shown)) return undefined;
    point.setY(point.y + ABOVE_M).project(camera);
    if (Math.abs(point.x) > 1 || Math.abs(point.y) > 1 || point.z > 1) return undefined;
    const { clientWidth, clientHeight } = canvas;
    return { x: ((point.x + 1) / 2) * clientWidth, y: ((1 - point.y) / 2) * clientHeight };
  };
}
