/** Commands that wait for their replies. */
import { NowcastError } from "../errors.js";

interface Waiting {
  resolve(value: Uint8Array): void;
  reject(error: unknown): void;
}

export class Commands {
  readonly #waiting = new Map<number, Waiting>();

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
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
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  #take(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }
}
