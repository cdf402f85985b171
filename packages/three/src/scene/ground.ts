import {
  BoxGeometry,
  Color,
  Group,
  type InstancedMesh,
  type Material,
  Mesh,
  MeshLambertMaterial,
  SRGBColorSpace,
} from "three";
import { copyPose } from "../pose.js";
import { createGrass } from "./grass.js";
import type { Prop } from "./prop.js";
import { SOFTEN_GLSL } from "./shape-material.js";

/** Paving is at most this high. */
const PAVING_M = 0.1;
/** A fixed entity this wide and flat is ground to walk on. */
const WIDE_M = 25;

export function isGround({ form, body, opacity, halfX, halfY, halfZ, quaternion }: Prop): boolean {
  const isUpright = Math.abs(quaternion.x) + Math.abs(quaternion.z) < 1e-3;
  const least = 2 * Math.min(halfX, halfZ);
  return (
    form.shape === "box" &&
    body.isFixed &&
    body.isSolid &&
    body.appearance?.model === undefined &&
    body.appearance?.texture === undefined &&
    opacity === 1 &&
    isUpright &&
    least >= WIDE_M &&
    2 * halfY < least / 10
  );
}

/** Whether a prop is a path, a line or a slab on the ground: flat, without a body, and attached to nothing. */
export function isPaving({ body, hasMoved, opacity, halfX, halfY, halfZ }: Prop): boolean {
  if (!body.isScenery || hasMoved || opacity < 1) return false;
  return 2 * halfY <= PAVING_M && 4 * halfY < Math.min(halfX, halfZ);
}

interface Slab {
  readonly prop: Prop;
  readonly top: Mesh;
  readonly plinth: Mesh;
}

/** Draws ground, on a plinth if there is a sea. Green ground is a lawn; other ground is paved. */
export class Ground {
  readonly group = new Group();
  readonly #slabs = new Map<number, Slab>();
  #grass: InstancedMesh | undefined;
  #isFine = false;
  #isInSea = false;

