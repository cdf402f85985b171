import type { Binding } from "nowcast/internal";
import type { World } from "nowcast/world";
import { buttonOf } from "../actions.js";
import type { DeviceInUse } from "../input/devices.js";
import { emoteKey } from "../input/keyboard.js";
import { codeName, codeOf, type Keymap, keyFor, UNMOVED } from "../input/keymap.js";
import { pageTexts } from "../texts.js";

/** Whether a kind of the world walks; true while the world is not known. */
function hasWalkers(world: Pick<World, "definition"> | undefined): boolean {
  return world?.definition?.kinds.some(({ walker }) => walker !== undefined) ?? true;
}

/** The effects of the movement controls, which all worlds share. `undefined`: the control has no effect. */
export interface Movement {
  readonly walks: boolean;
  readonly run: string | undefined;
  readonly jump: string | undefined;
}

/**
 * The effects of the movement controls in a world with these first steps. A world without walkers gives the keys of running and
 * jumping a meaning of its own if a step names them.
 */
export function movementOf(
  world: Pick<World, "definition"> | undefined,
  steps: readonly string[] = [],
): Movement {
  if (hasWalkers(world)) return WALKING;
  const named = (name: string, effect: string): string | undefined =>
    isNamed(steps, name) ? effect : undefined;
  return { walks: false, run: named("run", pageTexts.fasterHint), jump: named("jump", pageTexts.upHint) };
}

/** Whether one of the first steps names this control or action. */
function isNamed(steps: readonly string[], name: string): boolean {
  return steps.some((step) => step.includes(`{${name}}`));
}

const WALKING: Movement = {
  walks: true,
  get run() {
    return pageTexts.run;
  },
  get jump() {
    return pageTexts.jumpHint;
  },
};

/** The device in use, and what its keys and buttons do. */
export interface NamedDevice {
  readonly device: DeviceInUse;
  readonly keymap: Keymap;
  /** The triggers of a gamepad's buttons, by their numbers in the standard mapping. */
  readonly padTriggers: ReadonlyMap<number, string>;
}

/** The controls that sentences of a world name. */
export interface NamedControls extends NamedDevice {
  readonly bindings: readonly Binding[];
}

/** The default keyboard layout, without remapped keys. */
export const KEYBOARD: NamedControls = {
  device: "keyboard",
  keymap: UNMOVED,
  padTriggers: new Map(),
  bindings: [],
};

/**
 * The names of an action's controls on the device in use; empty if the device has none. Buttons on a touch screen show their
 * labels themselves. `mouse` names the buttons of a mouse.
 */
export function controlNames(
  { action, keys }: Binding,
  { device, keymap, padTriggers }: NamedDevice,
  mouse: Readonly<Record<"left" | "right", string>> = pageTexts.keys,
): readonly string[] {
  if (device === "keyboard")
    return keys.map((key) => (key === "left" || key === "right" ? mouse[key] : keyName(key, keymap)));
  const buttons = device === "gamepad" ? [...padTriggers] : [];
  return buttons.filter(([, trigger]) => trigger === buttonOf(action)).map(([button]) => padButton(button));
}

/** The label of a gamepad's button. */
function padButton(button: number): string {
  return pageTexts.padButtons[button] ?? String(button);
}

/** The gamepad's button for the card's button; `undefined` on other devices. Each button of a gamepad closes the card. */
export function beginButton({ device }: NamedDevice): string | undefined {
  return device === "gamepad" ? padButton(0) : undefined;
}

/** Returns the device's name for a control that all worlds share. */
export function movementName(control: "walk" | "run" | "jump", { device, keymap }: NamedDevice): string {
  if (device === "touch") return pageTexts.touchControls[control];
  if (device === "gamepad") return pageTexts.padControls[control];
  return keyName({ walk: "KeyW", run: "ShiftLeft", jump: "Space" }[control], keymap);
}

/** Keys and their effect. A hint without keys describes an effect of the mouse. */
export interface KeyHint {
  readonly keys: readonly string[];
  readonly what: string;
}

/** The label of an action's key. `key` may also be the code of a key, such as `ShiftLeft`. */
export function keyName(key: string, keymap: Keymap = UNMOVED): string {
  return codeName(keyFor(keymap, codeOf(key) ?? key));
}

/**
 * The actions of a prompt, which means: now, here, this key. Those with a target come first, then those that a state of the
 * avatar makes possible.
 */
export function promptedActions(offers: readonly Binding[], others: readonly Binding[]): readonly Binding[] {
  return [...offers, ...others.filter(({ needs }) => needs !== undefined)];
}

