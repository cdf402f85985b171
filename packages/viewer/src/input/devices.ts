import { element } from "../dom.js";
import type { Controls } from "./controls.js";
import { GamepadInput } from "./gamepad.js";
import { Keyboard } from "./keyboard.js";
import { Mouse } from "./mouse.js";
import { Touch } from "./touch.js";

/** All devices of one page. */
export interface Devices {
  /** Whether the person was last seen using a finger. */
  readonly touching: boolean;
  /** How keys turn the view: 1 left, −1 right. */
  readonly turning: number;
  poll(seconds: number): void;
  release(): void;
}

export function createDevices(
  canvas: HTMLCanvasElement,
  controls: Controls,
  isCarrying: () => boolean,
): Devices {
  const keyboard = new Keyboard(controls);
  const gamepad = new GamepadInput(controls);
  new Mouse(canvas, controls, isCarrying);
  const touch = new Touch(canvas, controls, element("stick", HTMLElement), element("knob", HTMLElement));
  const pad = element("touch", HTMLElement);
  let touching = false;
  const setTouching = (now: boolean) => {
    touching = now;
    pad.hidden = !now;
    document.body.classList.toggle("touching", now);
  };
  setTouching(window.matchMedia("(pointer: coarse)").matches);
  window.addEventListener("pointerdown", (event) => setTouching(event.pointerType === "touch"), true);

  touch.button(
    element("touch-jump", HTMLElement),
    () => {
      controls.touch.jump = true;
    },
    () => {
      controls.touch.jump = false;
    },
  );
  touch.button(
    element("touch-grab", HTMLElement),
    () => controls.do("grab"),
    () => undefined,
  );
  touch.button(
    element("touch-throw", HTMLElement),
    () => controls.do("chargeStart"),
    () => controls.do("chargeEnd"),
  );
  element("touch-chat", HTMLElement).addEventListener("click", () => controls.do("chat"));

  return {
    get touching() {
      return touching;
    },
    get turning() {
      return keyboard.turning;
    },
    poll: (seconds) => gamepad.poll(seconds),
    release() {
      keyboard.clear();
      controls.release();
    },
  };
}
