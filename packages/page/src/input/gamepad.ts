import type { InputCollector } from "./input-collector.js";

const DEAD = 0.15;
const LOOK_PER_SECOND = 2.6;

/**
 * The standard mapping: left stick walks, right stick looks, A jumps, B or L3 runs, and the other buttons are the
 * world's actions.
 */
export class GamepadInput {
  readonly #down = new Set<number>();
  #connected = false;
  readonly #inputs: InputCollector;

  constructor(inputs: InputCollector) {
    this.#inputs = inputs;
    window.addEventListener("gamepadconnected", () => {
      this.#connected = true;
    });
  }

  poll(seconds: number): void {
    // Each query makes the browser allocate a list, so gamepads are queried only after one has connected.
    if (!this.#connected) return;
    const pad = firstPad();
    const { gamepad } = this.#inputs;
    if (!pad) {
      gamepad.forward = gamepad.right = 0;
      gamepad.run = gamepad.jump = false;
      return;
    }
    gamepad.right = axis(pad, 0);
    gamepad.forward = -axis(pad, 1);
    gamepad.jump = isDown(pad, 0);
    gamepad.run = isDown(pad, 1) || isDown(pad, 10);
    const look = LOOK_PER_SECOND * seconds;
    if (look > 0) this.#inputs.look(axis(pad, 2), axis(pad, 3), look);
    for (const [button, trigger] of this.#inputs.padTriggers) {
      if (isDown(pad, button) === this.#down.has(button)) continue;
      if (this.#down.delete(button)) {
        this.#inputs.lift(trigger);
      } else {
        this.#down.add(button);
        this.#inputs.press(trigger);
      }
    }
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

function firstPad(): Gamepad | undefined {
  for (const pad of navigator.getGamepads?.() ?? []) if (pad?.mapping === "standard") return pad;
  return undefined;
}

function axis(pad: Gamepad, index: number): number {
  const value = pad.axes[index] ?? 0;
  return Math.abs(value) < DEAD ? 0 : value;
}

function isDown(pad: Gamepad, index: number): boolean {
  return pad.buttons[index]?.pressed ?? false;
}
