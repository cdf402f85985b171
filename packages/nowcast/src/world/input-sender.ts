import { kindOf, NowcastError } from "../errors/nowcast-error.js";
import { SendInterval } from "./send-interval.js";
import type { Input } from "./world.js";

/** Sends the newest input when it changes, at most thirty times a second. */
export class InputSender {
  readonly #send: (input: Input) => boolean;
  readonly #interval = new SendInterval(() => this.#flush());
  #wanted: WritableInput | undefined;
  #sent: Input | undefined;
  /**
   * Whether the jump key was pressed since the last send. A press and release between two sends is sent as one jump.
   */
  #jumpPending = false;

  /** `send` returns false if there is no connection. */
  constructor(send: (input: Input) => boolean) {
    this.#send = send;
  }

  /** The newest input; `undefined` before the first one, and after {@link forget}. */
  get wanted(): Input | undefined {
    return this.#wanted;
  }

  set(input: Input): void {
    this.#wanted ??= createInput();
    writeInput(input, this.#wanted);
    this.#jumpPending ||= this.#wanted.jump;
    this.#interval.schedule();
  }

  /** Handles a new connection, which has not received the input yet. */
  connected(): void {
    this.#sent = undefined;
    this.#interval.reset();
    if (this.#wanted !== undefined) this.#interval.schedule();
  }

  /** Stops the sender, because from now on input is sent in another way. */
  forget(): void {
    this.stop();
    this.#wanted = undefined;
    this.#sent = undefined;
    this.#jumpPending = false;
  }

  stop(): void {
    this.#interval.stop();
  }

  #flush(): void {
    if (this.#wanted === undefined) return;
    const input = this.#jumpPending && !this.#wanted.jump ? { ...this.#wanted, jump: true } : this.#wanted;
    if (this.#sent !== undefined && same(this.#sent, input)) return;
    // If there is no connection, `connected` sends the newest input later.
    if (!this.#send(input)) return;
    this.#sent = { ...input };
    this.#interval.sent();
    this.#jumpPending = false;
    if (input !== this.#wanted) this.#interval.schedule();
  }
}

/** An input that is reused for every frame, so that a frame allocates nothing. */
export type WritableInput = { -readonly [K in keyof Input]: Input[K] };

export function createInput(): WritableInput {
  return { forward: 0, right: 0, yaw: 0, run: false, jump: false };
}

/** Writes valid input with clamped numbers. Throws a misuse for invalid input. */
export function writeInput(input: Input, out: WritableInput): void {
  if (typeof input !== "object" || input === null) {
    throw new NowcastError("misuse", `input takes an object of controls, not ${kindOf(input)}`);
  }
  out.forward = unit(input.forward, "forward");
  out.right = unit(input.right, "right");
  out.yaw = finite(input.yaw, "yaw");
  out.run = flag(input.run, "run");
  out.jump = flag(input.jump, "jump");
}

function unit(value: number, name: string): number {
  return Math.min(1, Math.max(-1, finite(value, name)));
}

function finite(value: number, name: string): number {
  if (Number.isFinite(value)) return value;
  const what = typeof value === "number" ? String(value) : kindOf(value);
  throw new NowcastError("misuse", `input.${name} is ${what}, not a finite number`);
}

function flag(value: boolean, name: string): boolean {
  if (typeof value === "boolean") return value;
  throw new NowcastError("misuse", `input.${name} is ${kindOf(value)}, not true or false`);
}

function same(a: Input, b: Input): boolean {
  return (
    a.forward === b.forward && a.right === b.right && a.yaw === b.yaw && a.run === b.run && a.jump === b.jump
  );
}
