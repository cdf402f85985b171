import { cssColor, onEscape } from "../dom.js";
import { pageTexts } from "../texts.js";

const LINES_MAX = 80;
const FADE_MS = 12_000;
const LATEST_MAX = 6;

/** The elements of {@link ChatPanel}. */
export interface ChatElements {
  /** Has the class `typing` while the field has the focus. */
  readonly panel: HTMLElement;
  /** Lines get the class `old` after some seconds. The log has the class `open` while the field has the focus. */
  readonly log: HTMLElement;
  readonly form: HTMLFormElement;
  readonly input: HTMLInputElement;
}

/** The log of a room's chat, and the field for a new line. Lines are shown as text, never as markup. */
export class ChatPanel {
  /** The newest lines as text, the oldest first. */
  readonly latest: string[] = [];
  readonly #panel: HTMLElement;
  readonly #log: HTMLElement;
  readonly #input: HTMLInputElement;

  /** `onSay` receives a line. `onDone` is called when the keyboard may return to the world. */
  constructor({ panel, log, form, input }: ChatElements, onSay: (text: string) => void, onDone: () => void) {
    this.#panel = panel;
    this.#log = log;
    this.#input = input;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const text = this.#input.value.trim();
      this.#input.value = "";
      if (text !== "") onSay(text);
      onDone();
    });
    onEscape(this.#input, (event) => {
      event.stopPropagation();
      onDone();
    });
    this.#input.addEventListener("focus", () => this.#setOpen(true));
    this.#input.addEventListener("blur", () => this.#setOpen(false));
  }

  /** Removes all lines, for example because another room is entered. */
  clear(): void {
    this.latest.length = 0;
    this.#log.replaceChildren();
    this.#input.value = "";
  }

  open(): void {
    this.#setOpen(true);
    this.#input.focus();
  }

  close(): void {
    this.#input.blur();
  }

  add(name: string, color: number, text: string): void {
    const line = document.createElement("li");
    const speaker = document.createElement("b");
    speaker.textContent = name;
    speaker.style.color = readableColor(color);
    line.append(speaker, text);
    this.#append(line, `${name}: ${text}`);
  }

  /** Adds a line of the page itself: an event, not a chat line. */
  addEvent(text: string): void {
    const line = document.createElement("li");
    line.className = "event";
    line.textContent = text;
    this.#append(line, text);
  }

  #append(line: HTMLLIElement, text: string): void {
    this.latest.push(text);
    if (this.latest.length > LATEST_MAX) this.latest.shift();
    this.#log.append(line);
    while (this.#log.childElementCount > LINES_MAX) this.#log.firstElementChild?.remove();
    this.#log.scrollTop = this.#log.scrollHeight;
    window.setTimeout(() => line.classList.add("old"), FADE_MS);
  }

  #setOpen(open: boolean): void {
    this.#panel.classList.toggle("typing", open);
    this.#log.classList.toggle("open", open);
    this.#input.placeholder = open ? pageTexts.say : pageTexts.pressToChat;
    this.#log.scrollTop = this.#log.scrollHeight;
  }
}

/**
 * Lightens the colour of a shirt until a name in this colour is readable on the dark background of the log.
 */
export function readableColor(color: number): string {
  const mix = (shift: number) => Math.round(((color >> shift) & 0xff) * 0.28 + 255 * 0.72) << shift;
  return cssColor(mix(16) | mix(8) | mix(0));
}
