import { type Devices, type InputCollector, TouchButtons } from "@nowcast/page";
import { onTouchButton } from "@nowcast/page/internal";
import { element } from "../dom.js";
import { words } from "../words.js";

/** Number of buttons side by side on a phone (`touch.css`). */
const BUTTONS_A_ROW = 3;

/** The buttons of the page for thumbs, which are shown while the user touches the screen. */
export class TouchPad {
  readonly #canvas: HTMLCanvasElement;
  readonly #devices: Devices;
  readonly #pad = element("touch", HTMLElement);
  readonly #actions: TouchButtons;
  #rows: number | undefined;

  /** `onTouching` is called when the user changes from touch to other devices, or back. */
  constructor(canvas: HTMLCanvasElement, inputs: InputCollector, devices: Devices, onTouching: () => void) {
    this.#canvas = canvas;
    this.#devices = devices;
    this.#actions = new TouchButtons(element("touch-actions", HTMLElement), {
      press: (trigger) => inputs.press(trigger),
      lift: (trigger) => inputs.lift(trigger),
    });
    const jump = (isDown: boolean) => () => {
      inputs.touch.jump = isDown;
    };
    onTouchButton(element("touch-jump", HTMLElement), jump(true), jump(false));
    element("touch-chat", HTMLElement).addEventListener("click", () => inputs.do("chat"));
    devices.onTouching = () => {
      this.#show();
      onTouching();
    };
    this.#show();
  }

  /** Sets the buttons for the world's actions. */
  offer(buttons: Parameters<TouchButtons["offer"]>[0]): void {
    this.#actions.offer(buttons);
    this.#setRows(buttons.length);
  }

  /** Marks the buttons whose actions have a target now, and hides those whose actions are not possible now. */
  mark(offered: ReadonlySet<string>, possible: ReadonlySet<string>): void {
    this.#setRows(this.#actions.mark(offered, possible));
  }

  /** Tells the style how much room this number of buttons takes. */
  #setRows(buttons: number): void {
    const rows = Math.ceil(buttons / BUTTONS_A_ROW);
    if (rows === this.#rows) return;
    this.#rows = rows;
    document.body.style.setProperty("--action-rows", String(rows));
  }

  #show(): void {
    const { touching } = this.#devices;
    this.#pad.hidden = !touching;
    document.body.classList.toggle("touching", touching);
    this.#canvas.setAttribute("aria-label", touching ? words.canvasTouch : words.canvas);
  }
}
