/**
 * The updatable queue (`spec/QUEUE.md`). A state replaces its undelivered predecessor in place. An event is never
 * replaced, and is a barrier that states do not cross.
 *
 * **The one invariant**: the queue is a list of segments. Each holds the states put before one event, in the order of
 * their first put, and then that event. Only the last segment has no event yet, so only its states can be replaced.
 */
import type { UInt64 } from "./uint64.js";

export interface Bounds {
  readonly entriesMax: number;
  readonly bytesMax: number;
}

export type PutOutcome = "queued" | "replaced" | "full" | "too large";

export interface StateEntry<V> {
  readonly kind: "state";
  readonly key: UInt64;
  readonly value: V;
}

export interface EventEntry<V> {
  readonly kind: "event";
  readonly value: V;
}

export type QueueEntry<V> = StateEntry<V> | EventEntry<V>;

interface Segment<V> {
  readonly states: Map<UInt64, V>;
  event: { readonly value: V } | undefined;
}

export class UpdatableQueue<V> {
  #segments: Segment<V>[] = [{ states: new Map(), event: undefined }];
  /** Segments before this index were taken; they are dropped in batches. */
  #first = 0;
  #entries = 0;
  #bytes = 0;
  /** States that were replaced before they were taken. */
  superseded = 0;

  constructor(
    readonly bounds: Bounds,
    readonly bytesOf: (value: V) => number,
  ) {}

  get entries(): number {
    return this.#entries;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isEmpty(): boolean {
    return this.#entries === 0;
  }

  putState(key: UInt64, value: V): PutOutcome {
    const { states } = this.#segments[this.#segments.length - 1]!;
    const bytes = this.bytesOf(value);
    if (bytes > this.bounds.bytesMax) return "too large";
    const replaced = states.get(key);
    const freed = replaced === undefined ? 0 : this.bytesOf(replaced);
    const isFull = replaced === undefined && this.#entries >= this.bounds.entriesMax;
    if (isFull || this.#bytes - freed + bytes > this.bounds.bytesMax) return "full";
    // Setting an existing key of a Map keeps the place of the key. This gives fairness (law 5).
    states.set(key, value);
    this.#bytes += bytes - freed;
    if (replaced !== undefined) {
      this.superseded += 1;
      return "replaced";
    }
    this.#entries += 1;
    return "queued";
  }

  putEvent(value: V): PutOutcome {
    const bytes = this.bytesOf(value);
    if (bytes > this.bounds.bytesMax) return "too large";
    if (this.#entries >= this.bounds.entriesMax || this.#bytes + bytes > this.bounds.bytesMax) return "full";
    this.#segments[this.#segments.length - 1]!.event = { value };
    this.#segments.push({ states: new Map(), event: undefined });
    this.#entries += 1;
    this.#bytes += bytes;
    return "queued";
  }

  /** Returns the next entry without removing it. */
  peek(): QueueEntry<V> | undefined {
    const { states, event } = this.#segments[this.#first]!;
    for (const [key, value] of states) return { kind: "state", key, value };
    return event && { kind: "event", value: event.value };
  }

  /**
   * Returns the next entry, but skips states that should wait. If the event after them is next,
   * these states are returned, too.
   */
  peekUnless(waits: (key: UInt64) => boolean): QueueEntry<V> | undefined {
    const { states, event } = this.#segments[this.#first]!;
    for (const [key, value] of states) if (!waits(key)) return { kind: "state", key, value };
    return states.size === 0 || event ? this.peek() : undefined;
  }

  /** Removes and returns the state of a key, if it is before the next event. */
  takeState(key: UInt64): V | undefined {
    const { states } = this.#segments[this.#first]!;
    const value = states.get(key);
    if (value === undefined) return undefined;
    states.delete(key);
    this.#entries -= 1;
    this.#bytes -= this.bytesOf(value);
    return value;
  }

  /** Removes and returns the next entry. */
  pop(): QueueEntry<V> | undefined {
    const next = this.peek();
    if (next === undefined) return undefined;
    this.#entries -= 1;
    this.#bytes -= this.bytesOf(next.value);
    if (next.kind === "state") this.#segments[this.#first]!.states.delete(next.key);
    else this.#leaveSegment();
    return next;
  }

  /** Returns the state of a key without removing it, if it is before the next event. */
  peekState(key: UInt64): StateEntry<V> | undefined {
    const value = this.#segments[this.#first]!.states.get(key);
    return value === undefined ? undefined : { kind: "state", key, value };
  }

  /** The keys of the states before the next event, in their order. */
  firstKeys(): Iterable<UInt64> {
    return this.#segments[this.#first]!.states.keys();
  }

  /**
   * Removes the event for which `matches` is true, if it still waits. The states before and after
   * the event then form one segment.
   */
  removeEvent(matches: (value: V) => boolean): V | undefined {
    for (let index = this.#first; index < this.#segments.length - 1; index++) {
      const segment = this.#segments[index]!;
      const { value } = segment.event!;
      if (!matches(value)) continue;
      const after = this.#segments[index + 1]!;
      // A value that was put after the event replaces the value that was put before it, in the
      // place of the earlier value.
      for (const [key, newer] of after.states) {
        const older = segment.states.get(key);
        if (older !== undefined) {
          this.#entries -= 1;
          this.#bytes -= this.bytesOf(older);
          this.superseded += 1;
        }
        segment.states.set(key, newer);
      }
      segment.event = after.event;
      this.#segments.splice(index + 1, 1);
      this.#entries -= 1;
      this.#bytes -= this.bytesOf(value);
      return value;
    }
    return undefined;
  }

  #leaveSegment(): void {
    this.#first += 1;
    if (this.#first >= 64 && this.#first * 2 > this.#segments.length) {
      this.#segments.splice(0, this.#first);
      this.#first = 0;
    }
  }
}