  clear(): void {
    for (const id of [...this.#slabs.keys()]) this.remove(id);
    this.mow();
  }

  add(prop: Prop): void {
    const { halfX, halfY, halfZ } = prop;
    // The origin of the pattern is the middle of the upper side.
    const top = new Mesh(
      new BoxGeometry(2 * halfX, 2 * halfY, 2 * halfZ).translate(0, -halfY, 0),
      createPaving(groundColor(prop.color), isGreen(prop.color), this.#isFine),
    );
    copyPose(prop, top);
    top.translateY(halfY);
    top.receiveShadow = true;
    const plinth = new Mesh(
      new BoxGeometry(2 * halfX - 1.2, PLINTH_M, 2 * halfZ - 1.2),
      new MeshLambertMaterial({ color: new Color(prop.color).multiplyScalar(0.55) }),
    );
    copyPose(prop, plinth);
    plinth.position.y -= halfY + PLINTH_M / 2;
    // Entities on the ground hide part of it, so it is drawn after them, before the sea and the sky.
    top.renderOrder = plinth.renderOrder = 1;
    plinth.visible = this.#isInSea;
    this.group.add(top, plinth);
    this.#slabs.set(prop.id, { prop, top, plinth });
  }

  /** Returns false if there is no such ground. */
  remove(id: number): boolean {
    const slab = this.#slabs.get(id);
    if (!slab) return false;
    for (const mesh of [slab.top, slab.plinth]) {
      this.group.remove(mesh);
      mesh.geometry.dispose();
      (mesh.material as MeshLambertMaterial).dispose();
    }
    this.#slabs.delete(id);
    return true;
  }

  /** Height of the highest ground below a place; `undefined` if there is none. */
  topAt(x: number, y: number, z: number): number | undefined {
    let highest: number | undefined;
    for (const { prop } of this.#slabs.values()) {
      const { position, quaternion } = prop;
      const top = position.y + prop.halfY;
      if (top > y || (highest !== undefined && top < highest)) continue;
      const yaw = 2 * Math.atan2(quaternion.y, quaternion.w);
      const [dx, dz] = [x - position.x, z - position.z];
      const along = dx * Math.cos(yaw) - dz * Math.sin(yaw);
      const across = dx * Math.sin(yaw) + dz * Math.cos(yaw);
      if (Math.abs(along) <= prop.halfX && Math.abs(across) <= prop.halfZ) highest = top;
    }
    return highest;
  }

  /** Grows grass on the widest lawn, except under these entities. */
  grow(obstacles: readonly Prop[]): void {
    this.mow();
    const lawns = [...this.#slabs.values()].map(({ prop }) => prop).filter(({ color }) => isGreen(color));
    const [lawn] = lawns.sort((a, b) => b.halfX * b.halfZ - a.halfX * a.halfZ);
    if (!lawn) return;
    this.#grass = createGrass(
      lawn,
      groundColor(lawn.color),
      obstacles.filter((prop) => !this.#slabs.has(prop.id)),
    );
    this.group.add(this.#grass);
  }

  /** Sets whether a sea lies around the ground. */
  setInSea(isInSea: boolean): void {
    this.#isInSea = isInSea;
    for (const { plinth } of this.#slabs.values()) plinth.visible = isInSea;
  }

  /** Sets the quality of the surface: fine, or coarse for slow machines. */
  setDetail(isFine: boolean): void {
    if (isFine === this.#isFine) return;
    this.#isFine = isFine;
    for (const { prop } of [...this.#slabs.values()]) {
      this.remove(prop.id);
      this.add(prop);
    }
  }

  mow(): void {
    if (!this.#grass) return;
    this.group.remove(this.#grass);
    this.#grass.geometry.dispose();
    (this.#grass.material as Material).dispose();
    this.#grass.dispose();
    this.#grass = undefined;
  }
}

const PLINTH_M = 5;

function isGreen(color: number): boolean {
  const { h, s } = new Color(color).getHSL({ h: 0, s: 0, l: 0 });
  return h > 0.18 && h < 0.45 && s > 0.12;
}

/** The green of a meadow in the sun: its hue, its greatest purity, and the range of its lightness, 0 to 1. */
const MEADOW = { hue: 0.235, purityMax: 0.31, lightness: [0.41, 0.53] } as const;

/** The colour in which ground is drawn. All lawns are kin to one meadow, so that worlds share a palette. */
function groundColor(color: number): number {
  if (!isGreen(color)) return color;
  const { h, s, l } = new Color(color).getHSL({ h: 0, s: 0, l: 0 }, SRGBColorSpace);
  const [darkest, lightest] = MEADOW.lightness;
  const lightness = Math.min(lightest, Math.max(darkest, l));
  const meadow = new Color();
  meadow.setHSL((h + MEADOW.hue) / 2, Math.min(s, MEADOW.purityMax), lightness, SRGBColorSpace);
  return meadow.getHex();
}

/** The material of a lawn or of stones. It is computed in the shader, so that no texture has to be loaded. */
function createPaving(color: number, isLawn: boolean, isFine: boolean): MeshLambertMaterial {
  const material = new MeshLambertMaterial({ color });
  // three.js would share one program between materials with equal parameters, but these have different shader
  // code.
  material.customProgramCacheKey = () => `paving ${isLawn} ${isFine}`;
  material.onBeforeCompile = (shader) => {
    shader.vertexShader = shader.vertexShader
      .replace("#include <common>", "#include <common>\nvarying vec3 vGround;")
      .replace("#include <fog_vertex>", "#include <fog_vertex>\nvGround = transformed;");
    shader.fragmentShader = shader.fragmentShader
      .replace(
        "#include <common>",
        `${isFine ? "#define FINE\n" : ""}#include <common>\nvarying vec3 vGround;\n${NOISE}${isLawn ? LAWN : STONES}`,
      )
      .replace("#include <color_fragment>", `#include <color_fragment>\n${SOFTEN_GLSL}${PAVING}`);
  };
  return material;
}

const NOISE = /* glsl */ `
  // This noise uses no sines, which are the slowest operation of software renderers.
  float paveHash(vec2 p) {
    vec3 q = fract(vec3(p.xyx) * 0.1031);
    q += dot(q, q.yzx + 33.33);
    return fract((q.x + q.y) * q.z);
  }
  float paveNoise(vec2 p) {
    vec2 i = floor(p), f = fract(p);
    f = f * f * (3.0 - 2.0 * f);
    return mix(
      mix(paveHash(i), paveHash(i + vec2(1, 0)), f.x),
      mix(paveHash(i + vec2(0, 1)), paveHash(i + vec2(1, 1)), f.x),
      f.y);
  }`;

const LAWN = /* glsl */ `
  // Patches of long and of dry grass have edges, and clumps of blades are drawn on them.
  vec3 groundColor(vec3 grass, vec2 p, float blur) {
    float edge = 0.012 + blur * 0.35;
    float ragged = (paveNoise(p * 2.1) - 0.5) * 0.16 * clamp(0.5 / blur, 0.0, 1.0);
    float dry = smoothstep(0.6 - edge, 0.6 + edge, paveNoise(p * 0.21) + ragged);
    float deep = smoothstep(0.6 - edge, 0.6 + edge, paveNoise(p * 0.17 + 31.0) + ragged);
    grass = mix(grass, grass * vec3(1.14, 1.06, 0.84), dry * 0.75);
    grass = mix(grass, grass * vec3(0.8, 0.88, 0.86), deep * 0.8);
    #ifdef FINE
      float clump = smoothstep(0.62, 0.7, paveNoise(p * vec2(9.0, 7.0))) * clamp(0.06 / blur, 0.0, 1.0);
      grass *= 1.0 - 0.09 * clump;
      if (blur < 0.04) grass *= 1.0 + (paveNoise(p * vec2(33.0, 25.0)) - 0.5) * (1.0 - blur / 0.04) * 0.14;
    #endif
    return grass * (1.0 + 0.06 * (paveNoise(p * 0.05) - 0.5));
  }`;

const STONES = /* glsl */ `
  // The stones are square slabs. Every second row is shifted by half a slab.
  vec3 groundColor(vec3 stone, vec2 p, float blur) {
    vec2 q = p / 2.0;
    q.x += 0.5 * mod(floor(q.y), 2.0);
    float tone = paveHash(floor(q)) - 0.5;
    vec2 inset = min(fract(q), 1.0 - fract(q)) * 2.0;
    float gap = 1.0 - smoothstep(0.012, 0.02 + blur, min(inset.x, inset.y));
    // A joint that is thinner than a pixel fades out, so that it does not flicker.
    gap *= clamp(0.09 / blur, 0.0, 1.0);
    stone *= 1.0 + 0.07 * tone + 0.06 * (paveNoise(p * 0.6) - 0.5);
    #ifdef FINE
      stone *= 1.0 + 0.05 * (paveNoise(p * 9.0) - 0.5) * clamp(0.2 / blur, 0.0, 1.0);
    #endif
    return stone * (1.0 - 0.24 * gap);
  }`;

const PAVING = /* glsl */ `
  {
    vec2 p = vGround.xz;
    float blur = fwidth(length(p)) + 0.01;
    vec3 painted = groundColor(diffuseColor.rgb, p, blur);
    // The sides of the ground are drawn as earth.
    vec3 earth = mix(vec3(0.3, 0.23, 0.17), diffuseColor.rgb * 0.6, 0.35);
    diffuseColor.rgb = mix(earth, painted, smoothstep(-0.22, -0.12, vGround.y));
  }`;
