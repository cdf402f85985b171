import type { WorldListing } from "nowcast/world";
import { element } from "../dom.js";
import { titleOf } from "../start/worlds.js";
import { fillStep, type NamedControls } from "./step-text.js";

/**
 * The goal and the first steps of a world, with the names of the controls. The card is shown when a player enters, until the
 * first press of a key or a pointer outside of it, and by "?".
 */
export class IntroCard {
  readonly #card = element("intro", HTMLElement);
  readonly #world = element("intro-world", HTMLElement);
  readonly #goal = element("intro-goal", HTMLElement);
  readonly #how = element("intro-how", HTMLUListElement);
  readonly #touch = element("intro-touch", HTMLElement);
  readonly #controls: () => NamedControls;
  #described: WorldListing | undefined;

  /** `controls` returns the present controls of the world's actions. */
  constructor(controls: () => NamedControls) {
    this.#controls = controls;
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
    this.#described = world !== undefined && world.goal !== "" ? world : undefined;
  }

  /** Shows the card if the world describes itself. */
  show(): void {
    this.#card.hidden = this.#described === undefined;
    this.update();
  }

  /** Names the present controls, if the card is shown. */
  update(): void {
    if (!this.#described || this.#card.hidden) return;
    const controls = this.#controls();
    const { name, goal, how } = this.#described;
    this.#world.textContent = titleOf(name);
    this.#goal.textContent = fillStep(goal, controls);
    this.#how.replaceChildren(
      ...how.map((step) => {
        const item = document.createElement("li");
        item.textContent = fillStep(step, controls);
        return item;
      }),
    );
    this.#touch.hidden = !controls.isTouching;
  }

  hide(): void {
    this.#card.hidden = true;
  }
}
