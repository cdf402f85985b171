import {
  createPose,
  type DrawnKind,
  describeBody,
  type Pose,
  type WorldScene,
} from "@nowcast/three/internal";
import type { Vector } from "nowcast/internal";
import type { PerspectiveCamera } from "three";

const PALETTE = [0xd97541, 0xe9b44c, 0xf1e9d2, 0x8fc7b5, 0x2a7f86] as const;
const GRASS = 0x8fa87a;
const FIRST_ID = 1_000_000;
const EDGE = 0.7;

const GROUND: DrawnKind = {
  ...kind("ground", { motion: "fixed", shape: "box", size: [60, 2, 60] }),
  look: { sea: -3.2 },
};
const BLOCK: DrawnKind = kind("block", { shape: "box", size: [EDGE, EDGE, EDGE] });
const PERSON: DrawnKind = { name: "person", body: undefined, walker: {}, look: undefined };

function kind(name: string, body: Record<string, unknown>): DrawnKind {
  return { name, body, walker: undefined, look: undefined };
}

interface Walker {
  readonly id: number;
  readonly radius: number;
  readonly speed: number;
  readonly start: number;
}

/** An animated background of the start screen, generated here: the page connects to nothing before the user enters. */
export class Backdrop {
  readonly focus = { x: 0, y: 0.8, z: 0 };
  readonly #walkers: Walker[] = [];
  readonly #pose = createPose();
  #nextId = FIRST_ID;
  readonly #scene: WorldScene;

  constructor(scene: WorldScene) {
    this.#scene = scene;
  }

  show(): void {
    this.hide();
    this.#add(GROUND, GRASS, { ...createPose(), y: -1 });
    this.#pyramid(0, -0.4, 5);
    this.#stack(-4.6, -3.2, 4, 0.35);
    this.#stack(4.9, -2.6, 3, -0.3);
    this.#stack(5.3, 2.3, 1, 0.8);
    this.#stack(-5.4, 2.2, 2, 0.2);
    this.#walker(0x3c8fd0, 4.2, 1.35, 0.4);
    this.#walker(0xe0604f, 6.3, 2.9, 2.5);
    this.#walker(0x5cae6b, 4.9, -1.5, 4.4);
  }

  hide(): void {
    this.#scene.clear();
    this.#walkers.length = 0;
    this.#nextId = FIRST_ID;
  }

  /** All figures walk in circles, each at a different speed. */
  animate(seconds: number): void {
    for (const { id, radius, speed, start } of this.#walkers) {
      const angle = start + (seconds * speed) / radius;
      const yaw = -angle + (speed > 0 ? Math.PI : 0);
      this.#pose.x = Math.cos(angle) * radius;
      this.#pose.y = 0.9;
      this.#pose.z = Math.sin(angle) * radius;
      this.#pose.qy = Math.sin(yaw / 2);
      this.#pose.qw = Math.cos(yaw / 2);
      this.#scene.crowd.place(id, this.#pose);
    }
  }

  /**
   * Moves the camera slowly around the middle. The important part of the picture stays to the right of the
   * card on wide screens, and above it on tall screens.
   */
  aim(camera: PerspectiveCamera, seconds: number): void {
    const angle = 0.55 + Math.sin(seconds * 0.05) * 0.5;
    const wide = camera.aspect > 1;
    const distance = wide ? 12.5 : 16;
    camera.position.set(Math.sin(angle) * distance, wide ? 3.7 : 5.2, Math.cos(angle) * distance);
    camera.lookAt(0, 1.1, 0);
    if (wide) camera.rotateY(0.26);
    else camera.rotateX(-0.3);
    camera.updateMatrixWorld();
  }

  #pyramid(x: number, z: number, layers: number): void {
    for (let layer = 0; layer < layers; layer++) {
      const across = layers - layer;
      for (let cell = 0; cell < across * across; cell++) {
        const column = (cell % across) - (across - 1) / 2;
        const row = Math.floor(cell / across) - (across - 1) / 2;
        this.#block(x + column * EDGE * 1.015, layer, z + row * EDGE * 1.015, 0, PALETTE[layer % 5] ?? 0);
      }
    }
  }

  #stack(x: number, z: number, height: number, turn: number): void {
    for (let layer = 0; layer < height; layer++) {
      this.#block(x, layer, z, turn + layer * 0.13, PALETTE[(layer * 2 + height) % 5] ?? 0);
    }
  }

  #block(x: number, layer: number, z: number, yaw: number, color: number): void {
    const pose = { ...createPose(), x, y: (layer + 0.5) * EDGE, z };
    pose.qy = Math.sin(yaw / 2);
    pose.qw = Math.cos(yaw / 2);
    this.#add(BLOCK, color, pose);
  }

  #walker(color: number, radius: number, speed: number, start: number): void {
    const id = this.#add(PERSON, color, { ...createPose(), y: 0.9 });
    this.#walkers.push({ id, radius, speed, start });
  }

  #add(of: DrawnKind, color: number, pose: Pose): number {
    const id = this.#nextId++;
    const entity = { id, kind: of, scale: UNSCALED, parent: undefined, attributes: { color } };
    this.#scene.add(describeBody(entity), pose, undefined);
    return id;
  }
}

const UNSCALED: Vector = [1, 1, 1];
