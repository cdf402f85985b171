import { BoxGeometry, Group, type InstancedMesh, Mesh, MeshLambertMaterial } from "three";
import type { Body, Pose } from "../net.js";
import { createGrass } from "./grass.js";
import type { RayBox } from "./ray.js";

/** The stone circle in the middle of the lawn. */
const PLAZA_RADIUS_M = 6.8;
const STONE = "vec3(0.62, 0.58, 0.5)";

/** A static so wide and flat is the ground that people stand on, and gets its paving. */
export function isGround(body: Body): boolean {
  const [x, y, z] = body.size;
  return body.kind === "static" && x >= 30 && z >= 30 && y < Math.min(x, z) / 10;
}

/** The ground on its plinth in the sea. */
export class Ground {
  readonly group = new Group();
  /** What was added last, and its colour; grass grows on it when somebody asks for it. */
  private lawn: { body: Body; pose: Pose } | undefined;
  private grass: InstancedMesh | undefined;
  private fine = false;
  private readonly paving = createPaving(() => this.fine);
  private readonly stone = new MeshLambertMaterial({ color: 0x6d6a66 });

  clear(): void {
    this.lawn = undefined;
    this.mow();
    for (const child of [...this.group.children]) {
      this.group.remove(child);
      if (child instanceof Mesh) child.geometry.dispose();
    }
  }

  add(body: Body, pose: Pose): void {
    const [x, y, z] = body.size;
    // The middle of its upper side is the origin of what is painted on it.
    const slab = new Mesh(new BoxGeometry(x, y, z).translate(0, -y / 2, 0), this.paving);
    slab.quaternion.set(pose.qx, pose.qy, pose.qz, pose.qw);
    slab.position.set(pose.x, pose.y, pose.z);
    slab.translateY(y / 2);
    slab.receiveShadow = true;
    this.paving.color.set(body.color);
    const plinth = new Mesh(new BoxGeometry(x - 1.2, 5, z - 1.2), this.stone);
    plinth.position.set(pose.x, pose.y - y / 2 - 2.5, pose.z);
    this.stone.color.set(body.color).multiplyScalar(0.55);
    // Whatever stands on the ground hides some of it, so it is drawn after that; the sea and the sky follow.
    slab.renderOrder = plinth.renderOrder = 1;
    this.group.add(slab, plinth);
    this.lawn = { body, pose: { ...pose } };
  }

  /** Lets grass grow where nothing of what is fixed stands. */
  grow(obstacles: readonly RayBox[]): void {
    this.mow();
    if (!this.lawn) return;
    const { body, pose } = this.lawn;
    const [x, y, z] = body.size;
    const box = { ...pose, halfX: x / 2, halfY: y / 2, halfZ: z / 2 };
    this.grass = createGrass(box, PLAZA_RADIUS_M + 0.15, body.color, obstacles);
    this.group.add(this.grass);
  }

  /** Paints the lawn finely, or coarsely for slow machines. */
  setDetail(fine: boolean): void {
    if (fine === this.fine) return;
    this.fine = fine;
    this.paving.needsUpdate = true;
  }

  mow(): void {
    if (!this.grass) return;
    this.group.remove(this.grass);
    this.grass.geometry.dispose();
    this.grass.dispose();
    this.grass = undefined;
  }
}

/** A lawn with a round plaza of stone in its middle, all by arithmetic: no picture has to be loaded. */
function createPaving(isFine: () => boolean): MeshLambertMaterial {
  const material = new MeshLambertMaterial();
  // Materials that look alike share a program; these two do not.
  material.customProgramCacheKey = () => (isFine() ? "fine paving" : "paving");
  material.onBeforeCompile = (shader) => {
    shader.vertexShader = shader.vertexShader
      .replace("#include <common>", "#include <common>\nvarying vec3 vGround;")
      .replace("#include <fog_vertex>", "#include <fog_vertex>\nvGround = transformed;");
    shader.fragmentShader = shader.fragmentShader
      .replace(
        "#include <common>",
        `${isFine() ? "#define FINE\n" : ""}#include <common>\nvarying vec3 vGround;\n${NOISE}`,
      )
      .replace("#include <color_fragment>", `#include <color_fragment>\n${PAVING}`);
  };
  return material;
}

