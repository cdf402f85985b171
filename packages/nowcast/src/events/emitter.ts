import { kindOf, NowcastError } from "../errors/nowcast-error.js";
import type { WaitOptions } from "./cancellable-waits.js";

interface Entry<Event> {
  readonly listener: (event: Event) => void;
  isOn: boolean;
}

/**
 * Typed events. A listener that throws is reported on the console and does not keep others from hearing.
 *
 * **The one invariant**: an event is heard by those who listened when it began and still do. So a listener that is
 * added inside a callback hears from the next event on, and one that is taken off inside a callback hears nothing more.
 */
export class Emitter<Events extends object> {
  /** Lists are replaced, never changed, so that an event goes through the list with which it began. */
  readonly #listeners = new Map<keyof Events, readonly Entry<never>[]>();

  on<K extends keyof Events>(
    type: K,
    listener: (event: Events[K]) => void,
    { signal }: WaitOptions = {},
  ): () => void {
    if (typeof listener !== "function") {
      throw new NowcastError(
        "misuse",
        `a listener of "${String(type)}" is a function, not ${kindOf(listener)}`,
      );
    }
    // An entry of its own for each call, so that the same function may listen twice and each can be taken off by itself.
    const entry: Entry<Events[K]> = { listener, isOn: true };
    this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), entry as Entry<never>]);
    const off = (): void => {
      if (!entry.isOn) return;
      entry.isOn = false;
      signal?.removeEventListener("abort", off);
      const left = (this.#listeners.get(type) ?? []).filter((other) => other !== entry);
      this.#listeners.set(type, left);
    };
    signal?.addEventListener("abort", off);
    if (signal?.aborted) off();
    return off;
  }

  emit<K extends keyof Events>(type: K, event: Events[K]): void {
    for (const entry of this.#listeners.get(type) ?? []) {
      if (!entry.isOn) continue;
      try {
        (entry as Entry<Events[K]>).listener(event);
      } catch (error) {
        console.error(`nowcast: a listener of "${String(type)}" threw`, error);
      }
    }
  }

  /** Nobody hears anything any more. */
  end(): void {
    for (const entries of this.#listeners.values()) for (const entry of entries) entry.isOn = false;
    this.#listeners.clear();
  }
}
