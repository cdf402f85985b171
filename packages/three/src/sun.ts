import { type Camera, Color, DirectionalLight, Group, HemisphereLight, Vector3 } from "three";

/** The light of the sun and the sky in a world. */
export interface Daylight {
  /** Direction to the sun, of length 1. */
  readonly sunDirection: Vector3;
  readonly sunColor: Color;
  readonly sunIntensity: number;
  readonly skyLight: Color;
  readonly groundLight: Color;
  readonly ambientIntensity: number;
}

/** The cost of shadows. */
export interface ShadowDetail {
  /** Edge length of the shadow map in texels; 0 for no shadows. */
  readonly shadowMap: number;
  /** Half the width of the shadowed area around the camera's target, in metres. */
  readonly shadowReach: number;
}

/** Surfaces look up their shadow this far in front of themselves. Less leaves fringes on walls that the sun grazes. */
const NORMAL_BIAS_TEXELS = 2.5;

const NOON: Daylight = {
  sunDirection: new Vector3(0.586, 0.669, 0.458),
  sunColor: new Color("#ffedcf"),
  sunIntensity: 3,
  skyLight: new Color("#d3e4ff"),
  groundLight: new Color("#b9a585"),
  ambientIntensity: 2.2,
};

/**
 * The lights of a world under the sky, with shadows around the camera's target. Shadows must be on in the renderer,
 * too.
 */
export class Sun {
  readonly group = new Group();
  readonly #light = new DirectionalLight();
  readonly #ambient = new HemisphereLight();
  readonly #focus = new Vector3();
  #direction: Vector3 = NOON.sunDirection;
  #reach = 30;

  constructor(daylight: Daylight = NOON, detail: ShadowDetail = { shadowMap: 2048, shadowReach: 28 }) {
    this.#light.castShadow = true;
    this.#light.shadow.bias = -0.0004;
    this.group.add(this.#light, this.#light.target, this.#ambient);
    this.setDaylight(daylight);
    this.setDetail(detail);
  }

  /** Sets the light; without an argument, that of noon. */
  setDaylight(daylight: Daylight = NOON): void {
    this.#direction = daylight.sunDirection;
    this.#light.color.copy(daylight.sunColor);
    this.#light.intensity = daylight.sunIntensity;
    this.#ambient.color.copy(daylight.skyLight);
    this.#ambient.groundColor.copy(daylight.groundLight);
    this.#ambient.intensity = daylight.ambientIntensity;
  }

  setDetail({ shadowMap, shadowReach }: ShadowDetail): void {
    const { shadow } = this.#light;
    this.#light.castShadow = shadowMap > 0;
    if (shadowMap > 0 && shadow.mapSize.x !== shadowMap) {
      shadow.mapSize.set(shadowMap, shadowMap);
      shadow.map?.dispose();
      shadow.map = null;
    }
    this.#reach = shadowReach;
    shadow.normalBias = NORMAL_BIAS_TEXELS * this.#texel;
    const { camera } = shadow;
    camera.left = camera.bottom = -shadowReach;
    camera.right = camera.top = shadowReach;
    camera.near = 1;
    camera.far = 140;
    camera.updateProjectionMatrix();
  }

  /**
   * Fits the shadows around a camera's target. The frustum moves in whole texels, because otherwise the edges of all
   * shadows would flicker during a walk. Its centre is ahead of the camera, because objects behind it cast few visible
   * shadows.
   */
  aim(camera: Camera, x: number, y: number, z: number): void {
    const texel = this.#texel;
    camera.getWorldDirection(FORWARD).setY(0);
    if (FORWARD.lengthSq() > 1e-6) FORWARD.normalize().multiplyScalar(this.#reach * 0.45);
    this.#focus.set(x, y, z).add(FORWARD);
    RIGHT.crossVectors(UP, this.#direction).normalize();
    ABOVE.crossVectors(this.#direction, RIGHT);
    const across = snap(this.#focus.dot(RIGHT), texel);
    const above = snap(this.#focus.dot(ABOVE), texel);
    const along = snap(this.#focus.dot(this.#direction), 4);
    this.#focus
      .set(0, 0, 0)
      .addScaledVector(RIGHT, across)
      .addScaledVector(ABOVE, above)
      .addScaledVector(this.#direction, along);
    this.#light.target.position.copy(this.#focus);
    this.#light.position.copy(this.#focus).addScaledVector(this.#direction, 70);
  }

  /** Edge length of a texel of the shadow map, in metres. */
  get #texel(): number {
    return (2 * this.#reach) / Math.max(1, this.#light.shadow.mapSize.x);
  }

  dispose(): void {
    this.#light.dispose();
    this.#ambient.dispose();
    this.group.removeFromParent();
  }
}

function snap(value: number, step: number): number {
  return Math.round(value / step) * step;
}

const UP = new Vector3(0, 1, 0);
const FORWARD = new Vector3();
const RIGHT = new Vector3();
const ABOVE = new Vector3();
