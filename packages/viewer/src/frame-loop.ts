import { lookPitch, pitchBehind } from "@nowcast/page/internal";
import { startLoop } from "@nowcast/three";
import type { Frame } from "@nowcast/three/internal";
import { Vector3 } from "three";
import type { Viewer } from "./viewer.js";

const EARS = new Vector3();
const AHEAD = new Vector3();

/** The steps of a frame, in order. */
function runFrame(viewer: Viewer, frame: Frame): void {
  const { nowMs, frameMs, seconds } = frame;
  readDevices(viewer, frame);
  viewer.avatar.sendInput();
  viewer.appearance.update();
  viewer.view?.world.frame(nowMs);
  placeEntities(viewer, seconds);
  moveCamera(viewer, seconds);
  updateActions(viewer, seconds, nowMs);
  updateSurroundings(viewer, seconds);
  updateLabels(viewer, nowMs);
  updateFigures(viewer, frameMs);
  viewer.picture.render();
  // The resolution is not changed in a headset: a headset keeps the frame rate by other means, and a change of
  // resolution would be visible.
  if (!viewer.headset) viewer.picture.governResolution(frameMs);
}

/** Draws frames as long as the page is open. */
export function startFrameLoop(viewer: Viewer): void {
  startLoop(viewer.stage.renderer, (frame) => runFrame(viewer, frame));
}

function readDevices({ devices, headset, inputs, camera }: Viewer, { nowMs, seconds, xr }: Frame): void {
  devices.poll(seconds);
  headset?.read(xr, nowMs, seconds);
  if (!headset) devices.look(camera, seconds);
  inputs.consumeLook();
}

function placeEntities({ view, scene, backdrop, picture, avatar }: Viewer, seconds: number): void {
  if (view) return view.place(seconds, avatar.hidden);
  backdrop.animate(picture.motionSeconds);
  scene.animate(seconds);
}

function moveCamera(viewer: Viewer, seconds: number): void {
  const { view, backdrop, stage, picture, avatar, scene, headset } = viewer;
  scene.eye = headset ? undefined : stage.camera.position;
  if (view) avatar.follow(seconds, view);
  else backdrop.aim(stage.camera, picture.motionSeconds);
}

function updateActions(viewer: Viewer, seconds: number, nowMs: number): void {
  const { view, actions, headset, camera } = viewer;
  const canAct = view?.world.status === "open";
  const pitch = headset?.pitch ?? pitchBehind(camera);
  if (view) viewer.pitch.update(view.world, lookPitch(pitch), nowMs);
  actions.update(seconds, pitch, canAct);
  if (canAct) headset?.act();
}

function updateSurroundings(viewer: Viewer, seconds: number): void {
  const { view, avatar, backdrop, stage, picture, staging, voice } = viewer;
  const focus = avatar.actor ?? (view ? avatar.watched : backdrop.focus);
  picture.update(seconds, focus, staging.isStill);
  staging.update(seconds, stage.camera, (id, out) => view?.pose(id, out) === true);
  const ears = stage.camera.getWorldPosition(EARS);
  voice.update(performance.now(), ears, stage.camera.getWorldDirection(AHEAD));
}

function updateLabels({ view, headset, scene, stage }: Viewer, nowMs: number): void {
  if (!headset) return scene.updateLabels(nowMs, stage.camera, view?.world.avatarId);
  scene.labels.hide(nowMs);
  headset.write(view?.world.avatarId);
}

function updateFigures(viewer: Viewer, frameMs: number): void {
  const { view, screens, ui, project, hud, past, figures } = viewer;
  if (!view) return;
  const { world } = view;
  screens.update(world.screen);
  ui?.update(project);
  hud.connection.update(world.status, world.connection);
  past.animate(performance.now());
  figures.update(frameMs, world);
}
