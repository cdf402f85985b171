import type { WorldView } from "@nowcast/three";
import type { WorldScene } from "@nowcast/three/internal";
import {
  BoxGeometry,
  EdgesGeometry,
  LineBasicMaterial,
  LineSegments,
  Mesh,
  MeshBasicMaterial,
  type PerspectiveCamera,
  Vector3,
} from "three";
import { Actions, type Place } from "./actions.js";
import type { OrbitCamera } from "./camera.js";
import type { ControlsDisplay } from "./hud/controls-display.js";
import type { Devices } from "./input/devices.js";
import { type Actor, type Aim, findPlace, findTarget } from "./targets.js";
import type { Headset } from "./xr/headset.js";

/** A cell is not drawn if the camera is in it, or nearer to it than this. */
const CELL_MARGIN_M = 0.25;

/** The parts of a page that actions need. */
export interface AimParts {
  readonly canvas: HTMLCanvasElement;
  readonly camera: OrbitCamera;
  readonly scene: WorldScene;
  readonly devices: Pick<Devices, "pointer">;
  readonly headset: Headset | undefined;
  /** The entity that the local player's input moves. */
  readonly actor: Actor | undefined;
  /** The current world; `undefined` while the page is in no world. */
  readonly view: WorldView | undefined;
  readonly hud: Pick<ControlsDisplay, "setCharge" | "setPrompts"> | undefined;
}

/**
 * Creates the actions of a page. Their target is under the mouse or the drawing finger, at the end of a headset's ray, or in
 * the middle of the picture. `signal` ends the page.
 */
export function createAimedActions(page: AimParts, signal: AbortSignal): Actions {
  const aim: Aim = { origin: new Vector3(), direction: new Vector3() };
  let cell: Mesh | undefined;
  const dispose = (): void => {
    cell?.removeFromParent();
    for (const part of cell ? [cell, ...cell.children] : []) {
      const { geometry, material } = part as Mesh<BoxGeometry, MeshBasicMaterial>;
      geometry.dispose();
      material.dispose();
    }
  };
  signal.addEventListener("abort", dispose);
  const actions: Actions = new Actions({
    findTarget: (rule) => {
      const { actor, scene, headset } = page;
      if (!actor) return undefined;
      if (headset) return headset.findTarget(actor, rule);
      return findTarget(actor, pointerAim(page, aim), rule, scene.all, scene.crowd.members);
    },
    findPlace: (rule) => {
      const { actor, scene, headset } = page;
      const ray = headset ? headset.readAim(aim) : pointerAim(page, aim);
      return actor && ray && findPlace(actor, ray, rule, scene.obstacles);
    },
    has: (attribute) => {
      const world = page.view?.world;
      if (attribute === "holding") return world?.display.holding !== undefined;
      return Boolean(world?.avatar?.attributes[attribute]);
    },
    // Rejections are ignored: the page shows refusals by the world's events, and a lost connection by its status.
    send: (action, args) => void page.view?.world.act(action, args),
    showCharge: (share) => page.hud?.setCharge(share),
    showOffers: (offers) =>
      page.hud?.setPrompts(
        offers,
        actions.possible.filter((binding) => !offers.includes(binding)),
      ),
    highlight: (target) => page.scene.highlight(target),
    showCell: (middle, gridM) => {
      if (cell) cell.visible = false;
      if (!middle) return;
      cell ??= createCell();
      cell.visible = isOutsideCell(page.camera.lens, middle, gridM);
      if (cell.parent !== page.scene.group) page.scene.group.add(cell);
      cell.position.set(...middle);
      cell.scale.setScalar(gridM);
    },
  });
  return actions;
}

/** The ray from the camera through the pointer, or through the middle of the picture. */
function pointerAim({ canvas, camera: { lens: camera }, devices }: AimParts, out: Aim): Aim {
  const { left, top, width, height } = canvas.getBoundingClientRect();
  const { x, y } = devices.pointer ?? { x: left + width / 2, y: top + height / 2 };
  camera.updateMatrixWorld();
  camera.getWorldPosition(out.origin);
  out.direction.set(((x - left) / width) * 2 - 1, 1 - ((y - top) / height) * 2, 0.5);
  out.direction.unproject(camera).sub(out.origin).normalize();
  return out;
}

/** Whether a camera is outside of a cell, which would cover the whole picture from within. */
function isOutsideCell({ position: { x, y, z } }: PerspectiveCamera, middle: Place, gridM: number): boolean {
  const aside = Math.max(Math.abs(x - middle[0]), Math.abs(y - middle[1]), Math.abs(z - middle[2]));
  return aside > gridM / 2 + CELL_MARGIN_M;
}

/** A cell with bright edges, a little larger than the block that will stand there. It is visible on lawns, on sand and in the sun. */
function createCell(): Mesh {
  const look = { color: 0x5fd8e8, transparent: true, depthWrite: false, toneMapped: false };
  const geometry = new BoxGeometry(1.02, 1.02, 1.02);
  const cell = new Mesh(geometry, new MeshBasicMaterial({ ...look, opacity: 0.24 }));
  cell.add(
    new LineSegments(new EdgesGeometry(geometry), new LineBasicMaterial({ ...look, color: 0x0b6f86 })),
  );
  return cell;
}
