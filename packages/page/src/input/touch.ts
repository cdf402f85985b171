import type { InputCollector } from "./input-collector.js";
import { readStick, type StickReading } from "./stick.js";

const RADIUS_PX = 56;
const RADIANS_PER_PIXEL = 0.0062;

/** A finger that moves no farther, and no longer than {@link TAP_MS}, taps. */
const TAP_PX = 10;
const TAP_MS = 350;

/** The frames that pass until the target under a new finger is known. */
const FRAMES_TO_AIM = 2;

/**
 * A stick where the left thumb lands, looking with the right one, and pinching to zoom. A finger that lands on a target
 * of the mouse's action draws over targets instead of looking, as a pressed button of the mouse does. A tap is a click.
 */
export class Touch {
  #stickId: number | undefined;
  #stickX = 0;
  #stickY = 0;
  readonly #fingers = new Map<number, { x: number; y: number }>();
  /** The finger that draws, or may begin to draw after some frames. */
  #drawing: { readonly id: number; framesLeft: number; strokes: boolean } | undefined;
  /** The newest finger, until it has moved. */
  #tap: { readonly id: number; readonly x: number; readonly y: number; readonly untilMs: number } | undefined;
  #pinch = 0;
  readonly #reading: StickReading = { forward: 0, right: 0, run: false };
  readonly #inputs: InputCollector;
  readonly #base: HTMLElement;
  readonly #knob: HTMLElement;

  constructor(canvas: HTMLCanvasElement, inputs: InputCollector, base: HTMLElement, knob: HTMLElement) {
    this.#inputs = inputs;
    this.#base = base;
    this.#knob = knob;
    canvas.addEventListener("pointerdown", (event) => this.#press(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    for (const type of ["pointerup", "pointercancel"] as const) {
      canvas.addEventListener(type, (event) => this.#lift(event));
    }
  }

  /** The position of a finger that draws, or may begin to draw; `undefined` means the middle of the picture. */
  get pointer(): { readonly x: number; readonly y: number } | undefined {
    return this.#tap ?? (this.#drawing && this.#fingers.get(this.#drawing.id));
  }

  /** Begins a stroke as soon as the target under a new finger is known. Called in each frame. */
  poll(): void {
    const drawing = this.#drawing;
    if (!drawing || drawing.strokes || drawing.framesLeft-- > 0) return;
    drawing.strokes = this.#inputs.stroke("left");
    // Without a target, the finger looks around instead.
    if (!drawing.strokes) this.#drawing = undefined;
  }

  #press(event: PointerEvent): void {
    if (event.pointerType !== "touch") return;
    const { pointerId: id, clientX: x, clientY: y, timeStamp } = event;
    this.#tap = { id, x, y, untilMs: timeStamp + TAP_MS };
    if (this.#stickId === undefined && event.clientX < window.innerWidth * 0.45) {
      this.#stickId = event.pointerId;
      this.#stickX = event.clientX;
      this.#stickY = event.clientY;
      this.#base.style.translate = `${event.clientX}px ${event.clientY}px`;
      this.#base.classList.add("active");
      this.#moveStick(0, 0);
      return;
    }
    this.#fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    this.#pinch = this.#spread();
    this.#endDrawing();
    if (this.#fingers.size === 1 && this.#inputs.claimed.has("left")) {
      this.#drawing = { id: event.pointerId, framesLeft: FRAMES_TO_AIM, strokes: false };
    }
  }

  #endDrawing(): void {
    if (this.#drawing?.strokes) this.#inputs.lift("left");
    this.#drawing = undefined;
  }

  #move(event: PointerEvent): void {
    if (event.pointerType !== "touch") return;
    const tap = this.#tap;
    if (tap && Math.hypot(event.clientX - tap.x, event.clientY - tap.y) > TAP_PX) this.#tap = undefined;
    if (event.pointerId === this.#stickId) {
      this.#moveStick(event.clientX - this.#stickX, event.clientY - this.#stickY);
      return;
    }
    const finger = this.#fingers.get(event.pointerId);
    if (!finger) return;
    const dx = event.clientX - finger.x;
    const dy = event.clientY - finger.y;
    finger.x = event.clientX;
    finger.y = event.clientY;
    if (this.#fingers.size === 1) {
      if (this.#drawing === undefined) this.#inputs.look(dx, dy, RADIANS_PER_PIXEL);
      return;
    }
    const spread = this.#spread();
    if (spread > 0 && this.#pinch > 0) this.#inputs.zoom *= this.#pinch / spread;
    this.#pinch = spread;
  }

  #lift(event: PointerEvent): void {
    if (event.pointerType !== "touch") return;
    const tap = this.#tap;
    const strokes = this.#drawing?.strokes === true;
    if (
      event.type === "pointerup" &&
      tap?.id === event.pointerId &&
      event.timeStamp < tap.untilMs &&
      !strokes
    ) {
      this.#inputs.press("left", true);
      this.#inputs.lift("left");
    }
    this.#tap = undefined;
    if (event.pointerId === this.#stickId) {
      this.#stickId = undefined;
      this.#base.classList.remove("active");
      this.#moveStick(0, 0);
      return;
    }
    this.#fingers.delete(event.pointerId);
    if (this.#drawing?.id === event.pointerId) this.#endDrawing();
    this.#pinch = this.#spread();
  }

  #moveStick(dx: number, dy: number): void {
    const { touch } = this.#inputs;
    const { forward, right, run } = readStick(dx, dy, RADIUS_PX, this.#reading);
    touch.forward = forward;
    touch.right = right;
    touch.run = run;
    const length = Math.max(1, Math.hypot(dx, dy) / RADIUS_PX);
    this.#knob.style.translate = `${dx / length}px ${dy / length}px`;
    this.#base.classList.toggle("running", run);
  }

  #spread(): number {
    if (this.#fingers.size < 2) return 0;
    const [a, b] = this.#fingers.values();
    return a && b ? Math.hypot(a.x - b.x, a.y - b.y) : 0;
  }
}
