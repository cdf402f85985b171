import { type Binding, emoteKey } from "@nowcast/page";
import { element } from "../dom.js";
import { codeName, codeOf, type Keymap, keyFor } from "../input/keymap.js";
import { words } from "../words.js";

/** Keys and their effect. A hint without keys describes an effect of the mouse. */
export interface KeyHint {
  readonly keys: readonly string[];
  readonly what: string;
}

const UNMOVED: Keymap = new Map();

/** The label of the key of an action, or of its mouse gesture. `key` may also be the code of a key, such as `ShiftLeft`. */
export function keyName(key: string, keymap: Keymap = UNMOVED): string {
  if (key === "left") return words.keys.left;
  if (key === "right") return words.keys.right;
  return codeName(keyFor(keymap, codeOf(key) ?? key));
}

/** The actions that keys trigger at present, as one line. */
export function promptFor(offers: readonly Binding[], keymap: Keymap = UNMOVED): string {
  return offers
    .flatMap(({ key, label }) => (key === undefined ? [] : [words.prompt(keyName(key, keymap), label)]))
    .join(" · ");
}

/** The controls of movement, and of this world's actions. */
export function keyHints(bindings: readonly Binding[], keymap: Keymap = UNMOVED): readonly KeyHint[] {
  const { enter } = words.keys;
  const named = (code: string): string => codeName(keyFor(keymap, code));
  const actions = bindings.flatMap(({ key, label, charge }) => {
    if (key === undefined) return [];
    return [{ keys: [charge ? words.hold(keyName(key, keymap)) : keyName(key, keymap)], what: label }];
  });
  return [
    { keys: ["KeyW", "KeyA", "KeyS", "KeyD"].map(named), what: words.walk },
    { keys: [named("ShiftLeft")], what: words.run },
    { keys: [named("Space")], what: words.jumpHint },
    ...actions,
    ...emoteHint(bindings, keymap),
    { keys: [enter], what: words.chatHint },
    { keys: [], what: words.lookHint },
  ];
}

/** The key of the gestures, which no action of the world has. */
function emoteHint(bindings: readonly Binding[], keymap: Keymap): readonly KeyHint[] {
  const key = emoteKey(new Set(bindings.flatMap(({ key }) => key ?? [])));
  return key === undefined ? [] : [{ keys: [keyName(key, keymap)], what: words.emotesHint }];
}

/** The answer to `/help` in the chat, which only this page shows. */
export function helpLines(hints: readonly KeyHint[]): readonly string[] {
  const keys = hints.map((hint) => `${hint.keys.join(" ")} ${hint.what}`.trim()).join(", ");
  return [words.helpKeys(keys), words.helpKeyboard, words.helpPage, words.helpChat];
}

/** The answer to `/help` on a touch screen. */
export function touchHelpLines(bindings: readonly Binding[]): readonly string[] {
  const buttons = bindings.map(({ label }) => label).join(", ");
  const actions = buttons === "" ? [] : [words.helpTouch(buttons)];
  return [words.introTouch, ...actions, words.helpChat];
}

/** The bar of keys at the lower edge. "?" and its button hide or show it. */
export class KeyBar {
  readonly #bar = element("hints", HTMLElement);
  readonly #toggle = element("help-toggle", HTMLButtonElement);
  #shown: readonly KeyHint[] = keyHints([]);
  readonly #onToggle: (isVisible: boolean) => void;

  /** `onToggle` is called when the user hides or shows the bar, `onPress` for a click on its button. */
  constructor(onToggle: (isVisible: boolean) => void, onPress: () => void) {
    this.#onToggle = onToggle;
    this.#toggle.addEventListener("click", onPress);
  }

  get hints(): readonly KeyHint[] {
    return this.#shown;
  }

  flip(): void {
    this.set(this.#bar.hidden);
  }

  /** Hides or shows the bar for the user, also on later visits. */
  set(isVisible: boolean): void {
    this.setVisible(isVisible);
    this.#onToggle(isVisible);
  }

  setVisible(isVisible: boolean): void {
    this.#bar.hidden = !isVisible;
    this.#toggle.setAttribute("aria-pressed", String(isVisible));
  }

  /** Shows the keys of a world's actions, with the keys that the user moved. */
  define(bindings: readonly Binding[], keymap: Keymap): void {
    this.#shown = keyHints(bindings, keymap);
    this.#bar.replaceChildren(
      ...this.#shown.map(({ keys, what }) => {
        const hint = document.createElement("span");
        for (const key of keys) {
          const cap = document.createElement("kbd");
          cap.textContent = key;
          hint.append(cap);
        }
        hint.append(` ${what}`);
        return hint;
      }),
    );
  }
}
