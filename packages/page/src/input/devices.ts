import type { OrbitCamera } from "../camera.js";
import { GamepadInput } from "./gamepad.js";
import type { InputCollector } from "./input-collector.js";
import { Keyboard } from "./keyboard.js";
import { Mouse } from "./mouse.js";
import { Touch } from "./touch.js";

/** Speed at which keys turn the camera, in radians a second. */
const TURN_PER_SECOND = 2.2;

/** Keyboard, mouse, touch screen and gamepads of a page, whose input an {@link InputCollector} sums up. */
export class Devices {
  /** Called with the name of a gamepad whose buttons this page does not know. */
  onUnknownPad: ((name: string) => void) | undefined;
  /** Called when the user changes from touch to other devices, or back. */
  onTouching: (() => void) | undefined;
  readonly #inputs: InputCollector;
  readonly #keyboard: Keyboard;
  readonly #mouse: Mouse;
  readonly #gamepad: GamepadInput;
  readonly #touch: Touch;
  readonly #abort = new AbortController();
  #isTouching = window.matchMedia("(pointer: coarse)").matches;

  /** `stick` and `knob` show the stick under a thumb. If they are omitted, the stick works but is not drawn. */
  constructor(
    canvas: HTMLCanvasElement,
    inputs: InputCollector,
    stick: HTMLElement = document.createElement("div"),
    knob: HTMLElement = document.createElement("div"),
  ) {
    this.#inputs = inputs;
    this.#keyboard = new Keyboard(inputs);
    this.#mouse = new Mouse(canvas, inputs);
    const { signal } = this.#abort;
    this.#gamepad = new GamepadInput(inputs, signal, (name) => this.onUnknownPad?.(name));
    this.#touch = new Touch(canvas, inputs, stick, knob);
    window.addEventListener("pointerdown", (event) => this.#noteTouch(event), { capture: true, signal });
  }

  /** Whether the last press was by touch; at first, whether the device has a touch screen as its main pointer. */
  get touching(): boolean {
    return this.#isTouching;
  }

  /**
   * The mouse's position in the window, or that of a finger that draws; `undefined` means the middle of the picture.
   */
  get pointer(): { readonly x: number; readonly y: number } | undefined {
    return this.#isTouching ? this.#touch.pointer : this.#mouse.pointer;
  }

  /** Reads the devices that send no events. Call it once a frame. */
  poll(seconds: number): void {
    this.#gamepad.poll(seconds);
    this.#touch.poll();
  }

  /** Turns and zooms the camera by the input since the last frame. */
  look(camera: OrbitCamera, seconds: number): void {
    const inputs = this.#inputs;
    const turn = TURN_PER_SECOND * seconds;
    const { turning, tilting } = this.#keyboard;
    camera.turn(inputs.lookYaw + turning * turn, inputs.lookPitch - (tilting * turn) / 2);
    camera.zoom(inputs.zoom);
  }

  /** Releases all keys and buttons, for example because the chat takes the keyboard. */
  release(): void {
    this.#keyboard.clear();
    this.#inputs.release();
  }

  /** Stops listening to the window. Listeners of the canvas end with the canvas. */
  dispose(): void {
    this.#abort.abort();
    this.#keyboard.dispose();
  }

  #noteTouch({ pointerType }: PointerEvent): void {
    if ((pointerType === "touch") === this.#isTouching) return;
    this.#isTouching = !this.#isTouching;
    this.onTouching?.();
  }
}
