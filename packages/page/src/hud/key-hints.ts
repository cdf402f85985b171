import type { Binding } from "nowcast/internal";
import type { World } from "nowcast/world";
import { emoteKey } from "../input/keyboard.js";
import { codeName, codeOf, type Keymap, keyFor, UNMOVED } from "../input/keymap.js";
import { pageTexts } from "../texts.js";

/** Whether the keys of movement make somebody walk, run and jump in a world; true while the world is not known. */
export function hasWalkers(world: Pick<World, "definition"> | undefined): boolean {
  return world?.definition?.kinds.some(({ walker }) => walker !== undefined) ?? true;
}

/** The controls that sentences of a world name. */
export interface NamedControls {
  readonly bindings: readonly Binding[];
  readonly keymap: Keymap;
  /** Whether buttons on the screen replace the keys. */
  readonly isTouching: boolean;
}

/** Keys and their effect. A hint without keys describes an effect of the mouse. */
export interface KeyHint {
  readonly keys: readonly string[];
  readonly what: string;
}

/** The label of an action's key or mouse gesture. `key` may also be the code of a key, such as `ShiftLeft`. */
export function keyName(key: string, keymap: Keymap = UNMOVED): string {
  if (key === "left") return pageTexts.keys.left;
  if (key === "right") return pageTexts.keys.right;
  return codeName(keyFor(keymap, codeOf(key) ?? key));
}

/**
 * The actions of a prompt, which means: now, here, this key. Those with a target come first, then those that a state of the
 * avatar makes possible. The bar of keys lists the others, which are always possible.
 */
export function promptedActions(offers: readonly Binding[], others: readonly Binding[]): readonly Binding[] {
  return [...offers, ...others.filter(({ needs }) => needs !== undefined)];
}

/** The actions that keys trigger at present, as one line with at most `max` entries. */
export function promptFor(offers: readonly Binding[], keymap: Keymap = UNMOVED, max = offers.length): string {
  return keyedActions(offers, keymap)
    .slice(0, max)
    .map(({ key, label }) => pageTexts.prompt(key, label))
    .join(" · ");
}

/** The name of one key, several keys or a key range, and the label of the action. */
export interface KeyedAction {
  readonly key: string;
  readonly label: string;
}

/**
 * The actions that have a key. Actions on consecutive number keys whose labels differ only in a final number become one
 * entry: "Slot 1" to "Slot 4" on the keys 1 to 4 are "Slot" on "1–4".
 */
export function keyedActions(bindings: readonly Binding[], keymap: Keymap = UNMOVED): readonly KeyedAction[] {
  const rows: { first: KeyedAction; last: KeyedAction }[] = [];
  for (const { keys, label, charge } of bindings) {
    if (keys.length === 0) continue;
    const name = pageTexts.orKey(keys.map((key) => keyName(key, keymap)));
    const action = { key: charge ? pageTexts.hold(name) : name, label };
    const row = rows.at(-1);
    if (row && isNext(row.last, action)) row.last = action;
    else rows.push({ first: action, last: action });
  }
  return rows.map(({ first, last }) => {
    if (first === last) return first;
    return { key: `${first.key}–${last.key}`, label: unnumbered(first) ?? first.label };
  });
}

/** Whether the second action is on the next number key, with a label that differs only in its final number. */
function isNext(before: KeyedAction, after: KeyedAction): boolean {
  const label = unnumbered(before);
  return label !== undefined && label === unnumbered(after) && Number(before.key) + 1 === Number(after.key);
}

/** The label of an action on a number key without the number at its end; `undefined` if there is none. */
function unnumbered({ key, label }: KeyedAction): string | undefined {
  return /^\d$/.test(key) ? /^(.*\S)\s+\d+$/.exec(label)?.[1] : undefined;
}

/**
 * The controls for movement, for this world's actions, and for the page: the gesture key, and `more`. A world without
 * walkers gives the keys of running and jumping a meaning of its own, or none, which its card explains.
 */
export function keyHints(
  bindings: readonly Binding[],
  keymap: Keymap = UNMOVED,
  hasWalkers = true,
  more: readonly KeyHint[] = [],
): readonly KeyHint[] {
  const { enter } = pageTexts.keys;
  const named = (code: string): string => codeName(keyFor(keymap, code));
  const actions = keyedActions(bindings, keymap).map(({ key, label }) => ({ keys: [key], what: label }));
  const gaits = [
    { keys: [named("ShiftLeft")], what: pageTexts.run },
    { keys: [named("Space")], what: pageTexts.jumpHint },
  ];
  return [
    {
      keys: ["KeyW", "KeyA", "KeyS", "KeyD"].map(named),
      what: hasWalkers ? pageTexts.walk : pageTexts.moveHint,
    },
    ...(hasWalkers ? gaits : []),
    ...actions,
    ...(hasWalkers ? emoteHints(bindings, keymap) : []),
    ...more,
    { keys: [enter], what: pageTexts.chatHint },
    { keys: [], what: pageTexts.lookHint },
  ];
}

/** The keys that turn the camera in every world. */
export function lookHints(keymap: Keymap = UNMOVED): readonly KeyHint[] {
  const named = (code: string): string => codeName(keyFor(keymap, code));
  return [
    { keys: ["Comma", "Period"].map(named), what: pageTexts.turnHint },
    { keys: ["PageUp", "PageDown"].map(named), what: pageTexts.tiltHint },
  ];
}

/** The key of the gestures, which no action of the world has. */
function emoteHints(bindings: readonly Binding[], keymap: Keymap): readonly KeyHint[] {
  const key = emoteKey(new Set(bindings.flatMap(({ keys }) => keys)));
  return key === undefined ? [] : [{ keys: [keyName(key, keymap)], what: pageTexts.emotesHint }];
}

/** The answer of a page to `/help` in the chat. */
export function helpLines(
  { bindings, keymap, isTouching }: NamedControls,
  hasWalkers: boolean,
): readonly string[] {
  if (isTouching) {
    const buttons = bindings.map(({ label }) => label).join(", ");
    const actions = buttons === "" ? [] : [pageTexts.helpTouch(buttons)];
    return [pageTexts.introTouch, ...actions, pageTexts.helpChat];
  }
  const hints = keyHints(bindings, keymap, hasWalkers);
  const keys = hints.map((hint) => `${hint.keys.join(" ")} ${hint.what}`.trim()).join(", ");
  return [pageTexts.helpKeys(keys), pageTexts.helpKeyboard, pageTexts.helpPage, pageTexts.helpChat];
}

/** The keys of a world as a list, and the button that hides or shows it. "?" does the same. */
export class KeyBar {
  readonly #bar: HTMLElement;
  readonly #toggle: HTMLButtonElement;
  readonly #onToggle: (isVisible: boolean) => void;
  /** Whether a kind of the world walks. */
  hasWalkers = true;

  /** `onToggle` is called when the user hides or shows the bar, `onPress` for a click on its button. */
  constructor(
    { bar, toggle }: { readonly bar: HTMLElement; readonly toggle: HTMLButtonElement },
    onToggle: (isVisible: boolean) => void,
    onPress: () => void,
  ) {
    this.#bar = bar;
    this.#toggle = toggle;
    this.#onToggle = onToggle;
    this.#toggle.addEventListener("click", onPress);
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
  define(bindings: readonly Binding[], keymap: Keymap = UNMOVED, more?: readonly KeyHint[]): void {
    this.#bar.replaceChildren(
      ...keyHints(bindings, keymap, this.hasWalkers, more).map(({ keys, what }) => {
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
