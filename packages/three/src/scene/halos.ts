import {
  AdditiveBlending,
  BufferAttribute,
  BufferGeometry,
  Color,
  DynamicDrawUsage,
  Points,
  type Scene,
  ShaderMaterial,
} from "three";
import { darknessOf, isStreetLamp } from "./lamp.js";
import { pixelsAtOneMetre } from "./point-size.js";
import type { Prop } from "./prop.js";

/** Halos that are drawn at once. */
export const HALOS_MAX = 128;
/** Entities that glow less have no halo. */
const GLOW_MIN = 0.5;

/** The light of the kit's lamp: its height above the middle of the model, and half of its size, in metres. */
const LAMP = { up: 1.21, half: 0.35, color: 0xffdca0, glow: 1 };

/** A soft glare around entities that glow, and around the lights of street lamps. All halos share one draw call. */
export class Halos {
  readonly points: Points<BufferGeometry, ShaderMaterial>;
  readonly #props: Prop[] = [];
  readonly #places = attribute(3);
  readonly #colors = attribute(3);
  readonly #sizes = attribute(1);

  constructor() {
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", this.#places);
    geometry.setAttribute("color", this.#colors);
    geometry.setAttribute("size", this.#sizes);
    geometry.setDrawRange(0, 0);
    const material = new ShaderMaterial({
      transparent: true,
      depthWrite: false,
      blending: AdditiveBlending,
      uniforms: { pixels: { value: 500 }, strength: { value: 1 } },
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
    });
    this.points = new Points(geometry, material);
    this.points.frustumCulled = false;
    this.points.renderOrder = 6;
    this.points.onBeforeRender = (renderer, scene, camera) => {
      material.uniforms["strength"]!.value = haloStrength(scene.background);
      material.uniforms["pixels"]!.value = pixelsAtOneMetre(renderer, camera);
    };
  }

  get count(): number {
    return this.#props.length;
  }

  add(prop: Prop): void {
    const { glow = 0 } = prop.body.appearance ?? {};
    if ((glow < GLOW_MIN && !isStreetLamp(prop)) || this.#props.length >= HALOS_MAX) return;
    this.#props.push(prop);
    this.#write(this.#props.length - 1);
    this.points.geometry.setDrawRange(0, this.#props.length);
  }

  remove(prop: Prop): void {
    const place = this.#props.indexOf(prop);
    if (place < 0) return;
    const last = this.#props.pop()!;
    if (last !== prop) {
      this.#props[place] = last;
      this.#write(place);
    }
    this.points.geometry.setDrawRange(0, this.#props.length);
  }

  place(prop: Prop): void {
    const place = this.#props.indexOf(prop);
    if (place >= 0) this.#write(place);
  }

  clear(): void {
    this.#props.length = 0;
    this.points.geometry.setDrawRange(0, 0);
  }

  dispose(): void {
    this.points.geometry.dispose();
    this.points.material.dispose();
  }

  #write(place: number): void {
    const prop = this.#props[place]!;
    const { x, y, z } = prop.position;
    const isLamp = isStreetLamp(prop);
    const scale = isLamp ? prop.body.scale[1] : 1;
    this.#places.setXYZ(place, x, y + (isLamp ? LAMP.up * scale : 0), z);
    const glow = isLamp ? LAMP.glow : Math.min(1, (prop.body.appearance?.glow ?? 0) / 2.5);
    COLOR.setHex(isLamp ? LAMP.color : prop.color).multiplyScalar(0.2 + 0.35 * glow);
    this.#colors.setXYZ(place, COLOR.r, COLOR.g, COLOR.b);
    const largest = isLamp ? LAMP.half * scale : Math.max(prop.halfX, prop.halfY, prop.halfZ);
    this.#sizes.setX(place, Math.min(6, largest * 2 + 0.5) * 2);
    for (const changed of [this.#places, this.#colors, this.#sizes]) changed.needsUpdate = true;
  }
}

/** Halo brightness for a background: about 0.06 for a noon sky, 1 at dusk and at night. */
export function haloStrength(background: Scene["background"]): number {
  return 0.06 + 0.94 * darknessOf(background);
}

function attribute(size: number): BufferAttribute {
  return new BufferAttribute(new Float32Array(size * HALOS_MAX), size).setUsage(DynamicDrawUsage);
}

const VERTEX = /* glsl */ `
  uniform float pixels;
  uniform float strength;
  attribute vec3 color;
  attribute float size;
  varying vec3 vColor;
  void main() {
    vec4 at = modelViewMatrix * vec4(position, 1.0);
    gl_Position = projectionMatrix * at;
    gl_PointSize = min(256.0, size * pixels / max(0.1, -at.z));
    // A halo that fills the picture would blind.
    vColor = color * strength * smoothstep(0.4, 2.5, -at.z);
  }`;

const FRAGMENT = /* glsl */ `
  varying vec3 vColor;
  void main() {
    float away = min(1.0, 2.0 * length(gl_PointCoord - 0.5));
    float light = (1.0 - away) * (1.0 - away);
    gl_FragColor = vec4(vColor, light * light + 0.35 * light);
    #include <colorspace_fragment>
  }`;

const COLOR = new Color();
