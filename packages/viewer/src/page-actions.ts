import {
  type Actions,
  createAimedActions,
  type Devices,
  type InputCollector,
  promptFor,
} from "@nowcast/page";
import type { Headset } from "@nowcast/page/headset";
import { type Actor, buttonOf, promptedActions } from "@nowcast/page/internal";
import type { WorldView } from "@nowcast/three";
import type { WorldScene } from "@nowcast/three/internal";
import type { Binding } from "nowcast/internal";
import type { Hud } from "./hud/hud.js";
import type { TouchPad } from "./input/touch-pad.js";
import type { Stage } from "./scene/stage.js";

/** Actions that are shown at a time. */
const PROMPTS_MAX = 4;

/** The parts of the page that actions need. */
export interface ActionParts {
  readonly view: WorldView | undefined;
  readonly headset: Headset | undefined;
  /** The entity that the local player's input moves. */
  readonly own: Actor | undefined;
  readonly scene: WorldScene;
  readonly stage: Stage;
  readonly devices: Devices;
  readonly touchPad: TouchPad;
  readonly hud: Hud;
  readonly inputs: InputCollector;
}

function triggersOf(bindings: readonly Binding[]): ReadonlySet<string> {
  return new Set(bindings.map(({ action }) => buttonOf(action)));
}

/** Connects the actions of a world with the targets, texts and buttons of the page. */
export function createActions(page: ActionParts, canvas: HTMLCanvasElement): Actions {
  return createAimedActions({
    ...{ canvas, camera: page.stage.camera, scene: page.scene, devices: page.devices },
    get headset() {
      return page.headset;
    },
    get own() {
      return page.own;
    },
    get world() {
      return page.view?.world;
    },
    showCharge: (share) => page.hud.setCharge(share),
    showOffers: (offers, others) => {
      const { hud, devices, touchPad, inputs } = page;
      const prompt = promptFor(promptedActions(offers, others), inputs.keymap, PROMPTS_MAX);
      hud.setPrompt(devices.touching ? "" : prompt);
      if (devices.touching) touchPad.mark(triggersOf(offers), triggersOf(others));
    },
  });
}
