import type { HeadsetPage } from "@nowcast/page/headset";
import type { Viewer } from "../viewer.js";

/** The viewer as the page of a headset. */
export function headsetPageOf(viewer: Viewer): HeadsetPage {
  const { renderer, scene: root, camera, rig } = viewer.stage;
  const { scene, actions, inputs, settings, camera: orbit } = viewer;
  return {
    ...{ renderer, root, camera, rig, scene, actions, inputs, orbit },
    get world() {
      return viewer.connection?.world;
    },
    get comfort() {
      const { vrWalk: walks, vrSmoothTurn: turnsSmoothly, vrVignette: narrows } = settings;
      return { walks, turnsSmoothly, narrows };
    },
    get texts() {
      return { chat: viewer.chat.latest, notice: viewer.hud.notices };
    },
    act: (action, args) => viewer.connection?.act(action, args),
    flipMicrophone: () => void viewer.voice.flipMicrophone(),
    ended: () => viewer.headsetEnded(),
  };
}
