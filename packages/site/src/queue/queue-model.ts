/**
 * A plain queue and the SDK's updatable queue, which get the same puts. The receiver of each queue takes one entry at a
 * time.
 */

import { UpdatableQueue } from "nowcast";
import type { QueueEntry } from "nowcast/internal";

export interface Value {
  readonly text: string;
  readonly putAtMs: number;
}

export const KEYS = ["A", "B", "C"] as const;
/** Entries of each queue; further puts are refused. */
export const ENTRIES_MAX = 12;

export interface Taken {
  readonly entry: QueueEntry<Value>;
  readonly ageMs: number;
}

export class QueueModel {
  readonly plain: QueueEntry<Value>[] = [];
  #updatable = makeQueue();
  /** The newest entry that the receiver of each queue took. */
  taken: { plain: Taken | undefined; updatable: Taken | undefined } = {
    plain: undefined,
    updatable: undefined,
  };
  replaced = 0;
  refused = { plain: 0, updatable: 0 };
  #count = 0;

  /** Puts a state; `key` is an index of {@link KEYS}. Returns the answer of the updatable queue. */
  putState(nowMs: number, key: number): string {
    this.#count += 1;
    const value = { text: `${KEYS[key]}${this.#count}`, putAtMs: nowMs };
    this.#putPlain({ kind: "state", key: key + 1, value });
    return this.#counted(this.#updatable.putState(key + 1, value));
  }

  putEvent(nowMs: number): string {
    this.#count += 1;
    const value = { text: `!${this.#count}`, putAtMs: nowMs };
    this.#putPlain({ kind: "event", value });
    return this.#counted(this.#updatable.putEvent(value));
  }

  /** The receiver of each queue takes the next entry. */
  take(nowMs: number): void {
    const [plain, updatable] = [this.plain.shift(), this.#updatable.pop()];
    if (plain !== undefined) this.taken.plain = { entry: plain, ageMs: nowMs - plain.value.putAtMs };
    if (updatable !== undefined) {
      this.taken.updatable = { entry: updatable, ageMs: nowMs - updatable.value.putAtMs };
    }
  }

  /** The entries of the updatable queue, the next one first. The queue is emptied and filled again with the same entries. */
  entries(): readonly QueueEntry<Value>[] {
    const entries: QueueEntry<Value>[] = [];
    for (let entry = this.#updatable.pop(); entry !== undefined; entry = this.#updatable.pop())
      entries.push(entry);
    for (const entry of entries) {
      if (entry.kind === "state") this.#updatable.putState(entry.key, entry.value);
      else this.#updatable.putEvent(entry.value);
    }
    return entries;
  }

  #putPlain(entry: QueueEntry<Value>): void {
    if (this.plain.length < ENTRIES_MAX) this.plain.push(entry);
    else this.refused.plain += 1;
  }

  #counted(outcome: string): string {
    if (outcome === "replaced") this.replaced += 1;
    if (outcome === "full") this.refused.updatable += 1;
    return outcome;
  }
}

function makeQueue(): UpdatableQueue<Value> {
  return new UpdatableQueue<Value>({ entriesMax: ENTRIES_MAX, bytesMax: 1_024 }, () => 1);
}
