import { BoxGeometry, Color, Group, Mesh, MeshLambertMaterial, type MeshStandardMaterial } from "three";
import type { Body, Pose } from "../net.js";

/** A static so wide and flat is the ground that people stand on, and gets its paving. */
export function isGround(body: Body): boolean {
  const [x, y, z] = body.size;
  return body.kind === "static" && x >= 30 && z >= 30 && y < Math.min(x, z) / 10;
}

/** The paved ground on its plinth in the sea. */
export class Ground {
  readonly group = new Group();
  private readonly paving = createPaving();
  private readonly stone = new MeshLambertMaterial({ color: 0x6d6a66 });

  clear(): void {
    for (const child of [...this.group.children]) {
      this.group.remove(child);
      if (child instanceof Mesh) child.geometry.dispose();
    }
  }

  add(body: Body, pose: Pose): void {
    const [x, y, z] = body.size;
    const slab = new Mesh(new BoxGeometry(x, y, z), this.paving);
    slab.position.set(pose.x, pose.y, pose.z);
    slab.quaternion.set(pose.qx, pose.qy, pose.qz, pose.qw);
    slab.receiveShadow = true;
    this.paving.color.set(body.color).lerp(new Color(0xffffff), 0.12);
    const plinth = new Mesh(new BoxGeometry(x - 1.2, 5, z - 1.2), this.stone);
    plinth.position.set(pose.x, pose.y - y / 2 - 2.5, pose.z);
    this.stone.color.set(body.color).multiplyScalar(0.55);
    this.group.add(slab, plinth);
  }
}

/** Paving by arithmetic: stones of two metres, a joint every metre's half, rings around the middle of the plaza. */
function createPaving(): MeshLambertMaterial & { color: MeshStandardMaterial["color"] } {
  const material = new MeshLambertMaterial();
  material.onBeforeCompile = (shader) => {
    shader.vertexShader = shader.vertexShader
      .replace("#include <common>", "#include <common>\nvarying vec3 vGround;")
      .replace(
        "#include <fog_vertex>",
        "#include <fog_vertex>\nvGround = (modelMatrix * vec4(transformed, 1.0)).xyz;",
      );
    shader.fragmentShader = shader.fragmentShader
      .replace("#include <common>", `#include <common>\nvarying vec3 vGround;\n${NOISE}`)
      .replace("#include <color_fragment>", `#include <color_fragment>\n${PAVING}`);
  };
  return material;
}

const NOISE = /* glsl */ `
  float paveHash(vec2 p) { return fract(sin(dot(p, vec2(41.3, 289.1))) * 26737.7); }
  float joint(vec2 p, float period, float width) {
    vec2 q = abs(fract(p / period - 0.5) - 0.5) * period;
    vec2 blur = fwidth(p) + 0.004;
    vec2 line = 1.0 - smoothstep(vec2(width), vec2(width) + blur, q);
    // A joint thinner than a pixel fades to its average instead of flickering.
    vec2 fade = clamp(vec2(width * 5.0) / blur, 0.0, 1.0);
    return max(line.x * fade.x, line.y * fade.y);
  }`;

const PAVING = /* glsl */ `
  {
    vec2 p = vGround.xz;
    float radius = length(p);
    float blur = fwidth(radius) + 0.01;
    vec2 stone = floor(p / 2.0 + 0.5);
    float tone = paveHash(stone) - 0.5;
    float check = mod(stone.x + stone.y, 2.0) - 0.5;
    diffuseColor.rgb *= 1.0 + 0.05 * tone + 0.035 * check;
    diffuseColor.rgb *= 1.0 - 0.16 * joint(p - 1.0, 2.0, 0.018);
    diffuseColor.rgb *= 1.0 - 0.16 * joint(p - 1.0, 10.0, 0.045);
    float rings = 1.0 - smoothstep(0.09, 0.09 + blur, abs(radius - 7.0));
    rings = max(rings, 1.0 - smoothstep(0.03, 0.03 + blur, abs(radius - 7.4)));
    rings = max(rings, 1.0 - smoothstep(0.05, 0.05 + blur, abs(radius - 1.6)));
    diffuseColor.rgb = mix(diffuseColor.rgb, diffuseColor.rgb * 1.35 + 0.03, rings * 0.55);
    diffuseColor.rgb *= mix(1.07, 0.9, smoothstep(0.0, 42.0, radius));
  }`;
