import { NowcastError } from "../errors/nowcast-error.js";
import { isSameValue } from "./same-value.js";

/**
 * Maximum number of values on one client's screen: values for all clients and values for this client alone
 * (`spec/WORLD.md`, section 6).
 */
export const SCREENS_MAX = 4_096;

/** The value that the server has set for a screen slot under one of its keys. */
export interface ScreenValue {
  readonly place: string;
  /** Whether the value is only for this player. Such a value has priority over the value for all. */
  readonly personal: boolean;
  /** `null` clears the slot. */
  readonly value: unknown;
}

/**
 * The values on the screen of one player. A server assigns keys to slots as it likes and may reassign them, and values
 * may arrive out of order. Therefore values are stored by key, and a slot shows the value of the key that was assigned
 * to it last.
 */
export class ScreenTable {
  readonly shown = new Map<string, unknown>();
  readonly #values = new Map<number | string, ScreenValue>();
  /** For each slot, the keys with a value there, the newest last. */
  readonly #keys = new Map<string, Set<number | string>>();

  /** Returns the slots whose shown value changed. Throws if there would be too many values. */
  put(key: number | string, screen: ScreenValue): string[] {
    const before = this.#values.get(key);
    if (before !== undefined) this.#remove(key, before.place);
    if (screen.value !== null) {
      if (this.#values.size >= SCREENS_MAX) {
        throw new NowcastError("peer-misbehaved", `a screen of more than ${SCREENS_MAX} values`, {
          code: "limit_exceeded",
        });
      }
      this.#values.set(key, screen);
      const keys = this.#keys.get(screen.place) ?? new Set();
      this.#keys.set(screen.place, keys.add(key));
    }
    const places = new Set([screen.place, before?.place ?? screen.place]);
    return [...places].filter((place) => this.#showsOther(place));
  }

  /** Clears everything, and returns the slots that had a value. */
  clear(): string[] {
    const places = [...this.shown.keys()];
    for (const values of [this.shown, this.#values, this.#keys]) values.clear();
    return places;
  }

  #remove(key: number | string, place: string): void {
    this.#values.delete(key);
    const keys = this.#keys.get(place);
    keys?.delete(key);
    if (keys?.size === 0) this.#keys.delete(place);
  }

  #showsOther(place: string): boolean {
    const screens = [...(this.#keys.get(place) ?? [])].map((key) => this.#values.get(key)!).reverse();
    const screen = screens.find(({ personal }) => personal) ?? screens[0];
    if (isSameValue(this.shown.get(place), screen?.value)) return false;
    if (screen === undefined) this.shown.delete(place);
    else this.shown.set(place, screen.value);
    return true;
  }
}
