import type { WorldStage } from "@nowcast/page/internal";
import {
  createPose,
  type DrawnKind,
  describeBody,
  type Pose,
  type PoseSource,
  type WorldScene,
} from "@nowcast/three/internal";
import type { Vector } from "nowcast/internal";
import type { PerspectiveCamera } from "three";

const PALETTE = [0xd97541, 0xe9b44c, 0xf1e9d2, 0x8fc7b5, 0x2a7f86] as const;
const FIRST_ID = 1_000_000;
const EDGE = 0.7;
const SEA = -3.2;

const GROUND: DrawnKind = {
  ...kind("ground", { motion: "fixed", shape: "box", size: [60, 2, 60] }),
  look: { sea: SEA },
};
const PATH: DrawnKind = kind("path", { motion: "fixed", shape: "box", size: [1, 1, 1] });
const BLOCK: DrawnKind = kind("block", { shape: "box", size: [EDGE, EDGE, EDGE] });
const PERSON: DrawnKind = { name: "person", body: undefined, walker: {}, look: undefined };

/** Models of the kit around the blocks: their height, and for each one x, z and scale. */
const SCENERY: readonly (readonly [string, number, readonly (readonly [number, number, number])[]])[] = [
  [
    "tree",
    3.75,
    [
      [-9, -9, 1.25],
      [8.6, -10.5, 1.4],
      [13, -5, 1.1],
      [-14.5, -4, 1.3],
      [-3.4, -14, 1.2],
      [15, 8, 1.2],
    ],
  ],
  [
    "pine",
    4.26,
    [
      [-11.6, -11, 1.1],
      [-6, -12, 0.9],
      [11, -12.6, 1.2],
      [3, -15, 1.1],
      [-15.5, 6, 1],
      [16.5, 2, 1],
    ],
  ],
  [
    "bush",
    0.86,
    [
      [-7.4, -8, 1.2],
      [7, -8.8, 1.3],
      [11.6, -3.6, 1.1],
      [-12.4, -2.6, 1.3],
      [-1.6, -12.6, 1.2],
    ],
  ],
  [
    "rock",
    0.83,
    [
      [9.8, -7.6, 1.2],
      [-10.2, -6.6, 1.1],
      [13.6, 3.6, 1],
      [-6.4, 6.6, 0.8],
    ],
  ],
  [
    "lamp",
    3.1,
    [
      [-7.2, 0.6, 1],
      [7.6, 0.4, 1],
    ],
  ],
  ["bench", 0.89, [[2.6, -8, 1]]],
];

function kind(name: string, body: Record<string, unknown>): DrawnKind {
  return { name, body, walker: undefined, look: undefined };
}

interface Walker {
  readonly id: number;
  readonly radius: number;
  readonly speed: number;
  readonly start: number;
}

/** Two people who throw a block to each other: where they stand, and the times of a throw and of a pause, in seconds. */
const THROWERS = [
  { x: -2.6, z: 4.3, color: 0xe0604f },
  { x: 2.7, z: 3.7, color: 0x3c8fd0 },
] as const;
const FLIGHT_S = 0.95;
const HOLD_S = 1.5;
const CHEST_M = 1.05;
const ARM_M = 0.62;

/** An animated background of the start screen, generated here: the page connects to nothing before the user enters. */
export class Backdrop implements PoseSource {
  readonly #walkers: Walker[] = [];
  readonly #throwers: number[] = [];
  #ball = 0;
  #holder: number | undefined;
  #nextId = FIRST_ID;
  #seconds = 0;
  readonly #scene: WorldScene;
  readonly display = { hasJumped: () => false };

  constructor(scene: WorldScene) {
    this.#scene = scene;
  }

  show(): void {
    this.hide();
    this.#add(GROUND, 0x86a866, createPose(0, -1));
    this.#path(0, 8, 2.4, 14);
    this.#path(0, 2.6, 13, 2.2);
    this.#pyramid(0, -1.6, 5);
    this.#stack(-5.2, -3.8, 4, 0.35);
    this.#stack(5.4, -3.6, 3, -0.3);
    this.#stack(5.9, 1.6, 1, 0.8);
    this.#stack(-5.8, 1.4, 2, 0.2);
    this.#plant();
    this.#walker(0x5cae6b, 4.9, -1.35, 4.4);
    this.#walker(0xf2b134, 6.9, 2.6, 2.5);
    for (const { x, z, color } of THROWERS) {
      // They look across the middle, X = 0.
      const yaw = x < 0 ? -Math.PI / 2 : Math.PI / 2;
      this.#throwers.push(this.#add(PERSON, color, createPose(x, 0.9, z, yaw)));
    }
    this.#ball = this.#add(BLOCK, PALETTE[1], createPose());
  }

  hide(): void {
    this.#scene.clear();
    this.#walkers.length = this.#throwers.length = 0;
    this.#holder = undefined;
    this.#nextId = FIRST_ID;
  }

