import { NowcastError } from "../errors/nowcast-error.js";
import { CancellableWaits, type WaitOptions } from "../events/cancellable-waits.js";

/** Maximum number of requests that wait for an answer. */
const WAITING_MAX = 1_024;

interface Pending<T> {
  readonly what: string;
  resolve(value: T): void;
  reject(error: NowcastError): void;
}

/** Requests of one kind, which the server answers by their numbers. */
export class Requests<T> {
  readonly #pending = new Map<number, Pending<T>>();
  readonly #waiting = new CancellableWaits();
  #number: number;
  readonly #unsent: () => void;

  /** Numbers begin after `number`. `unsent` is called for each request that was not sent. */
  constructor(number: number, unsent: () => void) {
    this.#number = number;
    this.#unsent = unsent;
  }

  /** Sends a request, and waits for the answer. `send` returns false if it cannot send. `what` names the request in errors. */
  ask(what: string, send: (number: number) => boolean, { signal }: WaitOptions = {}): Promise<T> {
    const number = ++this.#number;
    return this.#waiting.wait(signal, (resolve, reject) => {
      if (this.#pending.size < WAITING_MAX && send(number)) {
        this.#pending.set(number, { what, resolve, reject });
        return () => this.#pending.delete(number);
      }
      this.#unsent();
      reject(
        new NowcastError("network", `${what} was not sent: there is no connection, or too many wait`, {
          code: "lost",
          cure: "wait for a welcome",
        }),
      );
      return () => {};
    });
  }

  done(number: number, value: T): void {
    this.#pending.get(number)?.resolve(value);
  }

  refused(number: number, reason: string): void {
    this.#pending.get(number)?.reject(new NowcastError("refused", reason));
  }

  /** Handles a new connection, or the end of all: earlier requests will not be answered. `why` names the reason. */
  restart(why: string): void {
    for (const { what, reject } of [...this.#pending.values()]) reject(unanswered(what, why));
  }
}

/** The error of a request that was sent, and whose answer cannot come any more. */
export function unanswered(what: string, why: string): NowcastError {
  return new NowcastError("network", `whether ${what} was carried out is not known: ${why}`, {
    code: "unanswered",
    cure: "check its effect in the world",
  });
}
