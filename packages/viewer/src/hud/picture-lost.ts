import { element } from "../dom.js";

/** The panel that stands in place of the picture while the graphics driver has taken it away. */
export class PictureLost {
  readonly #panel = element("picture-lost", HTMLElement);

  constructor() {
    element("picture-reload", HTMLButtonElement).addEventListener("click", () => window.location.reload());
  }

  show(isLost: boolean): void {
    this.#panel.hidden = !isLost;
  }
}