  /** Some figures walk in circles, and two throw a block to each other. For users who prefer reduced motion, all stand still. */
  animate(frameSeconds: number, { staging, camera }: WorldStage): void {
    this.#seconds += staging.isStill ? 0 : frameSeconds;
    const seconds = this.#seconds;
    for (const { id, radius, speed, start } of this.#walkers) {
      const angle = start + (seconds * speed) / radius;
      const yaw = -angle + (speed > 0 ? Math.PI : 0);
      POSE.position.set(Math.cos(angle) * radius, 0.9, Math.sin(angle) * radius);
      POSE.quaternion.set(0, Math.sin(yaw / 2), 0, Math.cos(yaw / 2));
      this.#scene.crowd.place(id, POSE);
    }
    const { side, share } = throwAt(seconds);
    const holder = share === 0 ? this.#throwers[side] : undefined;
    if (holder !== this.#holder) {
      this.#hold(this.#holder, false);
      this.#hold(holder, true);
      this.#holder = holder;
    }
    this.#scene.placeProps(this);
    this.#scene.animate(frameSeconds);
    aim(camera, seconds);
  }

  /** The pose of the thrown block; nothing else moves by itself. */
  pose(id: number, out: Pose): boolean {
    if (id !== this.#ball) return false;
    const { side, share } = throwAt(this.#seconds);
    const [from, to] = [THROWERS[side], THROWERS[side === 0 ? 1 : 0]];
    const way = Math.hypot(to.x - from.x, to.z - from.z);
    const along = ARM_M + (way - 2 * ARM_M) * share;
    out.position.set(
      from.x + ((to.x - from.x) * along) / way,
      CHEST_M + 6 * share * (1 - share),
      from.z + ((to.z - from.z) * along) / way,
    );
    out.quaternion.set(Math.sin((share * Math.PI) / 2), 0, 0, Math.cos((share * Math.PI) / 2));
    return true;
  }

  #hold(person: number | undefined, isHolding: boolean): void {
    const member = person === undefined ? undefined : this.#scene.crowd.get(person);
    if (member) this.#scene.crowd.change({ ...member.body, holding: isHolding ? this.#ball : undefined });
  }

  #plant(): void {
    for (const [model, height, places] of SCENERY) {
      const of: DrawnKind = {
        ...kind(model, { motion: "fixed", shape: "box", size: [0.5, height, 0.5] }),
        look: { model: `@nowcast/kit/${model}` },
      };
      for (const [index, [x, z, scale]] of places.entries()) {
        const pose = createPose(x, (height / 2) * scale, z, index * 2.1);
        this.#add(of, 0xffffff, pose, [scale, scale, scale]);
      }
    }
    const boat: DrawnKind = {
      ...kind("boat", { motion: "fixed", shape: "box", size: [1.2, 0.8, 3.2] }),
      look: { model: "@nowcast/kit/boat" },
    };
    this.#add(boat, 0xffffff, createPose(12, SEA + 0.3, -44, 0.823), [1.8, 1.8, 1.8]);
  }

  #path(x: number, z: number, width: number, depth: number): void {
    this.#add(PATH, 0xd9c9a3, createPose(x, 0.006, z), [width, 0.012, depth]);
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
    this.#add(BLOCK, color, createPose(x, (layer + 0.5) * EDGE, z, yaw));
  }

  #walker(color: number, radius: number, speed: number, start: number): void {
    const id = this.#add(PERSON, color, createPose(0, 0.9));
    this.#walkers.push({ id, radius, speed, start });
  }

  #add(of: DrawnKind, color: number, pose: Pose, scale: Vector = UNSCALED): number {
    const id = this.#nextId++;
    const entity = { id, kind: of, scale, parent: undefined, attributes: { color } };
    this.#scene.add(describeBody(entity), pose, undefined);
    return id;
  }
}

/**
 * Moves the camera slowly around the middle. The important part of the picture stays to the right of the
 * card on wide screens, and above it on tall screens.
 */
function aim(camera: PerspectiveCamera, seconds: number): void {
  const angle = 0.34 + Math.sin(seconds * 0.05) * 0.3;
  const wide = camera.aspect > 1;
  const distance = wide ? 12 : 15;
  camera.position.set(Math.sin(angle) * distance, wide ? 2.1 : 3.2, Math.cos(angle) * distance);
  camera.lookAt(0, 1.7, 0);
  if (wide) camera.rotateY(0.24);
  else camera.rotateX(-0.24);
  camera.updateMatrixWorld();
}

/** Who holds the block or has thrown it, and the share of its flight; 0 while it is held. */
function throwAt(seconds: number): { readonly side: 0 | 1; readonly share: number } {
  const turn = Math.floor(seconds / (HOLD_S + FLIGHT_S));
  const since = seconds - turn * (HOLD_S + FLIGHT_S);
  return { side: turn % 2 === 0 ? 0 : 1, share: Math.max(0, (since - HOLD_S) / FLIGHT_S) };
}

const POSE = createPose();
const UNSCALED: Vector = [1, 1, 1];
