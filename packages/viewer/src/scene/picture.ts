import { DAY, DUSK, WorldScene } from "@nowcast/three/internal";
import { element } from "../dom.js";
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
import { probeRenderer, Stage } from "./stage.js";

/** The drawn picture: the stage, the world in it, and their quality by the settings. */
export class Picture {
  readonly stage: Stage;
  readonly scene: WorldScene;
  readonly #settings: Settings;
  readonly #rendererName = probeRenderer();
  readonly #darkness = window.matchMedia("(prefers-color-scheme: dark)");
  #quality: Quality;
  #governor: ResolutionGovernor;
  #motionSeconds = 0;

  constructor(canvas: HTMLCanvasElement, settings: Settings) {
    this.#settings = settings;
    this.#quality = this.#chooseQuality();
    this.#governor = new ResolutionGovernor(this.#quality.pixelRatio);
    const pictureLost = new PictureLost();
    this.stage = new Stage(canvas, !isSoftwareRenderer(this.#rendererName), (isLost) =>
      pictureLost.show(isLost),
    );
    this.scene = new WorldScene({ detail: this.#quality, labels: element("labels", HTMLElement) });
    this.stage.scene.add(this.scene.group);
    this.#darkness.addEventListener("change", () => this.applySettings());
  }

  /** The time for the animation of the surroundings, which rests for users who prefer reduced motion. */
  get motionSeconds(): number {
    return this.#motionSeconds;
  }

  describeMachine(): string {
    return words.machine(this.#quality.name, this.#rendererName);
  }

  applySettings(): void {
    const { light } = this.#settings;
    this.#quality = this.#chooseQuality();
    this.#governor = new ResolutionGovernor(this.#quality.pixelRatio);
    this.stage.setQuality(this.#quality);
    this.scene.setDetail(this.#quality);
    const isDusk = light === "auto" ? this.#darkness.matches : light === "dusk";
    this.stage.backdrop.setDefault(isDusk ? DUSK : DAY);
    document.body.classList.toggle("plain", this.#quality.name === "low");
  }

  /** Advances sky, sea and sun by a frame. Shadows are sharpest around `focus`. */
  update(
    seconds: number,
    focus: { readonly x: number; readonly y: number; readonly z: number },
    isStill: boolean,
  ): void {
    this.#motionSeconds += isStill ? 0 : seconds;
    this.stage.backdrop.update(seconds, this.scene.sea, isStill, this.scene.land);
    this.stage.aimSun(focus.x, focus.y, focus.z);
  }

  render(): void {
    this.stage.render(this.scene.takeChanged());
  }

  /** Adapts the resolution to the time of a frame, if the quality is automatic. */
  governResolution(frameMs: number): void {
    if (this.#settings.quality !== "auto" || !this.#governor.frame(frameMs)) return;
    this.stage.setPixelRatio(this.#governor.effective);
  }

  #chooseQuality(): Quality {
    const { quality, shadows } = this.#settings;
    const coarse = window.matchMedia("(pointer: coarse)").matches;
    const name = quality === "auto" ? automaticQuality(this.#rendererName, coarse) : quality;
    return qualityFor(name, window.devicePixelRatio || 1, shadows);
  }
}
