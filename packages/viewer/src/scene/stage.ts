import { SkyBackdrop, Sun } from "@nowcast/three";
import {
  BasicShadowMap,
  Group,
  NeutralToneMapping,
  PCFShadowMap,
  PCFSoftShadowMap,
  PerspectiveCamera,
  Scene,
  WebGLRenderer,
} from "three";
import { words } from "../words.js";
import type { Quality } from "./quality.js";

const SHADOW_TYPES = { hard: BasicShadowMap, smooth: PCFShadowMap, soft: PCFSoftShadowMap } as const;

/** Renderer, camera, lights, and the surroundings, which are not part of the shared world. */
export class Stage {
  readonly renderer: WebGLRenderer;
  readonly scene = new Scene();
  readonly camera = new PerspectiveCamera(55, 1, 0.1, 1200);
  readonly backdrop: SkyBackdrop;
  /** The floor of a headset's room. The camera has the pose of the head relative to it. */
  readonly rig = new Group();
  readonly #sun = new Sun();
  #shadowEvery = 1;
  #frames = 0;
  #pixelRatio = 1;

  /** `onLost` is called when the graphics context is lost, and when it is restored. */
  constructor(
    readonly canvas: HTMLCanvasElement,
    antialias: boolean,
    onLost: (isLost: boolean) => void,
  ) {
    this.renderer = new WebGLRenderer({ canvas, antialias, powerPreference: "high-performance" });
    this.renderer.toneMapping = NeutralToneMapping;
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.autoUpdate = false;
    // Shader logs are not read, because reading one waits until the driver has compiled the shader. That
    // blocks the page for most of a second.
    this.renderer.debug.checkShaderErrors = import.meta.env.DEV;
    this.scene.add(this.#sun.group, this.rig);
    this.rig.add(this.camera);
    this.resize();
    this.backdrop = new SkyBackdrop(this.scene, this.renderer, this.#sun, ({ exposure }) => {
      this.renderer.toneMappingExposure = exposure;
      this.renderer.shadowMap.needsUpdate = true;
    });
    // This runs after the renderer's own listeners, when the renderer has a context again.
    canvas.addEventListener("webglcontextlost", () => onLost(true));
    canvas.addEventListener("webglcontextrestored", () => {
      // The shadows were drawn, not loaded, so they were lost with the context.
      this.renderer.shadowMap.needsUpdate = true;
      onLost(false);
    });
  }

  setQuality(quality: Quality): void {
    this.#sun.setDetail(quality);
    const type = SHADOW_TYPES[quality.shadowEdges];
    if (this.renderer.shadowMap.type !== type) {
      this.renderer.shadowMap.type = type;
      this.scene.traverse((object) => {
        const { material } = object as { material?: { needsUpdate: boolean } };
        if (material) material.needsUpdate = true;
      });
    }
    this.#shadowEvery = quality.shadowEvery;
    this.setPixelRatio(quality.pixelRatio);
    this.renderer.shadowMap.needsUpdate = true;
  }

  setPixelRatio(pixelRatio: number): void {
    if (pixelRatio === this.#pixelRatio) return;
    this.#pixelRatio = pixelRatio;
    this.renderer.setPixelRatio(pixelRatio);
  }

  resize(): void {
    const { innerWidth: width, innerHeight: height } = window;
    this.renderer.setSize(width, height);
    this.camera.aspect = width / height;
    // In a tall window, the field of view is widened, because the horizontal view would otherwise be too
    // narrow.
    this.camera.fov = this.camera.aspect < 1 ? 70 : 52;
    this.camera.updateProjectionMatrix();
  }

  /** Draws shadows around the camera's target. */
  aimSun(x: number, y: number, z: number): void {
    this.#sun.aim(this.camera, x, y, z);
  }

  render(shadowsChanged: boolean): void {
    this.#frames++;
    if (shadowsChanged && this.#frames % this.#shadowEvery === 0) this.renderer.shadowMap.needsUpdate = true;
    this.renderer.render(this.scene, this.camera);
  }
}

/**
 * The name of the graphics hardware. It is queried before the renderer is created, because antialiasing can
 * be chosen only at the creation.
 */
export function probeRenderer(): string {
  const gl = document.createElement("canvas").getContext("webgl2");
  if (!gl) throw new Error(words.noWebGl);
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  const name = String(gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  // Browsers allow only a few contexts at a time.
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return name;
}
