/** The steps that a client counts, 60 a second, and the input of each. */
import { createInput, writeInput } from "../input-sender.js";
import type { PosedWorld } from "../posed-world.js";
import type { EntityId, Input } from "../world.js";
import { STEPS_KEPT, StepHistory } from "./history.js";
import { quantiseYaw } from "./mover.js";
import { StepInputSender } from "./step-input-sender.js";

const f = Math.fround;
const STEP_MS = 1000 / 60;
/** Maximum time, in seconds, that one frame lasts for effects that are shown gradually. */
const FRAME_S_MAX = 0.05;

/** One clock for all predictions of the local avatar, which take turns. */
export class StepClock {
  /** The newest step. */
  step = 0;
  /** Part of the next step that is shown. */
  share = 0;
  /** The time of the last frame. */
  frameMs = 0;
  /** Time since that frame's predecessor, limited for effects that are shown gradually. */
  frameS = 0;
  /** How many steps were skipped, because no frame was drawn for too long. */
  skippedSteps = 0;
  readonly history = new StepHistory();
  readonly sender: StepInputSender;
  readonly wanted = createInput();
  /** The avatar at the time of the newest input. */
  inputAvatar: EntityId | undefined;
  readonly #world: PosedWorld;
  /** The time of step 0, by the frames' clock. */
  #startMs: number | undefined;
  /** Whether input cannot reach the server now. */
  #isCut = false;
  /** Whether the jump key was pressed and released before a step could read it. */
  #jumpPending = false;
  /** The input of a step that differs from the wanted one. */
  readonly #steered = createInput();

  constructor(world: PosedWorld) {
    this.#world = world;
    this.sender = new StepInputSender(this.history, world);
  }

  /** The moment that is shown, in steps with a fraction. */
  get moment(): number {
    return this.step + this.share;
  }

  /** Sets the input from the next step on. */
  input(input: Input): void {
    const { wanted } = this;
    writeInput(input, wanted);
    this.inputAvatar = this.#world.avatarId;
    wanted.forward = f(wanted.forward);
    wanted.right = f(wanted.right);
    wanted.yaw = quantiseYaw(wanted.yaw);
    this.#jumpPending ||= wanted.jump;
  }

  /** Sets the time of a frame. */
  frame(nowMs: number): void {
    this.frameS = Math.min(FRAME_S_MAX, Math.max(0, nowMs - this.frameMs) / 1000);
    this.frameMs = nowMs;
    const { connection, status } = this.#world;
    this.#isCut = status !== "open" || connection !== "steady";
  }

  /** Starts the steps of an avatar after all earlier steps. Returns false if there is no connection that takes steps. */
  begin(): boolean {
    this.#startMs ??= this.frameMs - this.step * STEP_MS;
    this.step = Math.max(this.step + 1, Math.floor(this.#dueSteps));
    this.history.putInput(this.step, this.wanted);
    return this.sender.begin(this.step, this.wanted);
  }

  /** Returns the number of steps to take in this frame. */
  advance(): number {
    const due = this.#dueSteps;
    const target = Math.max(this.step, Math.floor(due));
    this.share = Math.min(1, Math.max(0, due - target));
    return target - this.step;
  }

  /** Leaves out all but the last of many due steps, after a page was suspended. Returns whether there were that many. */
  skip(steps: number): boolean {
    if (steps <= STEPS_KEPT / 2) return false;
    this.skippedSteps += steps - 1;
    this.step += steps - 1;
    return true;
  }

  /** Counts a step, and returns its input. */
  next(): Input {
    const input = this.nextInput();
    this.step++;
    this.#jumpPending = this.wanted.jump;
    this.history.putInput(this.step, input);
    if (!this.history.isSameInput(this.step, this.step - 1)) this.sender.changed(this.step);
    return input;
  }

  /** While input cannot reach the server, the avatar stops on the server, so the prediction stops, too. */
  nextInput(): Input {
    const [wanted, steered] = [this.wanted, this.#steered];
    if (!this.#isCut && (!this.#jumpPending || wanted.jump)) return wanted;
    steered.forward = this.#isCut ? 0 : wanted.forward;
    steered.right = this.#isCut ? 0 : wanted.right;
    steered.yaw = wanted.yaw;
    steered.run = !this.#isCut && wanted.run;
    steered.jump = !this.#isCut;
    return steered;
  }

  /** Stores the wanted input for all earlier steps, so that none of them is repeated with another input. */
  fill(): void {
    for (let back = 0; back < STEPS_KEPT; back++) this.history.putInput(this.step - back, this.wanted);
  }

  /** The step that a snapshot acknowledges; `undefined` if it is no longer stored. */
  acknowledged(sequence: number): number | undefined {
    const step = this.step + (((sequence - this.step) << 16) >> 16);
    return sequence !== 0 && this.has(step) ? step : undefined;
  }

  /** Whether a step is stored. */
  has(step: number): boolean {
    return step <= this.step && step > this.step - STEPS_KEPT;
  }

  get #dueSteps(): number {
    return (this.frameMs - this.#startMs!) / STEP_MS;
  }
}
