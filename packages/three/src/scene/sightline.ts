import { type Material, MathUtils, Mesh, type PerspectiveCamera, Vector3, Vector4 } from "three";
import type { Model } from "../models/load-model.js";

/** Radius in metres of the opening at the watched entity. The opening is narrower near the camera. */
const RADIUS_M = 0.95;
/** Share of the radius at which the edge of the opening begins. */
const EDGE = 0.85;
/** Surfaces nearer to the camera than this are not drawn while there is an opening, in metres. */
const NEAR_M = 0.6;
/** The opening ends this far before the watched entity, so that ground and walls beside it stay whole. */
const END_M = 0.9;
/** From a camera this far below the watched place, there is no opening: it would be in the floor. */
const BELOW_M = 0.5;

/**
 * Lets a camera see an entity behind obstacles: surfaces between the two have an opening. The materials of a scene share
 * one sightline.
 */
export class Sightline {
  /** The watched place in the coordinates of the camera, and the radius of the opening; 0 for no opening. */
  readonly #sight = { value: new Vector4(0, 0, 0, 0) };

  /** Discards fragments between the camera and a place; without a place, no surface has an opening. */
  watch(camera: PerspectiveCamera | undefined, place: Vector3 | undefined): void {
    const { value } = this.#sight;
    if (!camera || !place) return void value.set(0, 0, 0, 0);
    camera.updateMatrixWorld();
    SEEN.copy(place).applyMatrix4(camera.matrixWorldInverse);
    const metres = SEEN.length();
    const above = MathUtils.smoothstep(camera.matrixWorld.elements[13]! - place.y, -BELOW_M, 0);
    // The ray ends before the entity.
    SEEN.multiplyScalar(Math.max(0, metres - END_M) / Math.max(metres, 0.001));
    value.set(SEEN.x, SEEN.y, SEEN.z, metres > END_M ? RADIUS_M * above : 0);
  }

  /** Adds the opening to a material's shader. `vViewPosition` is in the shaders of all lit materials. */
  open<M extends Material>(material: M): M {
    const compile = material.onBeforeCompile.bind(material);
    const key = material.customProgramCacheKey();
    material.customProgramCacheKey = () => `${key} sightline`;
    material.onBeforeCompile = (shader, renderer) => {
      compile(shader, renderer);
      shader.uniforms["sight"] = this.#sight;
      shader.fragmentShader = shader.fragmentShader
        .replace("#include <common>", "#include <common>\nuniform vec4 sight;")
        .replace("#include <clipping_planes_fragment>", `#include <clipping_planes_fragment>\n${OPENING}`);
    };
    return material;
  }

  /** Adds the opening to the lit materials of a static model, and returns the model. */
  openModel(model: Model): Model {
    const materials = new Set<Material>();
    model.root.traverse((object) => {
      if (object instanceof Mesh) for (const material of [object.material].flat()) materials.add(material);
    });
    for (const material of materials) if (model.isStill && isLit(material)) this.open(material);
    return model;
  }
}

function isLit(material: Material): boolean {
  return "isMeshLambertMaterial" in material || "isMeshStandardMaterial" in material;
}

const SEEN = new Vector3();

/**
 * Discards all pixels near the ray, and those next to the camera. Only the narrow edge of the opening fades, in a fine pattern,
 * because a pattern all over the opening looks like a fault.
 */
const OPENING = /* glsl */ `
  if (sight.w > 0.0) {
    vec3 place = -vViewPosition;
    float along = dot(place, sight.xyz) / dot(sight.xyz, sight.xyz);
    float radius = sight.w * (0.25 + 0.75 * along);
    float share = length(place - sight.xyz * along) / radius;
    float grain = fract(52.9829189 * fract(dot(gl_FragCoord.xy, vec2(0.06711056, 0.00583715))));
    if (along < 1.0 && grain >= smoothstep(${EDGE}, 1.0, share)) discard;
    if (dot(place, place) < sight.w * ${((NEAR_M * NEAR_M) / RADIUS_M).toFixed(3)}) discard;
  }`;
