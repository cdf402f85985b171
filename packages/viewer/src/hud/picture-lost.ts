import { element } from "../dom.js";

/** The panel that replaces the picture after the graphics driver lost its context. */
export class PictureLost {
  readonly #panel = element("picture-lost", HTMLElement);

  constructor() {
    element("picture-reload", HTMLButtonElement).addEventListener("click", () => window.location.reload());
  }

  show(isLost: boolean): void {
    this.#panel.hidden = !isLost;
  }
}
