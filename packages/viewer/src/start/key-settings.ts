import { type Binding, codeName, codeOf, isMovable, type Keymap, keyFor, moveKey } from "@nowcast/page";
import { element } from "../dom.js";
import { words } from "../words.js";

/** The keys of the page itself, by the code of the key that has the function at first. */
const KEYS = [
  ["KeyW", "walkForward"],
  ["KeyS", "walkBack"],
  ["KeyA", "walkLeft"],
  ["KeyD", "walkRight"],
  ["ShiftLeft", "run"],
  ["Space", "jumpHint"],
  ["Comma", "turnLeft"],
  ["Period", "turnRight"],
  ["PageUp", "lookUp"],
  ["PageDown", "lookDown"],
] as const;

/** The part of the settings that gives functions to other keys. */
export class KeySettings {
  readonly #list = element("set-keys", HTMLUListElement);
  readonly #change: (keymap: Keymap) => void;
  #keymap: Keymap = new Map();
  #bindings: readonly Binding[] = [];
  #release: (() => void) | undefined;

  constructor(change: (keymap: Keymap) => void) {
    this.#change = change;
    element("set-keys-reset", HTMLButtonElement).addEventListener("click", () => this.#set(new Map()));
  }

  /** Lists the functions of the page and of the world's actions. */
  show(keymap: Keymap, bindings: readonly Binding[]): void {
    this.#release?.();
    this.#keymap = keymap;
    this.#bindings = bindings;
    const actions = bindings.flatMap(({ key, label }): [string, string][] => {
      const code = key === undefined ? undefined : codeOf(key);
      return code === undefined ? [] : [[code, label]];
    });
    const own = KEYS.map(([code, word]): [string, string] => [code, words[word]]);
    this.#list.replaceChildren(...[...own, ...actions].map(([code, label]) => this.#createLine(code, label)));
  }

  #set(keymap: Keymap): void {
    this.#change(keymap);
    this.show(keymap, this.#bindings);
  }

  #createLine(code: string, label: string): HTMLLIElement {
    const line = document.createElement("li");
    const name = document.createElement("span");
    name.textContent = label;
    const button = document.createElement("button");
    button.type = "button";
    button.dataset["code"] = code;
    button.textContent = codeName(keyFor(this.#keymap, code));
    button.setAttribute("aria-label", `${label}: ${button.textContent}`);
    button.addEventListener("click", () => this.#ask(button, code));
    line.append(name, button);
    return line;
  }

  /** Waits for the next key, and gives the function to it. Escape leaves the keys as they are. */
  #ask(button: HTMLButtonElement, code: string): void {
    this.#release?.();
    button.textContent = words.pressKey;
    const listen = (event: KeyboardEvent): void => {
      event.preventDefault();
      event.stopImmediatePropagation();
      if (event.code !== "Escape" && !isMovable(event.code)) return;
      this.#release?.();
      this.#set(event.code === "Escape" ? this.#keymap : moveKey(this.#keymap, code, event.code));
      this.#list.querySelector<HTMLElement>(`[data-code="${code}"]`)?.focus();
    };
    window.addEventListener("keydown", listen, { capture: true });
    this.#release = () => {
      window.removeEventListener("keydown", listen, { capture: true });
      this.#release = undefined;
    };
  }
}
