/** The calls of predictors and interpolators to a joined world. They are not part of the public `World`. */
import type { Input } from "./world.js";

/** Input that a client holds from one of its steps until the next change. */
export interface InputChange extends Input {
  /** Steps before the client's current step. */
  readonly ago: number;
}

/** The calls that report a client's own steps and its view. */
export interface StepSink {
  /**
   * The number of the last sent input. It grows by one with each input that differs from the previous input (1 follows
   * 65,535), starts again with each welcome, and is 0 before the first input.
   */
  readonly lastInputSequence: number;
  /**
   * Sets the input of a client that predicts. The client is at its own step `number`, of 1/60 s and modulo 2^16.
   * `changes` are the newest changes of its input (the newest first, at most 64). Each happened `ago` steps before
   * `number`. The server applies each input until the next change, and `snapshot` events then have the number of the
   * applied step. Returns false if the input cannot be sent. The changes are valid during the call alone, because the
   * next call reuses the objects.
   */
  inputAtStep(number: number, changes: readonly InputChange[]): boolean;
  /**
   * From now on input is sent by steps, so `World.input` passes its input to `take`. With `isOn` false this ends, unless
   * another receiver has been set.
   */
  passInput(take: (input: Input) => void, isOn: boolean): void;
  /**
   * Sets a function that returns this client's current step, while it counts steps. `World.act` then sends the step of
   * an action, and the server applies the steps up to it before the action.
   */
  countSteps(step: (() => number | undefined) | undefined): void;
  /**
   * Reports the view delay and the shown moment. The view delay is the age of the display relative to the newest data
   * that may have arrived, in milliseconds. The moment is in steps of the world, with a fraction. The world's rules can
   * then judge by this client's view (`world.rewound` in `docs/WORLDS.md`). Call it once a frame, or more often. The
   * delay is sent when it changes, at most once a second. The moment is sent with each action. Without a moment, the
   * server computes the moment from the delay.
   */
  setViewDelay(delayMs: number, tick?: number): void;
}

/** Returns the world's calls for predictors. A recording or a test may lack some of them. */
export function stepSinkOf(world: object): Partial<StepSink> {
  return world;
}
