import type { WorldStage } from "@nowcast/page/internal";
import { element } from "../dom.js";

/** Time after which a world is shown in which the player has no avatar. The avatar may come some steps after the welcome. */
const AVATAR_MS_MAX = 1_500;

/** Keeps the last picture over the canvas until the next world is drawn, and then fades. */
export class Veil {
  readonly #canvas = element("veil", HTMLCanvasElement);
  readonly #stage: WorldStage;
  #isCovering = false;
  #openSinceMs: number | undefined;

  constructor(stage: WorldStage) {
    this.#stage = stage;
    this.#canvas.addEventListener("transitionend", () => {
      if (!this.#isCovering) this.drop();
    });
  }

  /** Keeps the picture that is drawn now. A picture that is kept already stays. */
  cover(): void {
    const { renderer, scene, camera } = this.#stage;
    if (this.#isCovering || renderer.xr.isPresenting) return;
    // The browser clears the drawn picture as soon as the window shows it.
    renderer.render(scene, camera);
    const { width, height } = renderer.domElement;
    Object.assign(this.#canvas, { width, height });
    this.#canvas.getContext("2d")?.drawImage(renderer.domElement, 0, 0);
    this.#canvas.hidden = false;
    this.#canvas.classList.remove("fading");
    this.#isCovering = true;
    this.#openSinceMs = undefined;
  }

  /** Removes the picture at once. */
  drop(): void {
    this.#isCovering = false;
    this.#canvas.hidden = true;
  }

  /** Fades if the frame that was just drawn shows the world. */
  update(nowMs: number): void {
    if (!this.#isCovering || !this.#isDrawn(nowMs)) return;
    this.#isCovering = false;
    this.#canvas.classList.add("fading");
    // Without an animation, there is no event at its end.
    if (this.#canvas.getAnimations().length === 0) this.drop();
  }

  #isDrawn(nowMs: number): boolean {
    const { controls } = this.#stage;
    const world = controls.view?.world;
    if (world?.status === "closed") return true;
    if (world?.status !== "open") return false;
    this.#openSinceMs ??= nowMs;
    if (controls.isResuming) return false;
    return controls.avatar.isShown || nowMs - this.#openSinceMs > AVATAR_MS_MAX;
  }
}
