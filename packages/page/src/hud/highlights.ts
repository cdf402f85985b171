import { isFields, readColor } from "nowcast/internal";
import { cssColor } from "../dom.js";

const BANNER_MS = 4_000;
const TEXT_CHARACTERS_MAX = 120;
const HIT_COLOR = 0xff4d3d;

/** The elements of {@link Highlights}. */
export interface HighlightElements {
  /** Has the large text, and is hidden without one. */
  readonly banner: HTMLElement;
  /** Covers the picture. The class `on` begins its animation in the colour `--flash`. */
  readonly flash: HTMLElement;
}

/** Shows two events of a world: `banner` as a large text, and `flash` as a colour at the edge of the picture. */
export class Highlights {
  readonly #banner: HTMLElement;
  readonly #flash: HTMLElement;
  #timer = 0;

  constructor({ banner, flash }: HighlightElements) {
    this.#banner = banner;
    this.#flash = flash;
  }

  /** Handles an event of the world; returns whether it was one of the two. */
  handleEvent(event: string, payload: unknown): boolean {
    if (event !== "banner" && event !== "flash") return false;
    const fields = isFields(payload) ? payload : {};
    if (event === "banner") this.#showBanner(fields["text"]);
    else this.#showFlash(fields["color"]);
    return true;
  }

  clear(): void {
    window.clearTimeout(this.#timer);
    this.#banner.hidden = true;
    this.#flash.classList.remove("on");
  }

  #showBanner(text: unknown): void {
    if (typeof text !== "string" || text === "") return;
    window.clearTimeout(this.#timer);
    this.#banner.textContent = text.slice(0, TEXT_CHARACTERS_MAX);
    this.#banner.hidden = false;
    this.#timer = window.setTimeout(() => {
      this.#banner.hidden = true;
    }, BANNER_MS);
  }

  #showFlash(color: unknown): void {
    const edge = typeof color === "string" ? (readColor(color) ?? HIT_COLOR) : HIT_COLOR;
    this.#flash.style.setProperty("--flash", cssColor(edge));
    this.#flash.classList.remove("on");
    // Reading a size makes the browser apply the removed class, so that the animation begins again.
    void this.#flash.offsetWidth;
    this.#flash.classList.add("on");
  }
}
