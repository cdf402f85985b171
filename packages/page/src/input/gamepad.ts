import { isSlot } from "../actions.js";
import type { InputCollector } from "./input-collector.js";

const DEAD = 0.15;
const LOOK_PER_SECOND = 2.6;
/** Deflection above which a stick counts as used; worn sticks do not centre exactly. */
const USED = 0.5;

/** Receives the events of gamepads. */
interface GamepadListener {
  /** A gamepad whose buttons this page does not know was connected. */
  unknown(name: string): void;
  /** A gamepad whose buttons this page knows was connected. */
  connected(): void;
  /** The last gamepad whose buttons this page knows was disconnected. */
  disconnected(): void;
  /** A button was pressed, or a stick was moved, on a gamepad that was at rest. */
  used(): void;
}

/**
 * The standard mapping: left stick walks, right stick looks, A jumps, B or L3 runs, and the other buttons are the
 * world's actions. Of several gamepads the one that was used last counts.
 */
export class GamepadInput {
  /** The pressed buttons and their triggers. */
  readonly #down = new Map<number, string>();
  #connected = hasGamepad();
  /** The place of the used gamepad in the browser's list. */
  #used: number | undefined;
  #isAtRest = true;
  readonly #inputs: InputCollector;
  readonly #listener: GamepadListener;

  constructor(inputs: InputCollector, signal: AbortSignal, listener: GamepadListener) {
    this.#inputs = inputs;
    this.#listener = listener;
    const connect = ({ gamepad }: GamepadEvent): void => {
      this.#connected = true;
      if (gamepad.mapping === "standard") listener.connected();
      else listener.unknown(gamepad.id);
    };
    const disconnect = (): void => {
      if (!hasGamepad()) listener.disconnected();
    };
    window.addEventListener("gamepadconnected", connect, { signal });
    window.addEventListener("gamepaddisconnected", disconnect, { signal });
  }

  poll(seconds: number): void {
    // Each query makes the browser allocate a list, so gamepads are queried only after one has connected.
    if (!this.#connected) return;
    const pad = this.#choose(navigator.getGamepads?.() ?? []);
    const isAtRest = !pad || !isUsed(pad, USED);
    if (this.#isAtRest && !isAtRest) this.#listener.used();
    this.#isAtRest = isAtRest;
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
    const known = pads.filter(isKnown);
    const last = known.find(({ index }) => index === this.#used);
    const pad = last && isUsed(last) ? last : (known.find((pad) => isUsed(pad)) ?? last ?? known[0]);
    this.#used = pad?.index;
    return pad;
  }
}

const TRIGGERS = [7, 6];
const BUTTONS = [2, 3, 5, 4];
const CROSS = [12, 15, 13, 14];

/**
 * Assigns a gamepad's free buttons to actions: triggers to actions that are charged, the cross to slots, and the other
 * buttons to the other actions. Actions that find none of these take those that are left.
 */
export function shareOutButtons(
  actions: readonly { readonly trigger: string; readonly isCharged: boolean }[],
): ReadonlyMap<number, string> {
  const [charged, others, slots] = [
    actions.filter(({ isCharged }) => isCharged),
    actions.filter(({ isCharged, trigger }) => !isCharged && !isSlot(trigger)),
    actions.filter(({ isCharged, trigger }) => !isCharged && isSlot(trigger)),
  ];
  const shared = new Map<number, string>();
  const give = (to: typeof actions, buttons: readonly number[]): void => {
    for (const { trigger } of to) {
      const button = buttons.find((button) => !shared.has(button));
      if (button !== undefined) shared.set(button, trigger);
    }
  };
  give(charged, [...TRIGGERS, ...BUTTONS]);
  give(others, [...BUTTONS, ...TRIGGERS, ...CROSS]);
  give(slots, [...CROSS, ...BUTTONS, ...TRIGGERS]);
  return shared;
}

/** Whether a gamepad with the standard mapping is connected. */
export function hasGamepad(): boolean {
  return (navigator.getGamepads?.() ?? []).some(isKnown);
}

function isKnown(pad: Gamepad | null): pad is Gamepad {
  return pad?.connected === true && pad.mapping === "standard";
}

function isUsed(pad: Gamepad, least = DEAD): boolean {
  return pad.buttons.some(({ pressed }) => pressed) || pad.axes.some((value) => Math.abs(value) >= least);
}

function axis(pad: Gamepad, index: number): number {
  const value = pad.axes[index] ?? 0;
  return Math.abs(value) < DEAD ? 0 : value;
}

function isDown(pad: Gamepad | undefined, index: number): boolean {
  return pad?.buttons[index]?.pressed ?? false;
}
