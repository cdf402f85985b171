/** Registers the custom element `<nowcast-world>`. */
import { Portals } from "./portals.js";
import { WorldPage } from "./world-page.js";

/**
 * A world as an element: `<nowcast-world src="/r/football" name="Ada"></nowcast-world>`. It joins while it is in a
 * document. Attributes: `src` (the address of the room), `name`, `token`, `sky`, and `hud="off"`. A portal of the world
 * sets `src`.
 */
export class NowcastWorldElement extends HTMLElement {
  static readonly observedAttributes = ["src", "name", "token", "sky", "hud"];
  #page: WorldPage | undefined;
  readonly #portals = new Portals((room) =>
    this.setAttribute("src", `${this.#page?.world.serverUrl}/r/${room}`),
  );

  /** The page while the element is in a document and has a `src`. Its `world` is a `World` of the SDK. */
  get page(): WorldPage | undefined {
    return this.#page;
  }

  connectedCallback(): void {
    if (getComputedStyle(this).display === "inline") this.style.display = "block";
    if (getComputedStyle(this).position === "static") this.style.position = "relative";
    this.#join();
  }

  disconnectedCallback(): void {
    this.#leave();
  }

  attributeChangedCallback(name: string, before: string | null, now: string | null): void {
    if (before === now || !this.isConnected) return;
    if (name === "name" && this.#page && now !== null) this.#page.world.rename(now);
    else this.#join();
  }

  #join(): void {
    this.#leave();
    const src = this.getAttribute("src");
    if (src === null) return;
    const page = new WorldPage(this, new URL(src, document.baseURI), {
      name: this.getAttribute("name") ?? undefined,
      token: this.getAttribute("token") ?? undefined,
      sky: this.getAttribute("sky") ?? undefined,
      hud: this.getAttribute("hud") !== "off",
    });
    this.#page = page;
    this.#portals.follow(page.world);
    this.dispatchEvent(new CustomEvent("join", { detail: page }));
  }

  #leave(): void {
    this.#page?.dispose();
    this.#page = undefined;
  }
}

if (!customElements.get("nowcast-world")) customElements.define("nowcast-world", NowcastWorldElement);

declare global {
  interface HTMLElementTagNameMap {
    "nowcast-world": NowcastWorldElement;
  }
}
