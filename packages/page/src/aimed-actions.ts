import type { WorldScene } from "@nowcast/three";
import { type PerspectiveCamera, Vector3 } from "three";
import { Actions, type Binding } from "./actions.js";
import type { Devices } from "./input/devices.js";
import { type Actor, findTarget } from "./targets.js";
import type { Headset } from "./xr/headset.js";

/** The parts of a page that actions need. */
export interface AimParts {
  readonly canvas: HTMLCanvasElement;
  readonly camera: PerspectiveCamera;
  readonly scene: WorldScene;
  readonly devices: Pick<Devices, "pointer">;
  readonly headset: Headset | undefined;
  /** The entity that the local player's input moves. */
  readonly own: Actor | undefined;
  /** Whether an attribute of the local avatar is set. */
  has(attribute: string): boolean;
  act(action: string, args: Readonly<Record<string, unknown>>): void;
  /** Shows the charge of an action, 0 to 1; `undefined` for none. */
  showCharge(share: number | undefined): void;
  /** Shows the actions that have a target now, and those that are possible without one. */
  showOffers(offers: readonly Binding[], others: readonly Binding[]): void;
}

/**
 * Creates the actions of a page. Their target is under the mouse or the drawing finger, at the end of a headset's ray, or in
 * the middle of the picture.
 */
export function createAimedActions(page: AimParts): Actions {
  const ahead = new Vector3();
  const origin = new Vector3();
  const actions: Actions = new Actions({
    findTarget: (rule) => {
      const { own, scene, canvas, camera, devices, headset } = page;
      if (!own) return undefined;
      if (headset) return headset.findTarget(own, rule);
      const { left, top, width, height } = canvas.getBoundingClientRect();
      const { x, y } = devices.pointer ?? { x: left + width / 2, y: top + height / 2 };
      ahead.set(((x - left) / width) * 2 - 1, 1 - ((y - top) / height) * 2, 0.5);
      camera.updateMatrixWorld();
      camera.getWorldPosition(origin);
      const direction = ahead.unproject(camera).sub(origin).normalize();
      return findTarget(own, { origin, direction }, rule, scene.all, scene.crowd.members);
    },
    has: (attribute) => page.has(attribute),
    send: (action, args) => page.act(action, args),
    showCharge: (share) => page.showCharge(share),
    showOffers: (offers) =>
      page.showOffers(
        offers,
        actions.possible.filter((binding) => !offers.includes(binding)),
      ),
    highlight: (target) => page.scene.highlight(target),
  });
  return actions;
}
