import {
  DynamicDrawUsage,
  Group,
  InstancedBufferAttribute,
  InstancedMesh,
  Matrix4,
  MeshBasicMaterial,
  PlaneGeometry,
  Vector3,
} from "three";
import type { Prop } from "./prop.js";

const CAPACITY_MIN = 64;
/** Darkness of the ground at the edge of a body, 0 to 1. */
const STRENGTH = 0.42;
/** A body higher above the ground than this leaves no footprint, in metres. */
const ABOVE_M = 0.6;
/** Flatter bodies are paths and lines, which hide no sky. */
const FLAT_M = 0.03;
/** A footprint lies this far above the ground, in metres. */
const LIFT_M = 0.016;

/** Height of the ground below a place that is at most `y` high; `undefined` if there is no ground. */
export type GroundAt = (x: number, y: number, z: number) => number | undefined;

/**
 * Soft shade on the ground around the foot of each body: the body hides part of the sky there. All bodies share one draw call.
 */
export class Footprints {
  readonly group = new Group();
  readonly #groundAt: GroundAt;
  readonly #props: Prop[] = [];
  readonly #places = new Map<Prop, number>();
  #capacity = CAPACITY_MIN;
  #mesh: InstancedMesh | undefined;
  #foot!: InstancedBufferAttribute;

  constructor(groundAt: GroundAt) {
    this.#groundAt = groundAt;
  }

