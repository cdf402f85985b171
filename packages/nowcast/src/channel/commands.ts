/** Commands that wait for their replies. */
import { NowcastError } from "../errors/nowcast-error.js";
import { CancellableWaits } from "../events/cancellable-waits.js";

const NO_REPLY = { code: "timed_out", cure: "give it more time by deadlineMs, or ask again" } as const;

interface Asked {
  resolve(value: Uint8Array): void;
  reject(error: unknown): void;
}

export class Commands {
  readonly #waiting = new Map<number, Asked>();
  readonly #waits = new CancellableWaits();
  #closed: NowcastError | undefined;

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** The reason why commands can no longer be answered. */
  get closed(): NowcastError {
    return this.#closed ?? new NowcastError("misuse", "the channel is closed", { code: "closed_here" });
  }

  /** Waits for the reply. A reply that arrives after the caller gave up is dropped. */
  reply(id: number, signal: AbortSignal | undefined): Promise<Uint8Array> {
    return this.#waits.wait(signal, (resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      return () => this.#waiting.delete(id);
    });
  }

  answered(id: number, value: Uint8Array): void {
    this.#take(id)?.resolve(value);
  }

  timedOut(id: number): void {
    this.#take(id)?.reject(new NowcastError("network", "no reply came before the deadline", NO_REPLY));
  }

  ended(error: NowcastError): void {
    this.#closed = error;
    this.#waits.end(error);
  }

  #take(id: number): Asked | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }
}
