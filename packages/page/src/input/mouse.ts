import type { InputCollector } from "./input-collector.js";

const RADIANS_PER_PIXEL = 0.0042;
/** A press counts as a drag if the pointer moves farther than this. */
const DRAG_PX = 6;

/**
 * Looking by dragging, or without dragging after the pointer is captured. A double click captures the pointer
 * or, in worlds that use the left button, a click of the right button. A press without motion triggers the
 * world's action of that button. A press on a target of an action that needs one draws: the action is carried out for each
 * target under the pointer.
 */
export class Mouse {
  #pressed: "left" | "right" | undefined;
  #dragging = false;
  /** Whether the pressed button draws over targets until it is lifted. */
  #strokes = false;
  #startX = 0;
  #startY = 0;
  #pointed: { readonly x: number; readonly y: number } | undefined;
  readonly #canvas: HTMLCanvasElement;
  readonly #inputs: InputCollector;

  constructor(canvas: HTMLCanvasElement, inputs: InputCollector) {
    this.#canvas = canvas;
    this.#inputs = inputs;
    canvas.addEventListener("pointerdown", (event) => this.#press(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    canvas.addEventListener("pointerup", (event) => this.#lift(event));
    canvas.addEventListener("pointercancel", () => this.#cancel());
    canvas.addEventListener("pointerleave", () => {
      this.#pointed = undefined;
    });
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    canvas.addEventListener("dblclick", () => {
      if (!this.#inputs.claimed.has("left")) this.#toggleLock();
    });
  }

  get locked(): boolean {
    return document.pointerLockElement === this.#canvas;
  }

  /** The pointer position in the window; `undefined` outside of the world, or at its middle. */
  get pointer(): { readonly x: number; readonly y: number } | undefined {
    return this.locked ? undefined : this.#pointed;
  }

  #toggleLock(): void {
    if (this.locked) return;
    // A browser may refuse, for example just after Escape. In that case dragging still works.
    Promise.resolve(this.#canvas.requestPointerLock()).catch(() => undefined);
  }

  #press(event: PointerEvent): void {
    if (event.pointerType === "touch" || event.button === 1) return;
    this.#canvas.focus({ preventScroll: true });
    this.#pressed = event.button === 2 ? "right" : "left";
    this.#dragging = false;
    this.#startX = event.clientX;
    this.#startY = event.clientY;
    if (!this.locked) this.#canvas.setPointerCapture(event.pointerId);
    // The press may still become a drag.
    this.#strokes = this.#inputs.press(this.#pressed, !this.locked);
  }

  #move(event: PointerEvent): void {
    if (event.pointerType === "touch") {
      this.#pointed = undefined;
      return;
    }
    this.#pointed = { x: event.clientX, y: event.clientY };
    if (this.locked) {
      this.#inputs.look(event.movementX, event.movementY, RADIANS_PER_PIXEL * 0.6);
      return;
    }
    if (!this.#pressed || this.#strokes) return;
    if (!this.#dragging && Math.hypot(event.clientX - this.#startX, event.clientY - this.#startY) < DRAG_PX)
      return;
    if (!this.#dragging) this.#inputs.cancel();
    this.#dragging = true;
    this.#inputs.look(event.movementX, event.movementY, RADIANS_PER_PIXEL);
  }

  #lift(event: PointerEvent): void {
    const pressed = this.#pressed;
    if (event.pointerType === "touch" || pressed === undefined) return;
    this.#pressed = undefined;
    if (this.#dragging) return;
    this.#inputs.lift(pressed);
    const { claimed } = this.#inputs;
    if (pressed === "right" && claimed.has("left") && !claimed.has("right")) this.#toggleLock();
  }

  #cancel(): void {
    if (this.#pressed !== undefined) this.#inputs.cancel();
    this.#pressed = undefined;
  }

  #wheel(event: WheelEvent): void {
    event.preventDefault();
    // Browsers report lines, pages or pixels. One notch of a wheel is about three lines or a hundred pixels.
    const pixels = event.deltaMode === 0 ? event.deltaY : event.deltaY * 33;
    this.#inputs.zoom *= Math.exp(pixels * 0.0011);
  }
}
