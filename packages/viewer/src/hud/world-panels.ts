import { WorldUi } from "@nowcast/page/internal";
import type { Pose } from "@nowcast/three/internal";
import type { World } from "nowcast/world";
import { type PerspectiveCamera, Vector3 } from "three";

/** Height of a panel above the middle of its entity, in metres. */
const ABOVE_M = 1.3;

/** The drawn poses, and the size of the picture. */
export interface PanelView {
  pose(id: number, out: Pose): boolean;
  readonly camera: PerspectiveCamera;
}

/** The panels of the world that this page is in. */
export class WorldPanels {
  #ui: WorldUi | undefined;
  readonly #pose: Pose = { x: 0, y: 0, z: 0, qx: 0, qy: 0, qz: 0, qw: 1 };

  enter(world: World): void {
    this.leave();
    this.#ui = new WorldUi(document.body, world);
  }

  leave(): void {
    this.#ui?.dispose();
    this.#ui = undefined;
  }

  /** Shows the changes since the last frame. In a headset, the picture has no panels. */
  update({ pose, camera }: PanelView): void {
    this.#ui?.update((entity) => {
      if (!pose(entity, this.#pose)) return undefined;
      const { x, y, z } = this.#pose;
      POINT.set(x, y + ABOVE_M, z).project(camera);
      if (Math.abs(POINT.x) > 1 || Math.abs(POINT.y) > 1 || POINT.z > 1) return undefined;
      return { x: ((POINT.x + 1) / 2) * window.innerWidth, y: ((1 - POINT.y) / 2) * window.innerHeight };
    });
  }
}

const POINT = new Vector3();
