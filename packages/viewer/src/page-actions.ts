import { Actions, type Actor, type Binding, buttonOf, findTarget, type InputCollector } from "@nowcast/page";
import type { Headset } from "@nowcast/page/headset";
import type { WorldScene } from "@nowcast/three";
import { Vector3 } from "three";
import type { Hud } from "./hud/hud.js";
import { promptFor } from "./hud/key-hints.js";
import type { Devices } from "./input/devices.js";
import type { Stage } from "./scene/stage.js";
import type { WorldConnection } from "./world-connection.js";

/** Actions that are shown at a time: those with a target first, and then those that need none. */
const PROMPTS_MAX = 4;

/** The parts of the page that actions need. */
export interface ActionParts {
  readonly connection: WorldConnection | undefined;
  readonly headset: Headset | undefined;
  /** The entity that the local player's input moves. */
  readonly own: Actor | undefined;
  readonly scene: WorldScene;
  readonly stage: Stage;
  readonly devices: Devices;
  readonly hud: Hud;
  readonly inputs: InputCollector;
}

function triggersOf(bindings: readonly Binding[]): ReadonlySet<string> {
  return new Set(bindings.map(({ action }) => buttonOf(action)));
}

/** Connects the actions of a world with the targets, texts and buttons of the page. */
export function createActions(page: ActionParts): Actions {
  const ahead = new Vector3();
  const actions: Actions = new Actions({
    findTarget: (rule) => {
      const { own, scene, stage, devices } = page;
      if (!own) return undefined;
      if (page.headset) return page.headset.findTarget(own, rule);
      // The target is at the mouse pointer or, without a pointer, in the middle of the picture.
      const { x, y } = devices.pointer ?? { x: window.innerWidth / 2, y: window.innerHeight / 2 };
      const aim = { origin: stage.camera.position, direction: stage.directionAt(x, y, ahead) };
      return findTarget(own, aim, rule, scene.all, scene.crowd.members);
    },
    has: (attribute) => page.connection?.hasAttribute(attribute) ?? false,
    send: (action, args) => page.connection?.act(action, args),
    showCharge: (share) => page.hud.setCharge(share),
    showOffers: (offers) => {
      const { hud, devices } = page;
      const others = actions.possible.filter((binding) => !offers.includes(binding));
      hud.setPrompt(
        devices.touching ? "" : promptFor([...offers, ...others].slice(0, PROMPTS_MAX), page.inputs.keymap),
      );
      if (devices.touching) devices.markButtons(triggersOf(offers), triggersOf(others));
    },
    highlight: (target) => page.scene.highlight(target),
  });
  return actions;
}
