import type { Controls } from "./controls.js";

const RADIANS_PER_PIXEL = 0.0042;
/** A press that moves farther than this is a drag. */
const DRAG_PX = 6;

/**
 * Drag to look, or capture the pointer with a double click and look without dragging. A press that stays in place charges
 * a throw while a block is carried. With a captured pointer a click also takes a block; without, it could be the first
 * half of a double click.
 */
export class Mouse {
  private pressed = false;
  private dragging = false;
  private charging = false;
  private startX = 0;
  private startY = 0;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly controls: Controls,
    private readonly isCarrying: () => boolean,
  ) {
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.lift(event));
    canvas.addEventListener("pointercancel", () => this.cancel());
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("dblclick", () => this.toggleLock());
  }

  get locked(): boolean {
    return document.pointerLockElement === this.canvas;
  }

  private toggleLock(): void {
    if (this.locked || this.isCarrying()) return;
    // A browser may refuse, for instance just after Escape; dragging still works then.
    Promise.resolve(this.canvas.requestPointerLock()).catch(() => undefined);
  }

  private press(event: PointerEvent): void {
    if (event.pointerType === "touch") return;
    this.canvas.focus({ preventScroll: true });
    if (event.button === 2 && this.locked) {
      this.controls.do("grab");
      return;
    }
    this.pressed = true;
    this.dragging = false;
    this.startX = event.clientX;
    this.startY = event.clientY;
    if (!this.locked) this.canvas.setPointerCapture(event.pointerId);
    if (event.button === 0 && this.isCarrying()) {
      this.charging = true;
      this.controls.do("chargeStart");
    }
  }

  private move(event: PointerEvent): void {
    if (event.pointerType === "touch") return;
    if (this.locked) {
      this.controls.look(event.movementX, event.movementY, RADIANS_PER_PIXEL * 0.6);
      return;
    }
    if (!this.pressed) return;
    if (!this.dragging && Math.hypot(event.clientX - this.startX, event.clientY - this.startY) < DRAG_PX)
      return;
    if (this.charging) {
      this.charging = false;
      this.controls.do("chargeCancel");
    }
    this.dragging = true;
    this.controls.look(event.movementX, event.movementY, RADIANS_PER_PIXEL);
  }

  private lift(event: PointerEvent): void {
    if (event.pointerType === "touch" || !this.pressed) return;
    this.pressed = false;
    if (this.charging) {
      this.charging = false;
      this.controls.do("chargeEnd");
    } else if (this.locked && event.button === 0) {
      this.controls.do("grab");
    }
  }

  private cancel(): void {
    this.pressed = false;
    if (this.charging) this.controls.do("chargeCancel");
    this.charging = false;
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    // Browsers report lines, pages or pixels; a notch is about three lines or a hundred pixels.
    const pixels = event.deltaMode === 0 ? event.deltaY : event.deltaY * 33;
    this.controls.zoom *= Math.exp(pixels * 0.0011);
  }
}
