import type { InputCollector } from "./input-collector.js";

const DEAD = 0.15;
const LOOK_PER_SECOND = 2.6;

/**
 * The standard mapping: left stick walks, right stick looks, A jumps, B or L3 runs, and the other buttons are the
 * world's actions. Of several gamepads the one that was used last counts.
 */
export class GamepadInput {
  /** The pressed buttons and their triggers. */
  readonly #down = new Map<number, string>();
  #connected = false;
  /** The place of the used gamepad in the browser's list. */
  #used: number | undefined;
  readonly #inputs: InputCollector;

  /** `onUnknown` is called with the name of a gamepad whose buttons this page does not know. */
  constructor(inputs: InputCollector, signal: AbortSignal, onUnknown: (name: string) => void) {
    this.#inputs = inputs;
    const connect = ({ gamepad }: GamepadEvent): void => {
      this.#connected = true;
      if (gamepad.mapping !== "standard") onUnknown(gamepad.id);
    };
    window.addEventListener("gamepadconnected", connect, { signal });
  }

  poll(seconds: number): void {
    // Each query makes the browser allocate a list, so gamepads are queried only after one has connected.
    if (!this.#connected) return;
    const pad = this.#choose(navigator.getGamepads?.() ?? []);
    const { gamepad } = this.#inputs;
    gamepad.right = pad ? axis(pad, 0) : 0;
    gamepad.forward = pad ? -axis(pad, 1) : 0;
    gamepad.jump = isDown(pad, 0);
    gamepad.run = isDown(pad, 1) || isDown(pad, 10);
    const look = LOOK_PER_SECOND * seconds;
    if (pad && look > 0) this.#inputs.look(axis(pad, 2), axis(pad, 3), look);
    const { padTriggers } = this.#inputs;
    for (const [button, trigger] of this.#down) {
      if (isDown(pad, button) && padTriggers.get(button) === trigger) continue;
      this.#down.delete(button);
      this.#inputs.lift(trigger);
    }
    for (const [button, trigger] of padTriggers) {
      if (!isDown(pad, button) || this.#down.has(button)) continue;
      this.#down.set(button, trigger);
      this.#inputs.press(trigger);
    }
  }

  /** Returns the gamepad that is used now, or was used last. */
  #choose(pads: readonly (Gamepad | null)[]): Gamepad | undefined {
    const known = pads.filter((pad): pad is Gamepad => pad?.connected === true && pad.mapping === "standard");
    const last = known.find(({ index }) => index === this.#used);
    const pad = last && isUsed(last) ? last : (known.find(isUsed) ?? last ?? known[0]);
    this.#used = pad?.index;
    return pad;
  }
}

/**
 * Assigns a gamepad's free buttons to actions: triggers to actions that are charged, and the other buttons to
 * the other actions.
 */
export function shareOutButtons(
  actions: readonly { readonly trigger: string; readonly isCharged: boolean }[],
): ReadonlyMap<number, string> {
  const free = { charged: [7, 6], others: [2, 3, 5, 4] };
  const shared = new Map<number, string>();
  for (const { trigger, isCharged } of actions) {
    const button = isCharged ? (free.charged.shift() ?? free.others.shift()) : free.others.shift();
    if (button !== undefined) shared.set(button, trigger);
  }
  return shared;
}

function isUsed(pad: Gamepad): boolean {
  return pad.buttons.some(({ pressed }) => pressed) || pad.axes.some((value) => Math.abs(value) >= DEAD);
}

function axis(pad: Gamepad, index: number): number {
  const value = pad.axes[index] ?? 0;
  return Math.abs(value) < DEAD ? 0 : value;
}

function isDown(pad: Gamepad | undefined, index: number): boolean {
  return pad?.buttons[index]?.pressed ?? false;
}
