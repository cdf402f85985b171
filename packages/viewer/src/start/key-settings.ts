import { isMovable, moveKey } from "@nowcast/page";
import { codeName, codeOf, emoteKey, type Keymap, keyFor, mouseKey } from "@nowcast/page/internal";
import type { Binding } from "nowcast/internal";
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

/** Returns each key's code and its labels in a world with these actions. */
export function functionsOfKeys(bindings: readonly Binding[]): ReadonlyMap<string, string> {
  const claimed = new Set(bindings.flatMap(({ keys }) => keys));
  const labels = new Map<string, string>(KEYS.map(([code, word]) => [code, words[word]]));
  const add = (key: string | undefined, label: string): void => {
    // The buttons of a mouse cannot be moved, but the keys that do the same can.
    const code = codeOf(mouseKey(key ?? "", claimed) ?? key ?? "");
    if (code === undefined) return;
    const others = labels.get(code);
    labels.set(code, others === undefined || others === label ? label : `${others}, ${label}`);
  };
  for (const { keys, label } of bindings) for (const key of keys) add(key, label);
  add(emoteKey(claimed), words.emotesHint);
  if (!claimed.has("h")) add("h", words.figures);
  return labels;
}

/** The part of the settings that gives functions to other keys. */
export class KeySettings {
  readonly #list = element("set-keys", HTMLUListElement);
  readonly #status = element("set-keys-status", HTMLElement);
  readonly #change: (keymap: Keymap) => void;
  #keymap: Keymap = new Map();
  #bindings: readonly Binding[] = [];
  #release: (() => void) | undefined;

  constructor(change: (keymap: Keymap) => void) {
    this.#change = change;
    element("set-keys-reset", HTMLButtonElement).addEventListener("click", () => {
      this.#set(new Map());
      this.#status.textContent = words.keysRestored;
    });
  }

  /** Lists the functions of the page and of the world's actions. */
  show(keymap: Keymap, bindings: readonly Binding[]): void {
    this.#release?.();
    this.#keymap = keymap;
    this.#bindings = bindings;
    this.#status.textContent = "";
    const lines = [...functionsOfKeys(bindings)].map(([code, label]) => this.#createLine(code, label));
    this.#list.replaceChildren(...lines);
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
    button.addEventListener("click", () => this.#ask(button, code, label));
    line.append(name, button);
    return line;
  }

  /** Waits for the next key, and gives the function to it. Escape and a loss of the focus leave the keys as they are. */
  #ask(button: HTMLButtonElement, code: string, label: string): void {
    this.#release?.();
    const before = codeName(keyFor(this.#keymap, code));
    button.textContent = words.pressKey;
    this.#status.textContent = words.pressKeyFor(label, before);
    const abort = new AbortController();
    const { signal } = abort;
    this.#release = () => {
      abort.abort();
      button.textContent = before;
      this.#status.textContent = "";
      this.#release = undefined;
    };
    button.addEventListener("blur", () => this.#release?.(), { signal });
    const listen = (event: KeyboardEvent): void => {
      event.preventDefault();
      event.stopImmediatePropagation();
      if (event.code !== "Escape" && !isMovable(event.code)) return;
      this.#release?.();
      this.#set(event.code === "Escape" ? this.#keymap : moveKey(this.#keymap, code, event.code));
      this.#status.textContent = words.keyMoved(label, codeName(keyFor(this.#keymap, code)));
      this.#list.querySelector<HTMLElement>(`[data-code="${code}"]`)?.focus();
    };
    window.addEventListener("keydown", listen, { capture: true, signal });
  }
}
