import type { Viewer } from "./viewer.js";

/** A hidden tab draws no frames; the first one after it must not make up for minutes. */
const FRAME_MS_MAX = 100;

/** What happens in a frame, in order. */
function runFrame(viewer: Viewer, nowMs: number, frameMs: number): void {
  const seconds = Math.min(frameMs, FRAME_MS_MAX) / 1000;
  viewer.readDevices(seconds);
  viewer.sendSteering();
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

/** Draws frames for as long as the page lives. */
export function startFrameLoop(viewer: Viewer): void {
  let lastMs = performance.now();
  const frame = (nowMs: number) => {
    requestAnimationFrame(frame);
    // The browser's time of a frame may lie before the moment at which the loop was started.
    const frameMs = Math.max(0, nowMs - lastMs);
    lastMs = nowMs;
    runFrame(viewer, nowMs, frameMs);
  };
  requestAnimationFrame(frame);
}
