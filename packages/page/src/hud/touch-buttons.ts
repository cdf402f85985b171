import { isSlot } from "../actions.js";

/** A button on the screen for one action. */
export interface TouchButton {
  readonly trigger: string;
  readonly label: string;
}

/** Receives the presses of buttons on the screen. */
export interface TouchButtonListener {
  press(trigger: string): void;
  lift(trigger: string): void;
}

/** The buttons on a touch screen for the actions of a world. */
export class TouchButtons {
  readonly #container: HTMLElement;
  readonly #listener: TouchButtonListener;

  constructor(container: HTMLElement, listener: TouchButtonListener) {
    this.#container = container;
    this.#listener = listener;
  }

  /** Sets the buttons for the world's actions. */
  offer(buttons: readonly TouchButton[]): void {
    // The slots have a row of their own.
    const elements = buttons
      .filter(({ trigger }) => !isSlot(trigger))
      .map(({ trigger, label }) => {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = label;
        button.dataset["trigger"] = trigger;
        const { press, lift } = this.#listener;
        onTouchButton(
          button,
          () => press(trigger),
          () => lift(trigger),
        );
        return button;
      });
    this.#container.replaceChildren(...elements);
  }

  /**
   * Marks the buttons whose actions have a target now, and hides those whose actions are not possible now. The others keep
   * their places. Returns the number of buttons up to the last one that is shown.
   */
  mark(offered: ReadonlySet<string>, possible: ReadonlySet<string>): number {
    let shown = 0;
    for (const [index, button] of this.#container.querySelectorAll("button").entries()) {
      const trigger = button.dataset["trigger"] ?? "";
      button.classList.toggle("offered", offered.has(trigger));
      const isIdle = !offered.has(trigger) && !possible.has(trigger);
      button.classList.toggle("idle", isIdle);
      if (!isIdle) shown = index + 1;
    }
    return shown;
  }
}

/** Makes an element a button that a thumb holds, with functions for press and release. */
export function onTouchButton(element: HTMLElement, down: () => void, up: () => void): void {
  element.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    element.setPointerCapture(event.pointerId);
    element.classList.add("down");
    down();
  });
  for (const type of ["pointerup", "pointercancel"] as const) {
    element.addEventListener(type, () => {
      if (!element.classList.contains("down")) return;
      element.classList.remove("down");
      up();
    });
  }
  element.addEventListener("contextmenu", (event) => event.preventDefault());
}
