import type { OrbitCamera } from "../camera.js";
import { GamepadInput, hasGamepad } from "./gamepad.js";
import type { InputCollector } from "./input-collector.js";
import { Keyboard } from "./keyboard.js";
import { Mouse } from "./mouse.js";
import { Touch } from "./touch.js";

/** Speed at which keys turn the camera, in radians a second. */
const TURN_PER_SECOND = 2.2;

/** The device that a player used last: a keyboard or mouse, a touch screen, or a gamepad. */
export type DeviceInUse = "keyboard" | "touch" | "gamepad";

/** Keyboard, mouse, touch screen and gamepads of a page, whose input an {@link InputCollector} sums up. */
export class Devices {
  /** Called with the name of a gamepad whose buttons this page does not know. */
  onUnknownPad: ((name: string) => void) | undefined;
  /** Called when the user takes another device. */
  onChange: (() => void) | undefined;
  readonly #inputs: InputCollector;
  readonly #keyboard: Keyboard;
  readonly #mouse: Mouse;
  readonly #gamepad: GamepadInput;
  readonly #touch: Touch;
  readonly #abort = new AbortController();
  #inUse: DeviceInUse;
  /** Whether a key or the picture was pressed. */
  #isPlayed = false;
  /** Whether a press of the gamepad in use begins. The press that connects a gamepad does not begin. */
  #padBegins: boolean;

  /** `stick` and `knob` show the stick under a thumb. If they are omitted, the stick works but is not drawn. */
  constructor(
    canvas: HTMLCanvasElement,
    inputs: InputCollector,
    stick: HTMLElement = document.createElement("div"),
    knob: HTMLElement = document.createElement("div"),
  ) {
    this.#inputs = inputs;
    this.#padBegins = hasGamepad();
    this.#inUse = this.#padBegins ? "gamepad" : mainPointer();
    this.#keyboard = new Keyboard(inputs, () => this.#play("keyboard"));
    this.#mouse = new Mouse(canvas, inputs);
    const { signal } = this.#abort;
    this.#gamepad = new GamepadInput(inputs, signal, {
      unknown: (name) => this.onUnknownPad?.(name),
      connected: () => {
        if (!this.#isPlayed) this.#use("gamepad");
      },
      disconnected: () => {
        this.#padBegins = false;
        if (this.#inUse === "gamepad") this.#use(mainPointer());
      },
      used: () => this.#usePad(),
    });
    this.#touch = new Touch(canvas, inputs, stick, knob);
    const press = (event: PointerEvent): void => {
      const isOnPicture = event.composedPath().includes(canvas);
      const device = event.pointerType === "touch" ? "touch" : "keyboard";
      if (isOnPicture) this.#play(device);
      // A player with a gamepad also presses buttons of the page, such as Enter.
      else if (this.#inUse !== "gamepad") this.#use(device);
    };
    window.addEventListener("pointerdown", press, { capture: true, signal });
  }

  /**
   * The device of the last press; before the first press, a connected gamepad, or touch if a touch screen is the main pointer.
   * All texts name its controls.
   */
  get inUse(): DeviceInUse {
    return this.#inUse;
  }

  /**
   * The mouse's position in the window, or that of a finger that draws; `undefined` means the middle of the picture.
   */
  get pointer(): { readonly x: number; readonly y: number } | undefined {
    if (this.#inUse === "gamepad") return undefined;
    return this.#inUse === "touch" ? this.#touch.pointer : this.#mouse.pointer;
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

  #play(device: DeviceInUse): void {
    this.#isPlayed = true;
    this.#use(device);
  }

  #use(device: DeviceInUse): void {
    if (device === this.#inUse) return;
    this.#inUse = device;
    this.onChange?.();
  }

  /** The first press switches to the gamepad and updates the card; the next press closes the card. */
  #usePad(): void {
    if (this.#inUse === "gamepad" && this.#padBegins) this.#inputs.do("begin");
    else this.#use("gamepad");
    this.#padBegins = true;
  }
}

/** The device of the main pointer. */
function mainPointer(): DeviceInUse {
  return window.matchMedia("(pointer: coarse)").matches ? "touch" : "keyboard";
}