/** The present actions that have a key or button on the device in use, as one line with at most `max` entries. */
export function promptFor(
  offers: readonly Binding[],
  device: NamedDevice = KEYBOARD,
  max = offers.length,
): string {
  return keyedActions(offers, device)
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
 * The actions that have a key or button on the device in use. Actions on consecutive number keys whose labels differ only in
 * a final number become one entry: "Slot 1" to "Slot 4" on the keys 1 to 4 are "Slot" on "1–4".
 */
export function keyedActions(
  bindings: readonly Binding[],
  device: NamedDevice = KEYBOARD,
): readonly KeyedAction[] {
  const rows: { first: KeyedAction; last: KeyedAction }[] = [];
  for (const binding of bindings) {
    const { label, charge } = binding;
    const names = controlNames(binding, device);
    if (names.length === 0) continue;
    const name = pageTexts.orKey(names);
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
  return /^\d$/.test(key) ? withoutNumber(label) : undefined;
}

function withoutNumber(label: string): string | undefined {
  return /^(.*\S)\s+\d+$/.exec(label)?.[1];
}

/** The controls for movement, for this world's actions, for gestures and for the page. A touch screen has buttons instead. */
export function keyHints(controls: NamedControls, movement: Movement = WALKING): readonly KeyHint[] {
  const { device, keymap, bindings } = controls;
  if (device === "touch") return [];
  const acts = [...movementHints(controls, movement), ...actionHints(bindings, controls)];
  if (device === "gamepad")
    return [...acts, { keys: [pageTexts.padSticks.right], what: pageTexts.padLookHint }];
  return [
    ...acts,
    ...(movement.walks ? emoteHints(bindings, keymap) : []),
    { keys: [pageTexts.keys.enter], what: pageTexts.chatHint },
    { keys: [], what: pageTexts.lookHint },
  ];
}

function movementHints(device: NamedDevice, movement: Movement): readonly KeyHint[] {
  const keys =
    device.device === "gamepad"
      ? [pageTexts.padSticks.left]
      : ["KeyW", "KeyA", "KeyS", "KeyD"].map((code) => codeName(keyFor(device.keymap, code)));
  const gaits = (["run", "jump"] as const).flatMap((gait) => {
    const what = movement[gait];
    return what === undefined ? [] : [{ keys: [movementName(gait, device)], what }];
  });
  return [{ keys, what: movement.walks ? pageTexts.walk : pageTexts.moveHint }, ...gaits];
}

function actionHints(listed: readonly Binding[], device: NamedDevice): readonly KeyHint[] {
  return keyedActions(listed, device).map(({ key, label }) => ({ keys: [key], what: label }));
}

/**
 * The actions of a short bar: the possible ones, and those that first steps name. Each action has only its free keys: a key is
 * listed once, for its possible action if there is one. An action without a free key is left out.
 */
export function barActions(
  bindings: readonly Binding[],
  possible: ReadonlySet<string>,
  steps: readonly string[],
): readonly Binding[] {
  const isPossible = ({ action }: Binding): boolean => possible.has(action);
  const isTaught = ({ action }: Binding): boolean => isNamed(steps, action);
  const taken = new Set<string>();
  const listed = new Map<string, Binding>();
  for (const binding of [...bindings.filter(isPossible), ...bindings.filter(isTaught)]) {
    if (listed.has(binding.action)) continue;
    const keys = binding.keys.filter((key) => !taken.has(key));
    if (keys.length === 0 && binding.keys.length > 0) continue;
    listed.set(binding.action, { ...binding, keys });
    for (const key of keys) taken.add(key);
  }
  return bindings.flatMap(({ action }) => listed.get(action) ?? []);
}

/** The buttons of a world's actions. Actions whose labels differ only in a final number share one hint, so that slots are short. */
function padHints(listed: readonly Binding[], device: NamedDevice): readonly KeyHint[] {
  const groups = new Map<string, { readonly keys: string[]; readonly label: string }>();
  for (const { key, label } of keyedActions(listed, device)) {
    const group = withoutNumber(label) ?? label;
    const { keys } = groups.get(group) ?? groups.set(group, { keys: [], label }).get(group)!;
    keys.push(key);
  }
  return [...groups].map(([group, { keys, label }]) => ({ keys, what: keys.length > 1 ? group : label }));
}

/** The key of the gestures, which no action of the world has. */
function emoteHints(bindings: readonly Binding[], keymap: Keymap): readonly KeyHint[] {
  const key = emoteKey(new Set(bindings.flatMap(({ keys }) => keys)));
  return key === undefined ? [] : [{ keys: [keyName(key, keymap)], what: pageTexts.emotesHint }];
}

/** The answer of a page to `/help` in the chat. */
export function helpLines(controls: NamedControls, movement: Movement): readonly string[] {
  if (controls.device === "touch") {
    const buttons = controls.bindings.map(({ label }) => label).join(", ");
    const actions = buttons === "" ? [] : [pageTexts.helpTouch(buttons)];
    return [pageTexts.introTouch, ...actions, pageTexts.helpChat];
  }
  const hints = keyHints(controls, movement);
  const keys = hints.map((hint) => `${hint.keys.join(" ")} ${hint.what}`.trim()).join(", ");
  return [pageTexts.helpKeys(keys), pageTexts.helpKeyboard, pageTexts.helpPage, pageTexts.helpChat];
}

/** The keys of a world as a list, and the button that hides or shows it. "?" does the same. */
export class KeyBar {
  readonly #bar: HTMLElement;
  readonly #toggle: HTMLButtonElement;
  readonly #onToggle: (isVisible: boolean) => void;
  movement: Movement = WALKING;

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

  /**
   * Shows the controls on the device in use; with `listed`, only those for movement and of these actions, and "?" for the others.
   * The controls of a gamepad's sticks and movement are the same everywhere, and left out.
   */
  define(controls: NamedControls, listed?: readonly Binding[]): void {
    this.#show(
      controls.device === "gamepad"
        ? padHints(listed ?? controls.bindings, controls)
        : listed === undefined || controls.device === "touch"
          ? keyHints(controls, this.movement)
          : [
              ...movementHints(controls, this.movement),
              ...actionHints(listed, controls),
              { keys: ["?"], what: pageTexts.moreHint },
            ],
    );
  }

  #show(hints: readonly KeyHint[]): void {
    this.#bar.replaceChildren(
      ...hints.map(({ keys, what }) => {
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
