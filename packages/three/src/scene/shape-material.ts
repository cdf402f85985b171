import { DoubleSide, type Material, MeshLambertMaterial, MeshStandardMaterial, type Texture } from "three";

/** The surface of forms other than opaque boxes: reflective, or plain for slow machines. */
export function createShapeMaterial(
  isRich: boolean,
  pattern: "plain" | "seamed" | "clear",
  map: Texture | null = null,
): Material {
  const material = isRich
    ? new MeshStandardMaterial({ roughness: 0.6, metalness: 0, map })
    : new MeshLambertMaterial({ map });
  // Hills and other surfaces without an inside may be seen from below.
  material.side = DoubleSide;
  if (pattern === "clear") {
    material.transparent = true;
    material.depthWrite = false;
  }
  // three.js would share one program between materials with equal parameters, but these have different shader
  // code.
  material.customProgramCacheKey = () => `shape ${pattern} ${isRich}`;
  material.onBeforeCompile = (shader) => {
    shader.vertexShader = shader.vertexShader
      .replace("#include <common>", `#include <common>\n${VARYINGS}\nattribute vec3 aStyle;`)
      .replace("#include <fog_vertex>", "#include <fog_vertex>\nvLocal = position;\nvStyle = aStyle;");
    shader.fragmentShader = shader.fragmentShader
      .replace("#include <common>", `#include <common>\n${VARYINGS}`)
      .replace(
        "#include <color_fragment>",
        `#include <color_fragment>\n${SOFTEN_GLSL}\ndiffuseColor.a *= vStyle.z;${PATTERNS[pattern]}`,
      )
      .replace("#include <emissivemap_fragment>", `#include <emissivemap_fragment>\n${GLOW_GLSL}`);
  };
  return material;
}

/** Takes the edge off pure colours, which no surface outdoors has. */
export const SOFTEN_GLSL = /* glsl */ `
  {
    float most = max(diffuseColor.r, max(diffuseColor.g, diffuseColor.b));
    float purity = 1.0 - min(diffuseColor.r, min(diffuseColor.g, diffuseColor.b)) / max(most, 0.001);
    float grey = dot(diffuseColor.rgb, vec3(0.3, 0.55, 0.15));
    diffuseColor.rgb = mix(diffuseColor.rgb, vec3(grey), 0.34 * smoothstep(0.5, 1.0, purity));
  }`;

/** The light that an entity emits. */
export const GLOW_GLSL = /* glsl */ `
  totalEmissiveRadiance += (diffuseColor.rgb * 0.35 + vec3(0.1, 0.09, 0.06)) * vStyle.y;`;

/** Glass fades before the lens, so that a camera in a pane does not see through a veil. */
const NEAR_GLASS = /* glsl */ `
  diffuseColor.a *= smoothstep(0.5, 1.6, length(vViewPosition));`;

const VARYINGS = "varying vec3 vLocal; varying vec3 vStyle;";

/** Draws eight panels, every second one a little darker, with seams between them. */
const SEAMS = /* glsl */ `
  {
    vec3 d = normalize(vLocal);
    float seam = min(abs(d.x), min(abs(d.y), abs(d.z)));
    float blur = fwidth(seam) + 0.004;
    float visible = 1.0 - smoothstep(0.05, 0.2, blur);
    diffuseColor.rgb *= 1.0 - 0.45 * visible * (1.0 - smoothstep(0.022, 0.022 + blur, seam));
    diffuseColor.rgb *= 1.0 - 0.16 * visible * step(0.0, d.x * d.y * d.z);
  }`;

const PATTERNS = { plain: "", seamed: SEAMS, clear: NEAR_GLASS } as const;