  add(prop: Prop): void {
    if (prop.form.shape === "heights" || prop.opacity < 0.5 || prop.halfY < FLAT_M) return;
    this.#places.set(prop, this.#props.length);
    this.#props.push(prop);
    if (this.#mesh === undefined || this.#props.length > this.#capacity) this.#rebuild();
    else this.#write(this.#props.length - 1);
    this.#count();
  }

  remove(prop: Prop): void {
    const place = this.#places.get(prop);
    if (place === undefined) return;
    this.#places.delete(prop);
    const last = this.#props.pop()!;
    if (last !== prop) {
      this.#props[place] = last;
      this.#places.set(last, place);
      this.#write(place);
    }
    this.#count();
  }

  place(prop: Prop): void {
    const place = this.#places.get(prop);
    if (place !== undefined) this.#write(place);
  }

  /** Finds all footprints again, after the ground has changed. */
  refresh(): void {
    for (let place = 0; place < this.#props.length; place++) this.#write(place);
  }

  clear(): void {
    this.#props.length = 0;
    this.#places.clear();
    this.#count();
  }

  dispose(): void {
    if (!this.#mesh) return;
    this.#mesh.removeFromParent();
    this.#mesh.geometry.dispose();
    (this.#mesh.material as MeshBasicMaterial).dispose();
    this.#mesh.dispose();
    this.#mesh = undefined;
  }

  #count(): void {
    if (this.#mesh) this.#mesh.count = this.#props.length;
  }

  #rebuild(): void {
    this.dispose();
    while (this.#capacity < this.#props.length) this.#capacity *= 2;
    const geometry = new PlaneGeometry(2, 2).rotateX(-Math.PI / 2);
    this.#foot = new InstancedBufferAttribute(new Float32Array(this.#capacity * 4), 4);
    this.#foot.setUsage(DynamicDrawUsage);
    geometry.setAttribute("aFoot", this.#foot);
    const mesh = new InstancedMesh(geometry, createMaterial(), this.#capacity);
    mesh.instanceMatrix.setUsage(DynamicDrawUsage);
    mesh.frustumCulled = false;
    // The ground is drawn late, and the footprints lie on it.
    mesh.renderOrder = 2;
    this.#mesh = mesh;
    this.group.add(mesh);
    this.refresh();
  }

  #write(place: number): void {
    const prop = this.#props[place]!;
    const [right, up, back] = axes(prop);
    const halves = [prop.halfX, prop.halfY, prop.halfZ] as const;
    const ends = [right, up, back] as const;
    // The axis that is nearest to the vertical; the other two span the footprint.
    const upright = ends.reduce(
      (best, axis, at) => (Math.abs(axis.y) > Math.abs(ends[best]!.y) ? at : best),
      0,
    );
    const [a, b] = upright === 0 ? [1, 2] : upright === 1 ? [0, 2] : [0, 1];
    const below = ends.reduce((sum, axis, at) => sum + Math.abs(axis.y) * halves[at]!, 0);
    const { x, y, z } = prop.position;
    const bottom = y - below;
    const ground = this.#groundAt(x, bottom + 0.2, z);
    const height = ground === undefined ? ABOVE_M : Math.max(0, bottom - ground);
    const strength = STRENGTH * Math.max(0, 1 - height / ABOVE_M) * Math.abs(ends[upright]!.y) ** 4;
    const spread = Math.min(0.7, 0.12 + 0.3 * below + 0.5 * height);
    const isRound = prop.form.shape !== "box";
    const shrink = prop.form.shape === "sphere" ? 0.5 : 1;
    const [wide, deep] = [halves[a]! * shrink, halves[b]! * shrink];
    FORWARD.copy(ends[a]!)
      .setY(0)
      .normalize()
      .multiplyScalar(wide + spread);
    SIDE.set(-FORWARD.z, 0, FORWARD.x).multiplyScalar((deep + spread) / Math.max(1e-6, wide + spread));
    MATRIX.makeBasis(FORWARD, UP, SIDE).setPosition(x, (ground ?? 0) + LIFT_M, z);
    if (strength <= 0) MATRIX.makeScale(0, 0, 0);
    this.#mesh!.setMatrixAt(place, MATRIX);
    this.#foot.setXYZW(place, wide, deep, isRound ? -spread : spread, strength);
    this.#mesh!.instanceMatrix.needsUpdate = true;
    this.#foot.needsUpdate = true;
  }
}

/** The directions of a body's own axes. */
function axes({ quaternion }: Prop): readonly [Vector3, Vector3, Vector3] {
  MATRIX.makeRotationFromQuaternion(quaternion).extractBasis(RIGHT, TOP, BACK);
  return [RIGHT, TOP, BACK];
}

/** Shade that falls off with the distance from a rectangle, or from an ellipse if the third number is negative. */
function createMaterial(): MeshBasicMaterial {
  const material = new MeshBasicMaterial({
    color: 0x0a0e1c,
    transparent: true,
    depthWrite: false,
    polygonOffset: true,
    polygonOffsetFactor: -1,
    polygonOffsetUnits: -1,
  });
  material.onBeforeCompile = (shader) => {
    shader.vertexShader = shader.vertexShader
      .replace("#include <common>", `#include <common>\nattribute vec4 aFoot;\n${VARYINGS}`)
      .replace(
        "#include <fog_vertex>",
        "#include <fog_vertex>\nvFoot = aFoot;\nvPlace = position.xz * (aFoot.xy + abs(aFoot.z));",
      );
    shader.fragmentShader = shader.fragmentShader
      .replace("#include <common>", `#include <common>\n${VARYINGS}`)
      .replace("#include <color_fragment>", `#include <color_fragment>\n${SHADE}`);
  };
  return material;
}

const VARYINGS = "varying vec4 vFoot; varying vec2 vPlace;";

const SHADE = /* glsl */ `
  {
    float spread = abs(vFoot.z);
    float corner = vFoot.z < 0.0 ? min(vFoot.x, vFoot.y) : 0.0;
    vec2 out2 = abs(vPlace) - vFoot.xy + corner;
    float away = length(max(out2, 0.0)) + min(max(out2.x, out2.y), 0.0) - corner;
    float near = 1.0 - clamp(away / spread, 0.0, 1.0);
    diffuseColor.a *= vFoot.w * near * near;
  }`;

const UP = new Vector3(0, 1, 0);
const RIGHT = new Vector3();
const TOP = new Vector3();
const BACK = new Vector3();
const FORWARD = new Vector3();
const SIDE = new Vector3();
const MATRIX = new Matrix4();
