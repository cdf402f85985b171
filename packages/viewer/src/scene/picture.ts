import type { WorldStage } from "@nowcast/page/internal";
import { DAY, DUSK } from "@nowcast/three/internal";
import { BasicShadowMap, PCFShadowMap, PCFSoftShadowMap, WebGLRenderer } from "three";
import { PictureLost } from "../hud/picture-lost.js";
import type { Settings } from "../settings.js";
import { words } from "../words.js";
import {
  automaticQuality,
  isSoftwareRenderer,
  type Quality,
  qualityFor,
  ResolutionGovernor,
} from "./quality.js";

const SHADOW_TYPES = { hard: BasicShadowMap, smooth: PCFShadowMap, soft: PCFSoftShadowMap } as const;

/** The quality of the drawn picture by the settings. */
export class Picture {
  readonly renderer: WebGLRenderer;
  readonly #settings: Settings;
  readonly #rendererName = probeRenderer();
  readonly #darkness = window.matchMedia("(prefers-color-scheme: dark)");
  #quality: Quality;
  #governor: ResolutionGovernor;
  #stage: WorldStage | undefined;
  #frames = 0;

  constructor(canvas: HTMLCanvasElement, settings: Settings) {
    this.#settings = settings;
    this.#quality = this.#chooseQuality();
    this.#governor = new ResolutionGovernor(this.#quality.pixelRatio);
    const antialias = !isSoftwareRenderer(this.#rendererName);
    const renderer = new WebGLRenderer({ canvas, antialias, powerPreference: "high-performance" });
    this.renderer = renderer;
    renderer.shadowMap.autoUpdate = false;
    // Shader logs are not read, because reading one waits until the driver has compiled the shader. That
    // blocks the page for most of a second.
    renderer.debug.checkShaderErrors = import.meta.env.DEV;
    const pictureLost = new PictureLost();
    // This runs after the renderer's own listeners, when the renderer has a context again.
    canvas.addEventListener("webglcontextlost", () => pictureLost.show(true));
    canvas.addEventListener("webglcontextrestored", () => {
      // The shadows were drawn, not loaded, so they were lost with the context.
      renderer.shadowMap.needsUpdate = true;
      pictureLost.show(false);
    });
    this.#darkness.addEventListener("change", () => this.applySettings());
  }

  get detail(): Quality {
    return this.#quality;
  }

  /** Applies the settings to a stage that draws with this picture's renderer. */
  attach(stage: WorldStage): void {
    this.#stage = stage;
    stage.scene.onBeforeRender = () => {
      this.#frames++;
      if (stage.drawn.takeChanged() && this.#frames % this.#quality.shadowEvery === 0)
        this.renderer.shadowMap.needsUpdate = true;
    };
    this.applySettings();
  }

  describeMachine(): string {
    return words.machine(this.#quality.name, this.#rendererName);
  }

  applySettings(): void {
    const { light } = this.#settings;
    this.#quality = this.#chooseQuality();
    this.#governor = new ResolutionGovernor(this.#quality.pixelRatio);
    this.#setQuality(this.#quality);
    const isDusk = light === "auto" ? this.#darkness.matches : light === "dusk";
    this.#stage?.sky.setDefault(isDusk ? DUSK : DAY);
    document.body.classList.toggle("plain", this.#quality.name === "low");
  }

  /** Adapts the resolution to the time of a frame, if the quality is automatic. */
  governResolution(frameMs: number): void {
    if (this.#settings.quality !== "auto" || !this.#governor.frame(frameMs)) return;
    this.renderer.setPixelRatio(this.#governor.effective);
  }

  #setQuality(quality: Quality): void {
    const { shadowMap } = this.renderer;
    this.#stage?.sun.setDetail(quality);
    this.#stage?.drawn.setDetail(quality);
    const type = SHADOW_TYPES[quality.shadowEdges];
    if (shadowMap.type !== type) {
      shadowMap.type = type;
      this.#stage?.scene.traverse((object) => {
        const { material } = object as { material?: { needsUpdate: boolean } };
        if (material) material.needsUpdate = true;
      });
    }
    if (this.renderer.getPixelRatio() !== quality.pixelRatio) this.renderer.setPixelRatio(quality.pixelRatio);
    shadowMap.needsUpdate = true;
  }

  #chooseQuality(): Quality {
    const { quality, shadows } = this.#settings;
    const coarse = window.matchMedia("(pointer: coarse)").matches;
    const name = quality === "auto" ? automaticQuality(this.#rendererName, coarse) : quality;
    return qualityFor(name, window.devicePixelRatio || 1, shadows);
  }
}

/**
 * The name of the graphics hardware. It is queried before the renderer is created, because antialiasing can
 * be chosen only at the creation.
 */
function probeRenderer(): string {
  const gl = document.createElement("canvas").getContext("webgl2");
  if (!gl) throw new Error(words.noWebGl);
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  const name = String(gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  // Browsers allow only a few contexts at a time.
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return name;
}
