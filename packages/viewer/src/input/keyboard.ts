import type { Controls } from "./controls.js";

/** By position on the keyboard, so that WASD is the same square on every layout. */
const FORWARD = new Set(["KeyW", "ArrowUp"]);
const BACK = new Set(["KeyS", "ArrowDown"]);
const LEFT = new Set(["KeyA", "ArrowLeft"]);
const RIGHT = new Set(["KeyD", "ArrowRight"]);
const TURN_LEFT = "KeyQ";
const TURN_RIGHT = "KeyR";

/** WASD or arrows, Shift, Space, E, F, Enter, H, Escape. */
export class Keyboard {
  private readonly down = new Set<string>();

  constructor(private readonly controls: Controls) {
    window.addEventListener("keydown", (event) => this.press(event));
    window.addEventListener("keyup", (event) => this.lift(event));
    window.addEventListener("blur", () => this.clear());
  }

  /** Lets go of everything, as when the chat takes the keyboard. */
  clear(): void {
    if (this.down.has("KeyF")) this.controls.do("chargeCancel");
    this.down.clear();
    this.update();
  }

  /** Radians a second to turn, for people without a mouse. */
  get turning(): number {
    return (this.down.has(TURN_LEFT) ? 1 : 0) - (this.down.has(TURN_RIGHT) ? 1 : 0);
  }

  private press(event: KeyboardEvent): void {
    if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.code === "Escape") this.controls.do("escape");
    // A focused button keeps its own keys: Space and Enter press it.
    if (isPressable(event.target) && (event.code === "Space" || event.code === "Enter")) return;
    if (event.code === "Enter") {
      event.preventDefault();
      this.controls.do("chat");
      return;
    }
    if (event.code === "Space" || event.code.startsWith("Arrow")) event.preventDefault();
    if (event.repeat || this.down.has(event.code)) return;
    this.down.add(event.code);
    this.update();
    if (event.code === "KeyE") this.controls.do("grab");
    if (event.code === "KeyF") this.controls.do("chargeStart");
    if (event.code === "KeyH") this.controls.do("hud");
  }

  private lift(event: KeyboardEvent): void {
    if (!this.down.delete(event.code)) return;
    this.update();
    if (event.code === "KeyF") this.controls.do("chargeEnd");
  }

  private update(): void {
    const { keyboard } = this.controls;
    keyboard.forward = this.any(FORWARD) - this.any(BACK);
    keyboard.right = this.any(RIGHT) - this.any(LEFT);
    keyboard.run = this.down.has("ShiftLeft") || this.down.has("ShiftRight");
    keyboard.jump = this.down.has("Space");
  }

  private any(codes: ReadonlySet<string>): number {
    for (const code of codes) if (this.down.has(code)) return 1;
    return 0;
  }
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLInputElement ||
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement
  );
}

function isPressable(target: EventTarget | null): boolean {
  return target instanceof HTMLButtonElement || target instanceof HTMLAnchorElement;
}
