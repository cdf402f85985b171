import { EMOTES, type Emote } from "@nowcast/three/internal";
import { pageTexts } from "../texts.js";

/** The gesture menu, which its key and its buttons open. While it is open, the digits choose a gesture. */
export class EmoteMenu {
  readonly #panel: HTMLElement;
  readonly #toggles: readonly HTMLElement[];

  /**
   * `toggles` open and close the menu in `panel`. `onChoose` is called with the chosen gesture. The menu listens to keys until
   * `signal`.
   */
  constructor(
    panel: HTMLElement,
    toggles: readonly HTMLElement[],
    onChoose: (emote: Emote) => void,
    signal?: AbortSignal,
  ) {
    this.#panel = panel;
    this.#toggles = toggles;
    const choose = (emote: Emote): void => {
      this.close();
      onChoose(emote);
    };
    this.#panel.replaceChildren(
      ...EMOTES.map((emote, i) => {
        const button = document.createElement("button");
        button.type = "button";
        button.dataset["emote"] = emote;
        const digit = document.createElement("kbd");
        digit.textContent = String(i + 1);
        button.append(digit, pageTexts.emoteNames[emote]);
        button.addEventListener("click", () => choose(emote));
        return button;
      }),
    );
    for (const toggle of this.#toggles) toggle.addEventListener("click", () => this.flip());
    window.addEventListener(
      "keydown",
      (event) => {
        const emote = EMOTES[Number(/^(?:Digit|Numpad)(\d)$/.exec(event.code)?.[1]) - 1];
        if (this.#panel.hidden || (event.code !== "Escape" && !emote)) return;
        event.preventDefault();
        event.stopImmediatePropagation();
        if (emote) choose(emote);
        else this.close();
      },
      { capture: true, ...(signal && { signal }) },
    );
  }

  flip(): void {
    this.#setOpen(this.#panel.hidden);
  }

  close(): void {
    this.#setOpen(false);
  }

  #setOpen(isOpen: boolean): void {
    this.#panel.hidden = !isOpen;
    for (const toggle of this.#toggles) toggle.setAttribute("aria-expanded", String(isOpen));
  }
}
