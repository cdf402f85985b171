import { createInput, writeInput } from "../input-sender.js";
import type { InputChange, PosedWorld } from "../posed-world.js";
import type { Input } from "../world.js";
import type { StepHistory } from "./history.js";

/** A change is sent at once, but not earlier than this time after the last message. */
const INTERVAL_MS = 1000 / 60;
/** Interval between repetitions. */
const REPEAT_MS = 1000 / 30;
/** How often a change is repeated, because packets get lost. */
const REPEATS = 6;
/**
 * A resting client sends its step at least at this interval. The server does not wait for resting
 * clients.
 */
const IDLE_MS = 500;
/** The server treats a client as resting after this many steps without input. */
const SERVER_REST_STEPS = 60;
/** The client sends every step for some time longer. */
const REST_STEPS = SERVER_REST_STEPS + 30;
/** Maximum number of changes in one message (`spec/WORLD.md`, section 3), and their maximum age. */
const CHANGES_MAX = 64;
const AGO_STEPS_MAX = 90;
/** Maximum age in a message. Older changes are sent with this age. */
const AGO_TOLD_MAX = 0x3fff;

/**
 * Sends the changes of the input. Each message includes the changes that the server has not taken
 * yet, so a lost packet causes no delay.
 */
export class StepInputSender {
  #sentAtMs = Number.NEGATIVE_INFINITY;
  #repeats = 0;
  readonly #changes: number[] = [];
  /** The changes of a message, and all objects that messages used before. The next message reuses them. */
  readonly #message: WritableChange[] = [];
  readonly #spare: WritableChange[] = [];
  /** The step since which the input has been empty; `undefined` if it is not empty. */
  #stillStep: number | undefined;
  #restEndedStep = Number.NEGATIVE_INFINITY;
  readonly #history: StepHistory;
  readonly #world: PosedWorld;

  constructor(history: StepHistory, world: PosedWorld) {
    this.#history = history;
    this.#world = world;
  }

  /** Sends the input of the first step. Returns false if there is no connection that takes steps. */
  begin(step: number, input: Input): boolean {
    return this.#world.inputAtStep(step & 0xffff, [{ ago: 0, ...input }]);
  }

  /** Starts again for a new connection, whose first change is the input of `step`. */
  restart(step: number): void {
    this.#changes.length = 0;
    this.#sentAtMs = Number.NEGATIVE_INFINITY;
    this.changed(step);
  }

  /** Records that this step's input differs from the preceding step's. */
  changed(step: number): void {
    this.#changes.push(step);
    if (this.#changes.length > CHANGES_MAX) this.#changes.shift();
    this.#repeats = REPEATS + 1;
    const { forward, right, jump } = this.#history.input(step);
    if (forward === 0 && right === 0 && !jump) {
      this.#stillStep ??= step;
      return;
    }
    if (this.#stillStep !== undefined && step - this.#stillStep >= SERVER_REST_STEPS)
      this.#restEndedStep = step;
    this.#stillStep = undefined;
  }

  /** The newest step whose input ended a standstill; −∞ if there was none. */
  get restEndedStep(): number {
    return this.#restEndedStep;
  }

  /** Records that the server took this step, so the server has the input up to this step. */
  taken(step: number): void {
    while (this.#changes.length > 1 && this.#changes[1]! <= step) this.#changes.shift();
  }

  /** Sends a message if one is due. The client is at `step`. */
  flush(nowMs: number, step: number): void {
    const sinceMs = nowMs - this.#sentAtMs;
    // Messages that would become due before the next frame are sent now.
    const rests = this.#stillStep !== undefined && step - this.#stillStep > REST_STEPS;
    const dueMs = this.#repeats > REPEATS ? INTERVAL_MS : this.#repeats > 0 || !rests ? REPEAT_MS : IDLE_MS;
    if (sinceMs < dueMs - 1 || this.#changes.length === 0) return;
    while (this.#changes.length > 1 && step - this.#changes[0]! > AGO_STEPS_MAX) this.#changes.shift();
    const changes = this.#message;
    let count = 0;
    for (let at = this.#changes.length - 1; at >= 0; at--) {
      const from = this.#changes[at]!;
      // The newest change stays, because it is still in force. The server no longer remembers the
      // steps of old changes.
      const held = at === this.#changes.length - 1 ? step : from;
      const change = this.#changeAt(count);
      change.ago = Math.min(step - from, AGO_TOLD_MAX);
      writeInput(this.#history.input(held), change);
      changes[count++] = change;
    }
    changes.length = count;
    if (!this.#world.inputAtStep(step & 0xffff, changes)) return;
    this.#sentAtMs = nowMs;
    this.#repeats = Math.max(0, this.#repeats - 1);
  }

  #changeAt(place: number): WritableChange {
    const known = this.#spare[place];
    if (known) return known;
    const change = { ago: 0, ...createInput() };
    this.#spare.push(change);
    return change;
  }
}

type WritableChange = { -readonly [Field in keyof InputChange]: InputChange[Field] };
