import type { WorldListing } from "nowcast/internal";
import { pageTexts } from "../texts.js";
import { beginButton, KEYBOARD, type KeyBar, type NamedControls } from "./key-hints.js";
import { fillStep } from "./step-text.js";

/** Lines below the goal until the user asks for all. */
const LINES_MAX = 3;

/** The elements of {@link IntroCard}. */
export interface IntroElements {
  readonly card: HTMLElement;
  readonly world: HTMLElement;
  readonly goal: HTMLElement;
  readonly how: HTMLUListElement;
  /** The explanation of the touch controls. */
  readonly touch: HTMLElement;
  readonly close: HTMLButtonElement;
  /** The button that shows and hides the card. A press of it does not close the card by itself. */
  readonly help: HTMLElement;
}

/** The name of a world as a title. */
export function titleOf(name: string): string {
  return name.replaceAll(/[-_]/g, " ");
}

/**
 * The goal and the first steps of a world, with the names of the controls. The card is shown when a player enters, until the
 * first press of a key or a pointer outside of it, and by "?", which shows all steps.
 */
export class IntroCard {
  readonly #elements: IntroElements;
  readonly #controls: () => NamedControls | undefined;
  #described: WorldListing | undefined;
  #isWhole = false;

  /** `controls` returns the current controls of the world's actions. The card listens to keys until `signal`. */
  constructor(elements: IntroElements, controls: () => NamedControls | undefined, signal?: AbortSignal) {
    this.#elements = elements;
    this.#controls = controls;
    const { card, close, help } = elements;
    close.addEventListener("click", () => this.hide());
    // "?" and its button have a meaning of their own: they hide or show the card.
    const dismiss = ({ target }: Event): void => {
      if (!(target instanceof Node && (card.contains(target) || help.contains(target)))) this.hide();
    };
    const options = { capture: true, ...(signal && { signal }) };
    window.addEventListener("keydown", (event) => this.#key(event, dismiss), options);
    window.addEventListener("pointerdown", dismiss, options);
  }

  get isVisible(): boolean {
    return !this.#elements.card.hidden;
  }

  /** Whether the world describes itself. */
  get isDefined(): boolean {
    return this.#described !== undefined;
  }

  /** The first steps of the world, with the names of actions in braces. */
  get steps(): readonly string[] {
    return this.#described?.how ?? [];
  }

  /** Sets the world that the card describes; `undefined` for none. */
  define(world: WorldListing | undefined): void {
    this.hide();
    this.#described = world !== undefined && world.goal !== "" ? world : undefined;
  }

  /** Shows the card if the world describes itself: with the first steps, or with all. */
  show(steps: "first" | "all" = "first"): void {
    this.#isWhole = steps === "all";
    this.#elements.card.hidden = this.#described === undefined;
    this.update();
  }

  /** Shows the current controls, if the card is shown. */
  update(): void {
    if (!this.#described || this.#elements.card.hidden) return;
    const controls = this.#controls() ?? KEYBOARD;
    const { name, goal, how } = this.#described;
    const elements = this.#elements;
    elements.world.textContent = titleOf(name);
    elements.goal.textContent = fillStep(goal, controls);
    const isTouch = controls.device === "touch";
    // The controls of a touch screen take one line.
    const count = this.#isWhole ? how.length : LINES_MAX - (isTouch ? 1 : 0);
    elements.how.replaceChildren(
      ...how.slice(0, count).map((step) => {
        const item = document.createElement("li");
        item.textContent = fillStep(step, controls);
        return item;
      }),
    );
    elements.touch.hidden = !isTouch;
    this.#nameButton(beginButton(controls));
  }

  /** Writes the button's text, after the name of the gamepad's button that does the same. */
  #nameButton(pad: string | undefined): void {
    const { close } = this.#elements;
    close.textContent = pageTexts.introClose;
    if (pad === undefined) return;
    const badge = document.createElement("kbd");
    badge.textContent = pad;
    close.prepend(badge, " ");
  }

  hide(): void {
    this.#elements.card.hidden = true;
  }

  #key(event: KeyboardEvent, dismiss: (event: Event) => void): void {
    if (event.key === "?") return;
    // Enter begins, as the button says, and opens no chat.
    const begins = this.isVisible && event.key === "Enter";
    dismiss(event);
    if (begins && !this.isVisible) event.stopPropagation();
  }
}

/** Shows the keys and the card with the goal of the world, or hides both. */
export function flipHelp(intro: IntroCard, keyBar: KeyBar): void {
  const isShown = !intro.isVisible;
  if (isShown) intro.show("all");
  else intro.hide();
  // A world without a description has only keys.
  if (isShown && !intro.isVisible) keyBar.flip();
  else keyBar.set(isShown);
}
