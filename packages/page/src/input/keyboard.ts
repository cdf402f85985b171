import type { InputCollector } from "./input-collector.js";

/** Keys by their position on the keyboard, so that WASD are at the same place on every layout. */
const FORWARD = new Set(["KeyW", "ArrowUp"]);
const BACK = new Set(["KeyS", "ArrowDown"]);
const LEFT = new Set(["KeyA", "ArrowLeft"]);
const RIGHT = new Set(["KeyD", "ArrowRight"]);
/** Keys that turn the camera. A letter turns unless an action of the world uses it; the other keys always turn. */
const TURN_LEFT = new Set(["KeyQ", "Comma"]);
const TURN_RIGHT = new Set(["KeyR", "Period"]);
const LOOK_UP = new Set(["PageUp"]);
const LOOK_DOWN = new Set(["PageDown"]);
/**
 * Keys that act as the buttons of a mouse. The first key that no action of the world has acts as the button, so that there
 * is a key for it in every world.
 */
const MOUSE_KEYS: Readonly<Record<string, readonly string[]>> = {
  left: ["x", "v", "j"],
  right: ["c", "b", "k"],
};
const EMOTE_KEYS: readonly string[] = ["t", "g", "y", "n"];
const WALKING = new Set(["KeyW", "KeyA", "KeyS", "KeyD"]);

/**
 * WASD or arrows, Shift, Space, Enter, Escape, ?, and the keys of the world's actions. Q and R turn, H, T and ` open panels,
 * unless an action has the key.
 */
export class Keyboard {
  readonly #down = new Set<string>();
  readonly #inputs: InputCollector;
  readonly #onUse: () => void;
  readonly #abort = new AbortController();

  /** `onUse` is called for each key that is pressed outside of fields for text. */
  constructor(inputs: InputCollector, onUse: () => void = () => undefined) {
    this.#inputs = inputs;
    this.#onUse = onUse;
    const { signal } = this.#abort;
    window.addEventListener("keydown", (event) => this.#press(event), { signal });
    window.addEventListener("keyup", (event) => this.#lift(event), { signal });
    window.addEventListener("blur", () => this.clear(), { signal });
  }

  /** Releases all keys, for example because the chat gets the keyboard focus. */
  clear(): void {
    this.#inputs.cancel();
    this.#down.clear();
    this.#update();
  }

  /** Stops listening to the keyboard. */
  dispose(): void {
    this.#abort.abort();
  }

  /** The direction in which keys turn the camera, for users without a mouse. */
  get turning(): number {
    return this.#free(TURN_LEFT) - this.#free(TURN_RIGHT);
  }

  /** The direction in which keys tilt the camera: 1 looks up. */
  get tilting(): number {
    return this.#free(LOOK_UP) - this.#free(LOOK_DOWN);
  }

  #press(event: KeyboardEvent): void {
    if (isTyping(event.composedPath()[0] ?? null) || event.ctrlKey || event.metaKey || event.altKey) return;
    this.#onUse();
    const code = this.#inputs.keymap.get(event.code) ?? event.code;
    if (event.code === "Escape") this.#inputs.do("escape");
    // If a button has the focus, Space and Enter press it.
    if (isPressable(event.composedPath()[0] ?? null) && (event.code === "Space" || event.code === "Enter"))
      return;
    if (event.code === "Enter") {
      event.preventDefault();
      this.#inputs.do("chat");
      return;
    }
    // This key is found by its character, because its position differs between layouts.
    if (event.key === "?" && !event.repeat) this.#inputs.do("help");
    if (/^(Space|Arrow.*|Page(Up|Down))$/.test(code)) event.preventDefault();
    if (event.repeat || this.#down.has(code)) return;
    this.#down.add(code);
    this.#update();
    const trigger = this.#triggerOf(code);
    if (trigger !== undefined) this.#inputs.press(trigger);
    else if (keyOf(code) === emoteKey(this.#inputs.claimed)) this.#inputs.do("emotes");
    else if (code === "KeyH") this.#inputs.do("hud");
    else if (code === "Backquote") this.#inputs.do("console");
  }

  #lift(event: KeyboardEvent): void {
    const code = this.#inputs.keymap.get(event.code) ?? event.code;
    if (!this.#down.delete(code)) return;
    this.#update();
    const trigger = this.#triggerOf(code);
    if (trigger !== undefined) this.#inputs.lift(trigger);
  }

  /** Returns 1 if one of these keys is down and no action of the world uses it. */
  #free(codes: ReadonlySet<string>): number {
    for (const code of codes) {
      if (this.#down.has(code) && !this.#inputs.claimed.has(keyOf(code) ?? "")) return 1;
    }
    return 0;
  }

  /** The trigger of a key: its own action, or a button of the mouse. */
  #triggerOf(code: string): string | undefined {
    const { claimed } = this.#inputs;
    const key = keyOf(code);
    if (key === undefined || claimed.has(key)) return key;
    return Object.keys(MOUSE_KEYS).find((button) => claimed.has(button) && mouseKey(button, claimed) === key);
  }

  #update(): void {
    const { keyboard } = this.#inputs;
    keyboard.forward = this.#any(FORWARD) - this.#any(BACK);
    keyboard.right = this.#any(RIGHT) - this.#any(LEFT);
    keyboard.run = this.#down.has("ShiftLeft") || this.#down.has("ShiftRight");
    keyboard.jump = this.#down.has("Space");
  }

  #any(codes: ReadonlySet<string>): number {
    for (const code of codes) if (this.#down.has(code)) return 1;
    return 0;
  }
}

/** Returns the key that acts as a button of the mouse (`left`, `right`) in a world whose actions have the keys `claimed`. */
export function mouseKey(button: string, claimed: ReadonlySet<string>): string | undefined {
  return MOUSE_KEYS[button]?.find((key) => !claimed.has(key));
}

/** Returns the key that opens the gestures: the first one that no action of a world has. */
export function emoteKey(claimed: ReadonlySet<string>): string | undefined {
  return EMOTE_KEYS.find((key) => !claimed.has(key));
}

/**
 * Returns the letter or digit of a key by its position on the keyboard, or of a digit of the number pad; undefined for keys
 * that are used for walking.
 */
function keyOf(code: string): string | undefined {
  if (WALKING.has(code)) return undefined;
  return /^(?:Key|Digit|Numpad)([A-Z0-9])$/.exec(code)?.[1]?.toLowerCase();
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLInputElement ||
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement
  );
}

function isPressable(target: EventTarget | null): boolean {
  return target instanceof HTMLButtonElement || target instanceof HTMLAnchorElement;
}
