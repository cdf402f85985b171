import { isFields, readColor, readVector, type Vector, within } from "nowcast/internal";
import {
  BufferAttribute,
  BufferGeometry,
  Color,
  DynamicDrawUsage,
  Points,
  PointsMaterial,
  type Vector3,
} from "three";

/** Particles that are drawn at once, of all bursts. A new burst replaces the oldest particles. */
export const PARTICLES_MAX = 512;
const GRAVITY = 5;
const SIZE_M = 0.16;
const COUNT_MAX = 128;
const SPEED_MAX = 20;
const SECONDS_MAX = 5;

/** Particles that fly apart from a place: the payload of the event `burst`. */
export interface Burst {
  readonly at: Vector;
  /** Packed RGB. */
  readonly color: number;
  /** Number of particles. */
  readonly count: number;
  /** Greatest initial speed, in metres a second. */
  readonly speed: number;
  /** Time until the particles have faded, in seconds. */
  readonly seconds: number;
}

/** Reads the payload of the event `burst`; `undefined` without a place. A missing or invalid field gets its default. */
export function readBurst(payload: unknown): Burst | undefined {
  if (!isFields(payload)) return undefined;
  const at = readVector(payload["at"]);
  if (at === undefined) return undefined;
  return {
    at,
    color: readColor(payload["color"]) ?? 0xffffff,
    count: Math.round(within(payload["count"], 1, COUNT_MAX) ?? 32),
    speed: within(payload["speed"], 0, SPEED_MAX) ?? 4,
    seconds: within(payload["seconds"], 0.1, SECONDS_MAX) ?? 1,
  };
}

/** Draws bursts of particles. */
export class Bursts {
  readonly points: Points<BufferGeometry, PointsMaterial>;
  readonly #places = attribute(3);
  readonly #colors = attribute(4);
  readonly #velocities = new Float32Array(3 * PARTICLES_MAX);
  readonly #lives = new Float32Array(PARTICLES_MAX);
  readonly #leftS = new Float32Array(PARTICLES_MAX);
  #next = 0;
  readonly #random: () => number;

  /** `random` returns numbers from 0 to 1. */
  constructor(random: () => number = Math.random) {
    this.#random = random;
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", this.#places);
    geometry.setAttribute("color", this.#colors);
    const material = new PointsMaterial({
      size: SIZE_M,
      vertexColors: true,
      transparent: true,
      depthWrite: false,
    });
    this.points = new Points(geometry, material);
    this.points.frustumCulled = false;
    this.points.visible = false;
  }

  /** Number of particles that are drawn now. */
  get count(): number {
    return this.#leftS.reduce((sum, left) => sum + (left > 0 ? 1 : 0), 0);
  }

  add({ at: [x, y, z], color, count, speed, seconds }: Burst): void {
    COLOR.setHex(color);
    for (let number = 0; number < count; number++) {
      const index = this.#next;
      this.#next = (index + 1) % PARTICLES_MAX;
      const up = 2 * this.#random() - 1;
      const turn = 2 * Math.PI * this.#random();
      const flat = Math.sqrt(1 - up * up);
      const fast = speed * (0.4 + 0.6 * this.#random());
      this.#velocities.set(
        [flat * Math.cos(turn) * fast, up * fast, flat * Math.sin(turn) * fast],
        3 * index,
      );
      this.#places.setXYZ(index, x, y, z);
      this.#colors.setXYZW(index, COLOR.r, COLOR.g, COLOR.b, 1);
      this.#lives[index] = this.#leftS[index] = seconds * (0.6 + 0.4 * this.#random());
    }
    this.points.visible = true;
  }

  clear(): void {
    this.#leftS.fill(0);
    this.points.visible = false;
  }

  /** Moves the particles by a frame, and fades them. */
  update(seconds: number): void {
    if (!this.points.visible) return;
    let isOver = true;
    for (let index = 0; index < PARTICLES_MAX; index++) {
      const left = Math.max(0, this.#leftS[index]! - seconds);
      this.#leftS[index] = left;
      this.#colors.setW(index, left > 0 ? left / this.#lives[index]! : 0);
      if (left === 0) continue;
      isOver = false;
      const at = 3 * index;
      this.#velocities[at + 1]! -= GRAVITY * seconds;
      for (let axis = 0; axis < 3; axis++)
        this.#places.array[at + axis]! += this.#velocities[at + axis]! * seconds;
    }
    this.#places.needsUpdate = true;
    this.#colors.needsUpdate = true;
    this.points.visible = !isOver;
  }

  /** A particle's place, for tests and for your own pages. */
  place(index: number, out: Vector3): Vector3 {
    return out.fromBufferAttribute(this.#places, index);
  }
}

function attribute(size: number): BufferAttribute {
  return new BufferAttribute(new Float32Array(size * PARTICLES_MAX), size).setUsage(DynamicDrawUsage);
}

const COLOR = new Color();
