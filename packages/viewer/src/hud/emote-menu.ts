import { EMOTES, type Emote } from "@nowcast/three";
import { element } from "../dom.js";
import { words } from "../words.js";

/** The menu of gestures, which its key and its buttons open. While it is open, the digits choose a gesture. */
export class EmoteMenu {
  readonly #panel = element("emotes", HTMLElement);
  readonly #toggles = [element("emote-toggle", HTMLButtonElement), element("touch-emote", HTMLButtonElement)];

  /** `onChoose` is called with the chosen gesture. */
  constructor(onChoose: (emote: Emote) => void) {
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
        button.append(digit, words.emoteNames[emote]);
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
      { capture: true },
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
