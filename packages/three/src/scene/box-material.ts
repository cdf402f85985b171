import {
  type Material,
  MeshDepthMaterial,
  MeshLambertMaterial,
  MeshStandardMaterial,
  RGBADepthPacking,
  type WebGLProgramParametersWithUniforms,
} from "three";
import { BEVEL_GLSL } from "./bevelled-box.js";
import { GLOW_GLSL, SOFTEN_GLSL } from "./shape-material.js";

/** The surface of all boxes: reflective, or plain for slow machines. */
export function createBoxMaterial(rich: boolean): Material {
  const material = rich
    ? new MeshStandardMaterial({ roughness: 0.62, metalness: 0 })
    : new MeshLambertMaterial();
  material.onBeforeCompile = (shader) => {
    addVertexShape(shader);
    shader.vertexShader = shader.vertexShader
      .replace("#include <common>", `#include <common>\n${VARYINGS}\nattribute vec3 aStyle;`)
      .replace("#include <fog_vertex>", `#include <fog_vertex>\n${VERTEX_OUT}`);
    shader.fragmentShader = shader.fragmentShader
      .replace("#include <common>", `#include <common>\n${VARYINGS}`)
      .replace("#include <color_fragment>", `#include <color_fragment>\n${SOFTEN_GLSL}${SURFACE}`)
      .replace("#include <emissivemap_fragment>", `#include <emissivemap_fragment>\n${GLOW_GLSL}`);
  };
  return material;
}

/** The material of boxes that cast shadows. */
export function createBoxDepthMaterial(): MeshDepthMaterial {
  const material = new MeshDepthMaterial({ depthPacking: RGBADepthPacking });
  material.onBeforeCompile = addVertexShape;
  return material;
}

function addVertexShape(shader: WebGLProgramParametersWithUniforms): void {
  shader.vertexShader = shader.vertexShader
    .replace("#include <common>", "#include <common>\nattribute vec3 corner;\nattribute vec3 aHalf;")
    .replace(
      "#include <begin_vertex>",
      `float bevel = ${BEVEL_GLSL};\nvec3 transformed = corner * (aHalf - bevel) + position * bevel;`,
    );
}

const VARYINGS = "varying vec3 vLocal; varying vec3 vHalf; varying vec3 vStyle; varying float vHeight;";

const VERTEX_OUT = /* glsl */ `
  vLocal = transformed;
  vHalf = aHalf;
  vStyle = aStyle;
  vHeight = (modelMatrix * instanceMatrix * vec4(transformed, 1.0)).y;`;

/**
 * Draws a panel with a fine groove on each face of a block, so that its rotation is visible, lightens worn edges, and
 * darkens parts near the ground, which see less of the sky.
 */
const SURFACE = /* glsl */ `
  {
    vec3 inset = vHalf - abs(vLocal);
    float least = min(inset.x, min(inset.y, inset.z));
    float most = max(inset.x, max(inset.y, inset.z));
    float edge = inset.x + inset.y + inset.z - least - most;
    float blur = fwidth(edge) + 0.002;
    float small = min(vHalf.x, min(vHalf.y, vHalf.z));
    float rim = min(0.11, small * 0.36);
    float groove = 1.0 - smoothstep(0.008, 0.008 + blur, abs(edge - rim));
    float visible = 1.0 - smoothstep(0.03, 0.12, blur);
    float block = 1.0 - vStyle.x;
    diffuseColor.rgb *= 1.0 - 0.2 * groove * visible * block;
    diffuseColor.rgb *= 1.0 + 0.06 * smoothstep(rim - blur, rim + blur, edge) * visible * block;
    diffuseColor.rgb = mix(diffuseColor.rgb, vec3(1.0), 0.1 * (1.0 - smoothstep(0.0, 0.05 + blur, edge)) * visible);
    // Flat boxes are paths and lines on the ground, which see all of the sky.
    float shade = smoothstep(-0.1, 0.9, vHeight) + 1.0 - smoothstep(-1.2, -0.2, vHeight) + step(vHalf.y, 0.03);
    diffuseColor.rgb *= mix(0.74, 1.0, min(1.0, shade));
  }`;
