import {
  CustomBlending,
  DstColorFactor,
  InstancedMesh,
  Matrix4,
  OneFactor,
  PlaneGeometry,
  ShaderMaterial,
} from "three";
import { darknessOf, isStreetLamp, LAMP_HALF_HEIGHT_M } from "./lamp.js";
import type { Prop } from "./prop.js";

/** Pools that are drawn at once. */
export const POOLS_MAX = 64;
const RADIUS_M = 4.5;
/** A pool lies this far above the foot of its lamp, so that it also covers paths, in metres. */
const LIFT_M = 0.05;

/** The light of street lamps on the ground, in the dark. All pools share one draw call, and no surface needs another light. */
export class LampPools {
  readonly mesh: InstancedMesh<PlaneGeometry, ShaderMaterial>;
  readonly #lamps: Prop[] = [];

  constructor() {
    const material = new ShaderMaterial({
      transparent: true,
      depthWrite: false,
      polygonOffset: true,
      polygonOffsetFactor: -2,
      polygonOffsetUnits: -2,
      // The ground becomes brighter in its own colour.
      blending: CustomBlending,
      blendSrc: DstColorFactor,
      blendDst: OneFactor,
      uniforms: { strength: { value: 0 } },
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
    });
    this.mesh = new InstancedMesh(new PlaneGeometry(2, 2).rotateX(-Math.PI / 2), material, POOLS_MAX);
    this.mesh.frustumCulled = false;
    // After the footprints, which lie below the pools.
    this.mesh.renderOrder = 3;
    this.mesh.count = 0;
    this.mesh.onBeforeRender = (_renderer, scene) => {
      material.uniforms["strength"]!.value = darknessOf(scene.background);
    };
  }

  add(prop: Prop): void {
    if (!isStreetLamp(prop)) return;
    this.#lamps.push(prop);
    this.#write(this.#lamps.length - 1);
  }

  remove(prop: Prop): void {
    const place = this.#lamps.indexOf(prop);
    if (place < 0) return;
    const last = this.#lamps.pop()!;
    if (last !== prop) this.#lamps[place] = last;
    this.#write(place);
  }

  place(prop: Prop): void {
    const place = this.#lamps.indexOf(prop);
    if (place >= 0) this.#write(place);
  }

  clear(): void {
    this.#lamps.length = this.mesh.count = 0;
  }

  dispose(): void {
    this.mesh.geometry.dispose();
    this.mesh.material.dispose();
    this.mesh.dispose();
  }

  #write(place: number): void {
    this.mesh.count = Math.min(this.#lamps.length, POOLS_MAX);
    const lamp = this.#lamps[place];
    if (lamp === undefined || place >= POOLS_MAX) return;
    const { x, y, z } = lamp.position;
    const [, scale] = lamp.body.scale;
    MATRIX.makeScale(RADIUS_M * scale, 1, RADIUS_M * scale);
    MATRIX.setPosition(x, y - LAMP_HALF_HEIGHT_M * scale + LIFT_M, z);
    this.mesh.setMatrixAt(place, MATRIX);
    this.mesh.instanceMatrix.needsUpdate = true;
  }
}

const VERTEX = /* glsl */ `
  varying vec2 vPlace;
  void main() {
    vPlace = position.xz;
    gl_Position = projectionMatrix * modelViewMatrix * instanceMatrix * vec4(position, 1.0);
  }`;

const FRAGMENT = /* glsl */ `
  uniform float strength;
  varying vec2 vPlace;
  void main() {
    float near = max(0.0, 1.0 - dot(vPlace, vPlace));
    gl_FragColor = vec4(vec3(0.5, 0.36, 0.19) * strength * near * near, 1.0);
  }`;

const MATRIX = new Matrix4();
