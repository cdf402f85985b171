import { startLoop } from "@nowcast/three";
import type { Frame } from "@nowcast/three/internal";
import type { Viewer } from "./viewer.js";

/** The steps of a frame, in order. `WorldStage.drawFrame` lists those of the world. */
function runFrame(viewer: Viewer, frame: Frame): void {
  const { appearance, backdrop, controls, hud, picture, stage, veil } = viewer;
  appearance.update();
  if (!controls.view) backdrop.animate(frame.seconds, stage);
  stage.drawFrame(frame);
  veil.update(frame.nowMs);
  if (controls.view) hud.animate(frame.frameMs, controls.view.world);
  // The resolution is not changed in a headset: a headset keeps the frame rate by other means, and a change of
  // resolution would be visible.
  if (!controls.headset) picture.governResolution(frame.frameMs);
}

/** Draws frames as long as the page is open. */
export function startFrameLoop(viewer: Viewer): void {
  startLoop(viewer.stage.renderer, (frame) => runFrame(viewer, frame));
}
