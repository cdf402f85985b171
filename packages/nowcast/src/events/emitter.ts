import { kindOf, NowcastError } from "../errors/nowcast-error.js";
import type { WaitOptions } from "./cancellable-waits.js";

interface Entry<Event> {
  readonly listener: (event: Event) => void;
  isOn: boolean;
}

/**
 * Typed events. A listener that throws is reported on the console, and the other listeners are still called.
 *
 * **The one invariant**: an event calls exactly those listeners that existed when the event began
 * and that have not been removed since. A listener that is added inside a callback receives only
 * later events, and a listener that is removed inside a callback receives nothing more.
 */
export class Emitter<Events extends object> {
  /** Lists are replaced, never changed. So an event iterates over the list with which it began. */
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
    // Each call adds an entry of its own, so that the same function may listen twice, and each
    // entry can be removed separately.
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

  /** Whether an event of this type would call a listener. */
  hears(type: keyof Events): boolean {
    return (this.#listeners.get(type) ?? []).length > 0;
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

  /** Removes all listeners for good. */
  end(): void {
    for (const entries of this.#listeners.values()) for (const entry of entries) entry.isOn = false;
    this.#listeners.clear();
  }
}
