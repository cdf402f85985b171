import type { WorldListing } from "nowcast/world";
import { element } from "../dom.js";
import { titleOf } from "../start/worlds.js";

/**
 * The goal and the first steps of a world. The card is shown when a player enters, until the first press of a key or a
 * pointer outside of it, and by "?".
 */
export class IntroCard {
  readonly #card = element("intro", HTMLElement);
  readonly #world = element("intro-world", HTMLElement);
  readonly #goal = element("intro-goal", HTMLElement);
  readonly #how = element("intro-how", HTMLUListElement);
  #isDescribed = false;

  constructor() {
    element("intro-close", HTMLButtonElement).addEventListener("click", () => this.hide());
    // "?" and its button have a meaning of their own: they hide or show the card.
    const help = element("help-toggle", HTMLButtonElement);
    const dismiss = ({ target }: Event): void => {
      if (!(target instanceof Node && (this.#card.contains(target) || help.contains(target)))) this.hide();
    };
    window.addEventListener("keydown", (event) => event.key !== "?" && dismiss(event), { capture: true });
    window.addEventListener("pointerdown", dismiss, { capture: true });
  }

  get isVisible(): boolean {
    return !this.#card.hidden;
  }

  /** Sets the world that the card describes; `undefined` for none. */
  define(world: WorldListing | undefined): void {
    this.hide();
    this.#isDescribed = world !== undefined && world.goal !== "";
    if (!world) return;
    this.#world.textContent = titleOf(world.name);
    this.#goal.textContent = world.goal;
    this.#how.replaceChildren(
      ...world.how.map((step) => {
        const item = document.createElement("li");
        item.textContent = step;
        return item;
      }),
    );
  }

  /** Shows the card if the world describes itself. */
  show(): void {
    this.#card.hidden = !this.#isDescribed;
  }

  hide(): void {
    this.#card.hidden = true;
  }
}
