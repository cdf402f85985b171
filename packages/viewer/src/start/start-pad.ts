const [A, START] = [0, 9];
/** The cross of a gamepad with the standard mapping, as arrow keys. */
const CROSS: Readonly<Record<number, string>> = {
  12: "ArrowUp",
  13: "ArrowDown",
  14: "ArrowLeft",
  15: "ArrowRight",
};

interface StartPadListener {
  /** A or Start was pressed. */
  enter(): void;
  /** A button of the cross was pressed: the code of the arrow key that does the same. */
  move(code: string): void;
}

/** Reads gamepads on the start page. In a world, `Devices` reads them. */
export class StartPad {
  readonly #listener: StartPadListener;
  /** The pressed buttons; `undefined` until the gamepads were read. A press that was begun before does not count. */
  #down: ReadonlySet<number> | undefined;
  #isOpen = false;
  #frame = 0;
  #isConnected = false;

  constructor(listener: StartPadListener) {
    this.#listener = listener;
    this.#isConnected = standardPads().length > 0;
    window.addEventListener("gamepadconnected", () => {
      if (this.#isConnected) return;
      this.#isConnected = true;
      if (this.#isOpen) this.#poll();
    });
  }

  /** Reads gamepads until {@link close}. */
  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#down = undefined;
    if (this.#isConnected) this.#poll();
  }

  close(): void {
    this.#isOpen = false;
    cancelAnimationFrame(this.#frame);
  }

  #poll(): void {
    const down = new Set<number>();
    for (const { buttons } of standardPads())
      for (const [button, { pressed }] of buttons.entries()) if (pressed) down.add(button);
    const before = this.#down ?? down;
    this.#down = down;
    // A press may close this reader, so the next frame is requested first.
    this.#frame = requestAnimationFrame(() => this.#poll());
    for (const button of down) if (!before.has(button)) this.#press(button);
  }

  #press(button: number): void {
    const arrow = CROSS[button];
    // A dialog is over the page.
    if (document.querySelector("dialog[open]")) return;
    if (button === A || button === START) this.#listener.enter();
    else if (arrow !== undefined) this.#listener.move(arrow);
  }
}

function standardPads(): readonly Gamepad[] {
  return (navigator.getGamepads?.() ?? []).filter(
    (pad) => pad?.connected === true && pad.mapping === "standard",
  ) as Gamepad[];
}
