import type { Headset } from "@nowcast/page/headset";
import type { HeadsetPage } from "@nowcast/page/internal";
import type { Viewer } from "../viewer.js";

/** The viewer as the page of a headset. */
export function headsetPageOf(viewer: Viewer): HeadsetPage {
  const { renderer, scene: root, camera, rig } = viewer.stage;
  const { scene, actions, inputs, settings, camera: orbit } = viewer;
  return {
    ...{ renderer, root, camera, rig, scene, actions, inputs, orbit },
    get world() {
      return viewer.view?.world;
    },
    get comfort() {
      const { vrWalk: walks, vrSmoothTurn: turnsSmoothly, vrVignette: narrows } = settings;
      return { walks, turnsSmoothly, narrows };
    },
    get texts() {
      return { chat: viewer.chat.latest, notice: viewer.hud.notices };
    },
    flipMicrophone: () => void viewer.voice.flipMicrophone(),
    ended: () => showOnPage(viewer),
  };
}

/** Shows the world in a headset instead of on the page. */
export function showInHeadset(viewer: Viewer, headset: Headset): void {
  if (headset.isOver) return;
  viewer.headset = headset;
  viewer.avatar.forget();
  viewer.hud.setPrompt("");
}

/** Shows the world on the page again. */
function showOnPage(viewer: Viewer): void {
  if (viewer.own) viewer.camera.face(viewer.own);
  viewer.headset = undefined;
  viewer.stage.resize();
  viewer.camera.jump();
}
