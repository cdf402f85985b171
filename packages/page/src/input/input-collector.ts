/** The input of a device. Each device writes its own part; the frame loop reads the sum. */
export interface MovementInput {
  forward: number;
  right: number;
  run: boolean;
  jump: boolean;
}

/** The input of a frame, as it is sent to the world. */
export interface Input extends MovementInput {
  yaw: number;
}

/** Commands of the page itself, which are the same in every world. */
export type Command = "chat" | "hud" | "console" | "help" | "emotes" | "escape" | "begin";

/** Receives commands and triggers. A trigger is a key, a button of the mouse, or the button of one action. */
export interface InputListener {
  command(command: Command): void;
  /**
   * If `waits` is set, the press counts only when the trigger is released without a {@link cancel}. Returns true if the
   * press began a stroke, so that moving the pointer draws instead of looking.
   */
  press(trigger: string, waits: boolean): boolean;
  /** Begins a stroke if the action of the trigger needs a target and has one; otherwise does nothing and returns false. */
  stroke?(trigger: string): boolean;
  release(trigger: string): void;
  /** Cancels an action that was begun. */
  cancel(): void;
}

/**
 * Collects keyboard, mouse, touch, gamepad and headset. Looking and zooming are summed until a frame uses
 * them.
 */
export class InputCollector {
  readonly keyboard: MovementInput = createMovement();
  readonly touch: MovementInput = createMovement();
  readonly gamepad: MovementInput = createMovement();
  readonly headset: MovementInput = createMovement();
  /** Radians to turn to the left, and downward, since the last frame. */
  lookYaw = 0;
  lookPitch = 0;
  /** Factor by which the camera's distance changed since the last frame. */
  zoom = 1;
  lookSpeed = 1;
  invertLook = false;
  /** The keys that the user moved: a pressed key's code, and the code of the key whose function the pressed key took over. */
  keymap: ReadonlyMap<string, string> = new Map();
  /** The keys and mouse buttons that trigger actions of this world. */
  claimed: ReadonlySet<string> = new Set();
  /** The triggers for the buttons of a gamepad, by the number of the button in the standard mapping. */
  padTriggers: ReadonlyMap<number, string> = new Map();
  readonly movement: MovementInput = createMovement();
  readonly #listener: InputListener;

  constructor(listener: InputListener) {
    this.#listener = listener;
  }

  do(command: Command): void {
    this.#listener.command(command);
  }

  /** Returns whether the press began a stroke. */
  press(trigger: string, waits = false): boolean {
    return this.#listener.press(trigger, waits);
  }

  /** Returns whether a stroke began. If not, nothing has happened. */
  stroke(trigger: string): boolean {
    return this.#listener.stroke?.(trigger) ?? false;
  }

  lift(trigger: string): void {
    this.#listener.release(trigger);
  }

  cancel(): void {
    this.#listener.cancel();
  }

  /** Handles a movement of the pointer or of a finger, in CSS pixels. */
  look(dx: number, dy: number, radiansPerPixel: number): void {
    const scale = radiansPerPixel * this.lookSpeed;
    this.lookYaw -= dx * scale;
    this.lookPitch += dy * scale * (this.invertLook ? -1 : 1);
  }

  /** Releases everything that is pressed, for example because the window lost the focus. */
  release(): void {
    for (const stick of [this.keyboard, this.touch, this.gamepad, this.headset]) {
      stick.forward = 0;
      stick.right = 0;
      stick.run = false;
      stick.jump = false;
    }
  }

  /** Sums the input of all devices into `steering`. A diagonal is not faster than a straight direction. */
  combine(): MovementInput {
    const { keyboard, touch, gamepad, headset, movement: input } = this;
    const forward = keyboard.forward + touch.forward + gamepad.forward + headset.forward;
    const right = keyboard.right + touch.right + gamepad.right + headset.right;
    const length = Math.max(1, Math.hypot(forward, right));
    input.forward = forward / length;
    input.right = right / length;
    input.run = keyboard.run || touch.run || gamepad.run || headset.run;
    input.jump = keyboard.jump || touch.jump || gamepad.jump || headset.jump;
    return input;
  }

  /** Resets looking and zooming after a frame has used them. */
  consumeLook(): void {
    this.lookYaw = 0;
    this.lookPitch = 0;
    this.zoom = 1;
  }
}

function createMovement(): MovementInput {
  return { forward: 0, right: 0, run: false, jump: false };
}
