import type { UInt64 } from "../../queue/uint64.js";
import { MESSAGE_COST } from "../limits.js";

interface Entry {
  /** The greatest cost of a value, for each key in the interval. */
  readonly keys: Map<UInt64, number>;
  states: number;
  event: number;
}

/**
 * The cost of intervals, and of the events that end them. Both ends compute it in the same way (`spec/SESSION.md`,
 * section 9).
 */
export class Ledger {
  readonly #entries = new Map<number, Entry>();
  #total = 0;
  #first = 0;

  /** The total cost of everything that is not consumed. */
  get total(): number {
    return this.#total;
  }

  /** The cost of one interval and its event. */
  costOf(number: number): number {
    const entry = this.#entries.get(number);
    return entry === undefined ? 0 : entry.states + entry.event;
  }

  /** The additional cost of the interval with this value. */
  moreFor(interval: number, key: UInt64, bytes: number): number {
    return Math.max(0, bytes + MESSAGE_COST - (this.#entries.get(interval)?.keys.get(key) ?? 0));
  }

  chargeState(interval: number, key: UInt64, bytes: number): void {
    const more = this.moreFor(interval, key, bytes);
    if (more === 0) return;
    const entry = this.#entry(interval);
    entry.keys.set(key, bytes + MESSAGE_COST);
    entry.states += more;
    this.#total += more;
  }

  chargeEvent(number: number, bytes: number): void {
    const entry = this.#entry(number);
    if (entry.event > 0) return;
    entry.event = bytes + MESSAGE_COST;
    this.#total += entry.event;
  }

  /** Removes the cost of everything below this number, which was consumed. */
  forgetBelow(number: number): void {
    for (; this.#first < number; this.#first++) {
      this.#total -= this.costOf(this.#first);
      this.#entries.delete(this.#first);
    }
  }

  #entry(number: number): Entry {
    let entry = this.#entries.get(number);
    if (entry === undefined) {
      entry = { keys: new Map(), states: 0, event: 0 };
      this.#entries.set(number, entry);
    }
    return entry;
  }
}
