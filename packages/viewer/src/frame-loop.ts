import { startLoop } from "@nowcast/three";
import type { Frame } from "@nowcast/three/internal";
import type { Viewer } from "./viewer.js";

/** The steps of a frame, in order. */
function runFrame(viewer: Viewer, frame: Frame): void {
  const { nowMs, frameMs, seconds, xr } = frame;
  const { appearance, controls, picture } = viewer;
  appearance.update();
  controls.update(nowMs, seconds, xr);
  if (!controls.view) animateBackdrop(viewer, seconds);
  updateSurroundings(viewer, seconds);
  updateLabels(viewer, nowMs);
  updateFigures(viewer, frameMs);
  if (!controls.isResuming) picture.render();
  // The resolution is not changed in a headset: a headset keeps the frame rate by other means, and a change of
  // resolution would be visible.
  if (!controls.headset) picture.governResolution(frameMs);
}

/** Draws frames as long as the page is open. */
export function startFrameLoop(viewer: Viewer): void {
  startLoop(viewer.stage.renderer, (frame) => runFrame(viewer, frame));
}

function animateBackdrop({ backdrop, picture, scene, stage }: Viewer, seconds: number): void {
  backdrop.animate(picture.motionSeconds);
  scene.animate(seconds);
  backdrop.aim(stage.camera, picture.motionSeconds);
}

function updateSurroundings(viewer: Viewer, seconds: number): void {
  const { controls, backdrop, stage, picture, staging } = viewer;
  const { view } = controls;
  picture.update(seconds, view ? controls.focus : backdrop.focus, staging.isStill);
  staging.update(seconds, stage.camera, (id, out) => view?.pose(id, out) === true);
}

function updateLabels({ controls: { view, headset }, scene, stage }: Viewer, nowMs: number): void {
  if (!headset) return scene.updateLabels(nowMs, stage.camera, view?.world.avatarId);
  scene.labels.hide(nowMs);
  headset.write(view?.world.avatarId);
}

function updateFigures(viewer: Viewer, frameMs: number): void {
  const { controls, screens, ui, project, hud, past, figures } = viewer;
  const world = controls.view?.world;
  if (!world) return;
  screens.update(world.screen);
  ui?.update(project);
  hud.connection.update(world.status, world.connection);
  past.animate(performance.now());
  figures.update(frameMs, world);
}
