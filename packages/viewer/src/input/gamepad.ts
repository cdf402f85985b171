import type { Controls } from "./controls.js";

const DEAD = 0.15;
const LOOK_PER_SECOND = 2.6;

/** The standard mapping: left stick walks, right stick looks, A jumps, X grabs, right trigger throws, B or L3 runs. */
export class GamepadInput {
  private grabWasDown = false;
  private throwWasDown = false;

  private connected = false;

  constructor(private readonly controls: Controls) {
    window.addEventListener("gamepadconnected", () => {
      this.connected = true;
    });
  }

  poll(seconds: number): void {
    // Asking makes the browser build a list each time, so nobody asks until one has shown itself.
    if (!this.connected) return;
    const pad = firstPad();
    const { gamepad } = this.controls;
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
    if (look > 0) this.controls.look(axis(pad, 2), axis(pad, 3), look);
    const grab = isDown(pad, 2);
    if (grab && !this.grabWasDown) this.controls.do("grab");
    this.grabWasDown = grab;
    const charge = isDown(pad, 7);
    if (charge !== this.throwWasDown) this.controls.do(charge ? "chargeStart" : "chargeEnd");
    this.throwWasDown = charge;
  }
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
