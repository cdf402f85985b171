import { TouchButtons } from "@nowcast/page";
import { type ControlsDisplay, onTouchButton } from "@nowcast/page/internal";
import { element } from "../dom.js";
import { words } from "../words.js";

/** Number of buttons side by side on a phone (`touch.css`). */
const BUTTONS_A_ROW = 3;

/** The buttons of the page for thumbs, which are shown while the user touches the screen. */
export class TouchPad {
  readonly #canvas: HTMLCanvasElement;
  readonly #pad = element("touch", HTMLElement);
  readonly #actions: TouchButtons;
  #rows: number | undefined;

  /** The buttons are passed to the listener of `display`. */
  constructor(canvas: HTMLCanvasElement, display: Pick<ControlsDisplay, "listener">) {
    this.#canvas = canvas;
    this.#actions = new TouchButtons(element("touch-actions", HTMLElement), {
      press: (trigger) => display.listener?.press(trigger),
      lift: (trigger) => display.listener?.release(trigger),
    });
    const jump = (isDown: boolean) => () => display.listener?.jump(isDown);
    onTouchButton(element("touch-jump", HTMLElement), jump(true), jump(false));
    element("touch-chat", HTMLElement).addEventListener("click", () => display.listener?.do("chat"));
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

  show(touching: boolean): void {
    this.#pad.hidden = !touching;
    this.#canvas.setAttribute("aria-label", touching ? words.canvasTouch : words.canvas);
  }

  /** Tells the style how much room this number of buttons takes. */
  #setRows(buttons: number): void {
    const rows = Math.ceil(buttons / BUTTONS_A_ROW);
    if (rows === this.#rows) return;
    this.#rows = rows;
    document.body.style.setProperty("--action-rows", String(rows));
  }
}
