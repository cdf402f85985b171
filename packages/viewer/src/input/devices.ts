import { GamepadInput, type InputCollector, Keyboard, Mouse, Touch } from "@nowcast/page";
import { element } from "../dom.js";
import { words } from "../words.js";

/** Number of buttons side by side on a phone (`touch.css`). */
const BUTTONS_A_ROW = 3;

/** A button on the screen for one action. */
export interface TouchButton {
  readonly trigger: string;
  readonly label: string;
}

/** All input devices of one page. */
export interface Devices {
  /** Whether the last input was by touch. */
  readonly touching: boolean;
  /** The mouse position in the window; `undefined` stands for the middle of the picture. */
  readonly pointer: { readonly x: number; readonly y: number } | undefined;
  /** The turn of the view by keys: 1 left, −1 right. */
  readonly turning: number;
  /** The tilt of the view by keys: 1 looks up, −1 down. */
  readonly tilting: number;
  /** Sets the touch buttons for the world's actions. */
  offerButtons(buttons: readonly TouchButton[]): void;
  /** Marks the buttons whose actions have a target now, and dims those whose actions are not possible now. */
  markButtons(offered: ReadonlySet<string>, possible: ReadonlySet<string>): void;
  poll(seconds: number): void;
  release(): void;
}

/** `onTouching` is called when the user changes from touch to other devices, or back. */
export function createDevices(
  canvas: HTMLCanvasElement,
  inputs: InputCollector,
  onTouching: () => void,
): Devices {
  const keyboard = new Keyboard(inputs);
  const gamepad = new GamepadInput(inputs);
  const mouse = new Mouse(canvas, inputs);
  const touch = new Touch(canvas, inputs, element("stick", HTMLElement), element("knob", HTMLElement));
  const pad = element("touch", HTMLElement);
  const actionButtons = element("touch-actions", HTMLElement);
  let touching = false;
  const setTouching = (now: boolean) => {
    touching = now;
    pad.hidden = !now;
    document.body.classList.toggle("touching", now);
    canvas.setAttribute("aria-label", now ? words.canvasTouch : words.canvas);
  };
  setTouching(window.matchMedia("(pointer: coarse)").matches);
  window.addEventListener(
    "pointerdown",
    ({ pointerType }) => {
      if ((pointerType === "touch") === touching) return;
      setTouching(!touching);
      onTouching();
    },
    true,
  );

  touch.button(
    element("touch-jump", HTMLElement),
    () => {
      inputs.touch.jump = true;
    },
    () => {
      inputs.touch.jump = false;
    },
  );
  element("touch-chat", HTMLElement).addEventListener("click", () => inputs.do("chat"));

  return {
    get touching() {
      return touching;
    },
    get pointer() {
      return touching ? touch.pointer : mouse.pointer;
    },
    get turning() {
      return keyboard.turning;
    },
    get tilting() {
      return keyboard.tilting;
    },
    offerButtons(buttons) {
      const elements = buttons.map(({ trigger, label }) => {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = label;
        button.dataset["trigger"] = trigger;
        touch.button(
          button,
          () => inputs.press(trigger),
          () => inputs.lift(trigger),
        );
        return button;
      });
      actionButtons.replaceChildren(...elements);
      const rows = Math.ceil(buttons.length / BUTTONS_A_ROW);
      document.body.style.setProperty("--action-rows", String(rows));
    },
    markButtons(offered, possible) {
      for (const button of actionButtons.querySelectorAll("button")) {
        const trigger = button.dataset["trigger"] ?? "";
        button.classList.toggle("offered", offered.has(trigger));
        const isIdle = !offered.has(trigger) && !possible.has(trigger);
        button.classList.toggle("idle", isIdle);
        button.setAttribute("aria-disabled", String(isIdle));
      }
    },
    poll(seconds) {
      gamepad.poll(seconds);
      touch.poll();
    },
    release() {
      keyboard.clear();
      inputs.release();
    },
  };
}
