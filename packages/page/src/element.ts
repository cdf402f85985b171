/** Registers the custom element `<nowcast-world>`. */
import { ARRIVE_ACTION, PORTAL_EVENT, type Portal, readPortal } from "nowcast/internal";
import { WorldPage } from "./world-page.js";

/**
 * A world as an element: `<nowcast-world src="/r/football" name="Ada"></nowcast-world>`. It joins while it is in a
 * document. Attributes: `src` (the address of the room), `name`, `token`, `sky`, and `hud="off"`. A portal of the world
 * sets `src`.
 */
export class NowcastWorldElement extends HTMLElement {
  static readonly observedAttributes = ["src", "name", "token", "sky", "hud"];
  #page: WorldPage | undefined;
  /** The portal through which the page goes to another room. */
  #portal: Portal | undefined;

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
    const { world } = page;
    const ticket = this.#portal?.ticket;
    this.#portal = undefined;
    if (ticket !== undefined) {
      void world.ready.then(() => world.act(ARRIVE_ACTION, { ticket })).catch(() => undefined);
    }
    world.on(`event:${PORTAL_EVENT}`, ({ payload }) => {
      const portal = readPortal(payload);
      // The world calls this while it handles a message. It is closed afterwards.
      if (portal) queueMicrotask(() => this.#page === page && this.#travel(page, portal));
    });
    this.dispatchEvent(new CustomEvent("join", { detail: page }));
  }

  #travel(page: WorldPage, portal: Portal): void {
    this.#portal = portal;
    this.setAttribute("src", `${page.world.serverUrl}/r/${portal.room}`);
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