const NOISE = /* glsl */ `
  // Without sines: they are what software renderers are slowest at.
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
  }
  // Mown in two directions, with patches where the grass stands drier.
  vec3 lawnColor(vec3 grass, vec2 p, float blur) {
    vec2 strip = floor(p / 3.0 + 0.5);
    float mown = (mod(strip.x, 2.0) + mod(strip.y, 2.0)) * 0.5 - 0.5;
    float patches = paveNoise(p * 0.35) - 0.5;
    float blades = (paveNoise(p * vec2(7.0, 5.0)) - 0.5) * clamp(0.2 / blur, 0.0, 1.0);
    float tufts = 0.0;
    #ifdef FINE
      tufts = smoothstep(0.55, 0.8, paveNoise(p * 2.3 + 9.0)) * clamp(0.4 / blur, 0.0, 1.0);
      if (blur < 0.03) blades += (paveNoise(p * vec2(31.0, 23.0)) - 0.5) * (1.0 - blur / 0.03) * 0.9;
    #endif
    grass *= 1.0 + 0.08 * mown + 0.14 * patches + 0.16 * blades - 0.1 * tufts;
    return mix(grass, grass * vec3(1.12, 1.02, 0.8), smoothstep(0.0, 0.5, patches) * 0.5);
  }
  // Rings of stones, each ring with as many as give them about the same length.
  vec3 plazaColor(vec2 p, float radius, float blur) {
    float ring = floor(radius / 0.9);
    float stones = max(6.0, floor(ring * 6.2831853 * 0.9 / 1.3));
    float angle = atan(p.y, p.x) / 6.2831853 * stones + mod(ring, 2.0) * 0.5;
    float tone = paveHash(vec2(floor(angle), ring)) - 0.5;
    float inRing = min(fract(radius / 0.9), 1.0 - fract(radius / 0.9)) * 0.9;
    float inStone = min(fract(angle), 1.0 - fract(angle)) / stones * 6.2831853 * radius;
    float gap = 1.0 - smoothstep(0.012, 0.02 + blur, min(inRing, inStone));
    // A joint thinner than a pixel fades instead of flickering.
    gap *= clamp(0.09 / blur, 0.0, 1.0);
    vec3 stone = ${STONE} * (1.0 + 0.13 * tone) * (1.0 - 0.3 * gap);
    float kerb = 1.0 - smoothstep(0.11, 0.11 + blur, abs(radius - ${PLAZA_RADIUS_M} + 0.1));
    stone = mix(stone, ${STONE} * 1.16, kerb);
    return mix(stone, vec3(0.86, 0.46, 0.2), (1.0 - smoothstep(0.05, 0.05 + blur, abs(radius - 1.8))) * 0.55);
  }`;

const PAVING = /* glsl */ `
  {
    vec2 p = vGround.xz;
    float radius = length(p);
    float blur = fwidth(radius) + 0.01;
    float plaza = 1.0 - smoothstep(${PLAZA_RADIUS_M} - blur, ${PLAZA_RADIUS_M} + blur, radius);
    vec3 grass = diffuseColor.rgb;
    if (plaza < 1.0) diffuseColor.rgb = lawnColor(grass, p, blur);
    if (plaza > 0.0) diffuseColor.rgb = mix(diffuseColor.rgb, plazaColor(p, radius, blur), plaza);
    // The sides of the slab are earth.
    diffuseColor.rgb = mix(vec3(0.3, 0.23, 0.17), diffuseColor.rgb, smoothstep(-0.22, -0.12, vGround.y));
  }`;
