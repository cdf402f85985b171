import {
  BasicShadowMap,
  DirectionalLight,
  FogExp2,
  HemisphereLight,
  NeutralToneMapping,
  PCFShadowMap,
  PCFSoftShadowMap,
  PerspectiveCamera,
  Scene,
  Vector3,
  WebGLRenderer,
} from "three";
import { words } from "../words.js";
import { DAY, DUSK, type Look } from "./look.js";
import type { Quality } from "./quality.js";
import { Sky } from "./sky.js";
import { Surroundings } from "./surroundings.js";

const SHADOW_TYPES = { hard: BasicShadowMap, smooth: PCFShadowMap, soft: PCFSoftShadowMap } as const;

/** Renderer, camera, lights, and everything that is not part of the shared world. */
export class Stage {
  readonly renderer: WebGLRenderer;
  readonly scene = new Scene();
  readonly camera = new PerspectiveCamera(55, 1, 0.1, 1200);
  readonly surroundings = new Surroundings();
  private readonly sun = new DirectionalLight();
  private readonly ambient = new HemisphereLight();
  private readonly sky = new Sky();
  private readonly fog = new FogExp2(0xffffff, 0.004);
  private look: Look = DAY;
  private shadowReach = 30;
  private shadowEvery = 1;
  private frames = 0;
  private pixelRatio = 1;
  private readonly focus = new Vector3();

  constructor(
    readonly canvas: HTMLCanvasElement,
    antialias: boolean,
  ) {
    this.renderer = new WebGLRenderer({ canvas, antialias, powerPreference: "high-performance" });
    this.renderer.toneMapping = NeutralToneMapping;
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.autoUpdate = false;
    this.scene.fog = this.fog;
    this.scene.add(this.sky.mesh, this.surroundings.group, this.sun, this.sun.target, this.ambient);
    this.sun.castShadow = true;
    this.sun.shadow.bias = -0.0004;
    this.sun.shadow.normalBias = 0.035;
    this.resize();
    this.setLook("day");
  }

  setLook(name: Look["name"]): void {
    const look = name === "dusk" ? DUSK : DAY;
    this.look = look;
    this.sun.color.copy(look.sunColor);
    this.sun.intensity = look.sunIntensity;
    this.ambient.color.copy(look.skyLight);
    this.ambient.groundColor.copy(look.groundLight);
    this.ambient.intensity = look.ambientIntensity;
    this.fog.color.copy(look.horizon);
    this.fog.density = look.fogDensity;
    this.renderer.toneMappingExposure = look.exposure;
    this.sky.paint(this.renderer, look);
    this.surroundings.setLook(look);
    this.renderer.shadowMap.needsUpdate = true;
  }

  setQuality(quality: Quality): void {
    const shadow = this.sun.shadow;
    this.sun.castShadow = quality.shadowMap > 0;
    if (quality.shadowMap > 0 && shadow.mapSize.x !== quality.shadowMap) {
      shadow.mapSize.set(quality.shadowMap, quality.shadowMap);
      shadow.map?.dispose();
      shadow.map = null;
    }
    const type = SHADOW_TYPES[quality.shadowEdges];
    if (this.renderer.shadowMap.type !== type) {
      this.renderer.shadowMap.type = type;
      this.scene.traverse((object) => {
        const { material } = object as { material?: { needsUpdate: boolean } };
        if (material) material.needsUpdate = true;
      });
    }
    this.shadowReach = quality.shadowReach;
    this.shadowEvery = quality.shadowEvery;
    const camera = shadow.camera;
    camera.left = camera.bottom = -this.shadowReach;
    camera.right = camera.top = this.shadowReach;
    camera.near = 1;
    camera.far = 140;
    camera.updateProjectionMatrix();
    this.setPixelRatio(quality.pixelRatio);
    this.renderer.shadowMap.needsUpdate = true;
  }

  setPixelRatio(pixelRatio: number): void {
    if (pixelRatio === this.pixelRatio) return;
    this.pixelRatio = pixelRatio;
    this.renderer.setPixelRatio(pixelRatio);
  }

  resize(): void {
    const { innerWidth: width, innerHeight: height } = window;
    this.renderer.setSize(width, height);
    this.camera.aspect = width / height;
    // A tall window would see a narrow strip; its camera opens up so that the world stays around the avatar.
    this.camera.fov = this.camera.aspect < 1 ? 70 : 52;
    this.camera.updateProjectionMatrix();
  }

  /** The direction, of length 1, in which a point of the window lies as the camera sees it. */
  directionAt(x: number, y: number, out: Vector3): Vector3 {
    out.set((x / window.innerWidth) * 2 - 1, 1 - (y / window.innerHeight) * 2, 0.5);
    this.camera.updateMatrixWorld();
    return out.unproject(this.camera).sub(this.camera.position).normalize();
  }

  /**
   * Fits the sun's shadow around what the camera looks at. The frustum moves in whole texels, as otherwise every edge of
   * every shadow would crawl while one walks. Its centre lies ahead of the camera: what is behind casts little.
   */
  aimSun(x: number, y: number, z: number): void {
    const texel = (2 * this.shadowReach) / Math.max(1, this.sun.shadow.mapSize.x);
    this.camera.getWorldDirection(FORWARD).setY(0);
    if (FORWARD.lengthSq() > 1e-6) FORWARD.normalize().multiplyScalar(this.shadowReach * 0.45);
    this.focus.set(x, y, z).add(FORWARD);
    RIGHT.crossVectors(UP, this.look.sunDirection).normalize();
    ABOVE.crossVectors(this.look.sunDirection, RIGHT);
    const across = snap(this.focus.dot(RIGHT), texel);
    const above = snap(this.focus.dot(ABOVE), texel);
    const along = snap(this.focus.dot(this.look.sunDirection), 4);
    this.focus
      .set(0, 0, 0)
      .addScaledVector(RIGHT, across)
      .addScaledVector(ABOVE, above)
      .addScaledVector(this.look.sunDirection, along);
    this.sun.target.position.copy(this.focus);
    this.sun.position.copy(this.focus).addScaledVector(this.look.sunDirection, 70);
  }

  render(shadowsChanged: boolean): void {
    this.frames++;
    if (shadowsChanged && this.frames % this.shadowEvery === 0) this.renderer.shadowMap.needsUpdate = true;
    this.renderer.render(this.scene, this.camera);
  }
}

/** The graphics hardware's own name, asked for before the picture is set up, as antialiasing can only be chosen then. */
export function probeRenderer(): string {
  const gl = document.createElement("canvas").getContext("webgl2");
  if (!gl) throw new Error(words.noWebGl);
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  const name = String(gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  // Browsers allow only a few contexts at a time.
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return name;
}

function snap(value: number, step: number): number {
  return Math.round(value / step) * step;
}

const UP = new Vector3(0, 1, 0);
const FORWARD = new Vector3();
const RIGHT = new Vector3();
const ABOVE = new Vector3();
