import { isFields, readColor, readVector, type Vector, within } from "nowcast/internal";
import {
  BufferAttribute,
  BufferGeometry,
  Color,
  DynamicDrawUsage,
  Points,
  ShaderMaterial,
  Vector3,
} from "three";
import { pixelsAtOneMetre } from "./point-size.js";

/** Particles that are drawn at once, of all bursts. A new burst replaces the oldest particles. */
export const PARTICLES_MAX = 512;
const GRAVITY = 5;
/** Share of its speed that a particle loses in a second. */
const DRAG = 1.1;
const DUST_DRAG = 3;
const DUST_COUNT = 18;
const DUST_COLOR = 0xcfc3a6;
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

/** Draws bursts of particles: confetti that tumbles, and dust. One draw call for all. */
export class Bursts {
  readonly points: Points<BufferGeometry, ShaderMaterial>;
  readonly #places = attribute(3);
  readonly #colors = attribute(4);
  /** A random number, and 1 for dust. */
  readonly #traits = attribute(2);
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
    geometry.setAttribute("traits", this.#traits);
    const material = new ShaderMaterial({
      transparent: true,
      depthWrite: false,
      uniforms: { pixels: { value: 500 }, seconds: { value: 0 } },
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
    });
    this.points = new Points(geometry, material);
    this.points.frustumCulled = false;
    this.points.visible = false;
    this.points.renderOrder = 5;
    this.points.onBeforeRender = (renderer, _scene, camera) => {
      material.uniforms["pixels"]!.value = pixelsAtOneMetre(renderer, camera);
    };
  }

  /** Number of particles that are drawn now. */
  get count(): number {
    return this.#leftS.reduce((sum, left) => sum + (left > 0 ? 1 : 0), 0);
  }

  add({ at: [x, y, z], color, count, speed, seconds }: Burst): void {
    for (let number = 0; number < count; number++) {
      const up = 2 * this.#random() - 1;
      const turn = 2 * Math.PI * this.#random();
      const flat = Math.sqrt(1 - up * up);
      const fast = speed * (0.4 + 0.6 * this.#random());
      VELOCITY.set(flat * Math.cos(turn) * fast, up * fast, flat * Math.sin(turn) * fast);
      // Each piece has a tone of its own, from a little darker to nearly white.
      const tone = this.#random();
      COLOR.setHex(color).lerp(WHITE, tone > 0.8 ? 0.7 : 0);
      COLOR.multiplyScalar(0.75 + 0.35 * tone);
      this.#throw(x, y, z, seconds * (0.6 + 0.4 * this.#random()), 0);
    }
    this.points.visible = true;
  }

  /** Raises dust around feet that land with this force, from 0 to 1. */
  addDust(x: number, y: number, z: number, force: number): void {
    COLOR.setHex(DUST_COLOR);
    const count = Math.round(DUST_COUNT * force);
    for (let number = 0; number < count; number++) {
      const turn = 2 * Math.PI * ((number + this.#random()) / count);
      const fast = (1 + 2.4 * force) * (0.6 + 0.4 * this.#random());
      VELOCITY.set(Math.cos(turn) * fast, 0.4 + 0.5 * this.#random(), Math.sin(turn) * fast);
      this.#throw(x + Math.cos(turn) * 0.2, y + 0.06, z + Math.sin(turn) * 0.2, 0.5 + 0.3 * force, 1);
    }
    this.points.visible = true;
  }

  #throw(x: number, y: number, z: number, seconds: number, dust: 0 | 1): void {
    const index = this.#next;
    this.#next = (index + 1) % PARTICLES_MAX;
    VELOCITY.toArray(this.#velocities, 3 * index);
    this.#places.setXYZ(index, x, y, z);
    this.#colors.setXYZW(index, COLOR.r, COLOR.g, COLOR.b, 1);
    this.#traits.setXY(index, this.#random(), dust);
    this.#traits.needsUpdate = true;
    this.#lives[index] = this.#leftS[index] = seconds;
  }

  clear(): void {
    this.#leftS.fill(0);
    this.points.visible = false;
  }

  /** Moves the particles by a frame, and fades them. */
  update(seconds: number): void {
    if (!this.points.visible) return;
    this.points.material.uniforms["seconds"]!.value += seconds;
    let isOver = true;
    for (let index = 0; index < PARTICLES_MAX; index++) {
      const left = Math.max(0, this.#leftS[index]! - seconds);
      this.#leftS[index] = left;
      this.#colors.setW(index, left > 0 ? left / this.#lives[index]! : 0);
      if (left === 0) continue;
      isOver = false;
      const at = 3 * index;
      const isDust = this.#traits.getY(index) === 1;
      const kept = Math.exp(-(isDust ? DUST_DRAG : DRAG) * seconds);
      if (!isDust) this.#velocities[at + 1]! -= GRAVITY * seconds;
      for (let axis = 0; axis < 3; axis++) {
        this.#velocities[at + axis]! *= kept;
        this.#places.array[at + axis]! += this.#velocities[at + axis]! * seconds;
      }
    }
    this.#places.needsUpdate = true;
    this.#colors.needsUpdate = true;
    this.points.visible = !isOver;
  }

  dispose(): void {
    this.points.geometry.dispose();
    this.points.material.dispose();
  }

  /** A particle's place, for tests and for your own pages. */
  place(index: number, out: Vector3): Vector3 {
    return out.fromBufferAttribute(this.#places, index);
  }
}

function attribute(size: number): BufferAttribute {
  return new BufferAttribute(new Float32Array(size * PARTICLES_MAX), size).setUsage(DynamicDrawUsage);
}

/** Confetti is a square that turns about two axes. Dust is a round cloud that grows. */
const VERTEX = /* glsl */ `
  uniform float pixels, seconds;
  attribute vec4 color;
  attribute vec2 traits;
  varying vec4 vColor;
  varying vec3 vTurn;
  void main() {
    vec4 at = modelViewMatrix * vec4(position, 1.0);
    gl_Position = projectionMatrix * at;
    float metres = mix(0.1 + 0.08 * traits.x, 0.2 + 0.5 * (1.0 - color.a), traits.y);
    gl_PointSize = clamp(metres * pixels / max(0.1, -at.z), 1.0, 128.0);
    float turn = seconds * (4.0 + 7.0 * traits.x) + traits.x * 40.0;
    vTurn = vec3(turn * 0.7, cos(turn), traits.y);
    vColor = color;
    vColor.rgb *= mix(0.85 + 0.3 * abs(vTurn.y), 1.0, traits.y);
    vColor.a = mix(smoothstep(0.0, 0.35, color.a), 0.35 * color.a, traits.y);
  }`;

const FRAGMENT = /* glsl */ `
  varying vec4 vColor;
  varying vec3 vTurn;
  void main() {
    vec2 p = 2.0 * gl_PointCoord - 1.0;
    float c = cos(vTurn.x), s = sin(vTurn.x);
    vec2 q = vec2(c * p.x - s * p.y, s * p.x + c * p.y);
    float paper = step(abs(q.x), 0.7) * step(abs(q.y), 0.7 * max(0.18, abs(vTurn.y)));
    float cloud = 1.0 - smoothstep(0.2, 1.0, length(p));
    gl_FragColor = vec4(vColor.rgb, vColor.a * mix(paper, cloud, vTurn.z));
    if (gl_FragColor.a < 0.01) discard;
    #include <colorspace_fragment>
  }`;

const COLOR = new Color();
const WHITE = new Color(1, 1, 1);
const VELOCITY = new Vector3();
