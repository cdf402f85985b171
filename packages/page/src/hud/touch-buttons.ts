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
    const elements = buttons.map(({ trigger, label }) => {
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

  /** Marks the buttons whose actions have a target now, and dims those whose actions are not possible now. */
  mark(offered: ReadonlySet<string>, possible: ReadonlySet<string>): void {
    for (const button of this.#container.querySelectorAll("button")) {
      const trigger = button.dataset["trigger"] ?? "";
      button.classList.toggle("offered", offered.has(trigger));
      const isIdle = !offered.has(trigger) && !possible.has(trigger);
      button.classList.toggle("idle", isIdle);
      button.setAttribute("aria-disabled", String(isIdle));
    }
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
