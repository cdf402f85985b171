/** Commands that wait for their replies. */
import { NowcastError } from "../errors.js";

interface Waiting {
  resolve(value: Uint8Array): void;
  reject(error: unknown): void;
}

export class Commands {
  readonly #waiting = new Map<number, Waiting>();
  #closed: NowcastError | undefined;

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** Why no command gets an answer any more. */
  get closed(): NowcastError {
    return this.#closed ?? new NowcastError("network", "the channel is closed");
  }

  reply(id: number): Promise<Uint8Array> {
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  answered(id: number, value: Uint8Array): void {
    this.#take(id)?.resolve(value);
  }

  timedOut(id: number): void {
    this.#take(id)?.reject(new NowcastError("network", "no reply came before the deadline"));
  }

  ended(error: NowcastError): void {
    this.#closed = error;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  #take(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }
}
