import { type Frame, startLoop } from "@nowcast/three";
import type { Viewer } from "./viewer.js";

/** The steps of a frame, in order. */
function runFrame(viewer: Viewer, frame: Frame): void {
  const { nowMs, frameMs, seconds } = frame;
  viewer.readDevices(frame);
  viewer.sendInput();
  viewer.samplePoses(nowMs);
  viewer.placeProps();
  viewer.animatePeople(seconds);
  viewer.moveCamera(seconds);
  viewer.updateActions(seconds);
  viewer.updateScene(seconds);
  viewer.updateLabels(nowMs);
  viewer.updateFigures(frameMs);
  viewer.render();
  viewer.governResolution(frameMs);
}

/** Draws frames as long as the page is open. */
export function startFrameLoop(viewer: Viewer): void {
  startLoop(viewer.stage.renderer, (frame) => runFrame(viewer, frame));
}
