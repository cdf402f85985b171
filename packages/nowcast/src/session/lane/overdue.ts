/**
 * The keys whose values were lost in a row (`spec/SESSION.md`, section 10). They go ahead of other keys, so that no pattern of
 * loss always hits the same keys.
 */
import type { UInt64 } from "../../queue/uint64.js";

/** A key is overdue after this number of its values was lost in a row. */
const OVERDUE_LOSSES = 2;
/**
 * A key is overdue until this number of its values arrived in a row. If a policer drops the end of each burst, keys that went
 * ahead for a short time would be at the end again at once.
 */
const OVERDUE_ARRIVALS = 16;
/** Maximum number of overdue keys. Each packet examines all of them. */
const OVERDUE_MAX = 256;

/** The fate of one key's values in the open interval. */
export class KeyHistory {
  /** Values lost in a row, at most {@link OVERDUE_LOSSES}. */
  losses = 0;
  /** Values that arrived in a row while the key is overdue. */
  arrivals = 0;

  constructor(
    readonly key: UInt64,
    /** No value up to this stamp counts as lost: a later one arrived, or the interval began later. */
    public arrived: number,
  ) {}
}

export class OverdueKeys {
  readonly #keys = new Set<KeyHistory>();
  /** The keys that waited at the beginning of the present round and have not left the queue. */
  readonly #round = new Set<UInt64>();
  /** The first stamp of the round. */
  #roundStamp = 0;

  arrived(history: KeyHistory, stamp: number): void {
    if (stamp <= history.arrived) return;
    history.arrived = stamp;
    if (history.losses < OVERDUE_LOSSES) {
      history.losses = 0;
      return;
    }
    history.arrivals += 1;
    if (history.arrivals < OVERDUE_ARRIVALS) return;
    history.losses = 0;
    history.arrivals = 0;
    this.#keys.delete(history);
  }

  lost(history: KeyHistory, stamp: number): void {
    if (stamp <= history.arrived) return;
    history.losses = Math.min(OVERDUE_LOSSES, history.losses + 1);
    if (history.losses < OVERDUE_LOSSES) return;
    history.arrivals = 0;
    if (this.#keys.size < OVERDUE_MAX) this.#keys.add(history);
  }

  /** Records that a value of the key left the queue. */
  bound(key: UInt64): void {
    this.#round.delete(key);
  }

  /** Forgets all keys, because the interval was closed. */
  clear(): void {
    this.#keys.clear();
    this.#round.clear();
  }

  /**
   * Returns the keys that go ahead. The key whose last arrived value left first comes first. A key goes ahead once in a round,
   * which lasts until all keys that waited at its beginning were served.
   */
  goAhead(waiting: Iterable<UInt64>, nextStamp: number, lastStampOf: (key: UInt64) => number): UInt64[] {
    if (this.#keys.size === 0) return [];
    if (this.#round.size === 0) {
      this.#roundStamp = nextStamp;
      for (const key of waiting) this.#round.add(key);
    }
    return [...this.#keys]
      .filter(({ key }) => lastStampOf(key) < this.#roundStamp)
      .sort((a, b) => a.arrived - b.arrived)
      .map(({ key }) => key);
  }
}
