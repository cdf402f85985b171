/** A joined world, as its poses use it. */
import type { Input, World } from "./world.js";

/** Input that a client holds from one of its steps until the next change. */
export interface InputChange extends Input {
  /** Steps before the client's current step. */
  readonly ago: number;
}

export interface PosedWorld extends World {
  /** World steps a second. */
  readonly stepHz: number;
  /**
   * Sends the input of a client that predicts. The client's own step is `number` (a step is 1/60 s; numbers count
   * modulo 2^16). `changes` are the newest changes of its input (the newest first, at most 64). Each happened `ago`
   * steps before `number`. The server applies each input until the next change, and `snapshot` events then have the
   * number of the applied step. Returns false if the input cannot be sent. The changes are valid during the call alone,
   * because the next call reuses the objects.
   */
  inputAtStep(number: number, changes: readonly InputChange[]): boolean;
}
