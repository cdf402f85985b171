/** The content of a sending lane's packets. The implementation in Rust is tested with the same scripts. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { BoundEvent, BoundState } from "../../src/session/lane/message.js";
import { SendLane } from "../../src/session/lane/send.js";
import { DEFAULT_LIMITS } from "../../src/session/limits.js";
import { PacketBuilder } from "../../src/session/packet/builder.js";
import { EventKind } from "../../src/session/packet/frames.js";
import { PacketWriter } from "../../src/session/packet/writer.js";
import type { Item } from "../../src/session/sent.js";

type Name = { stamp?: number; number?: number; index?: number };
type Message = Name & { length: number };
type Step = {
  put_state?: { key: number; length: number };
  put_event?: { length: number };
  put_command?: { length: number };
  expire?: number;
  send?: Message[];
  arrived?: Name[];
  lost?: Name[];
  consumed?: number;
  whole_bytes_max?: number;
};
interface Vectors {
  limits: { window_bytes: number; message_bytes_max: number };
  whole_bytes_max: number;
  scripts: { name: string; steps: Step[]; is_drained: boolean }[];
}
type Sent = Extract<Item, { type: "message" }>;

const vectors: Vectors = JSON.parse(
  readFileSync(new URL("../../../../spec/vectors/session/send.json", import.meta.url), "utf8"),
);
/** Overhead of a packet with the longest message that is not divided. */
const OVERHEAD = 176;
const { window_bytes: windowBytes, message_bytes_max: messageBytesMax } = vectors.limits;
const limits = { ...DEFAULT_LIMITS, windowBytes, messageBytesMax };

class Script {
  readonly lane = new SendLane(0, { entriesMax: 64, bytesMax: 1 << 20 });
  readonly #underWay = new Map<string, Sent>();
  #wholeBytesMax = vectors.whole_bytes_max;
  #nextId = 0;

  take(step: Step): void {
    if (step.put_state) this.#putState(step.put_state.key, step.put_state.length);
    else if (step.put_event) this.#putEvent(EventKind.event, step.put_event.length);
    else if (step.put_command) this.#putEvent(EventKind.command, step.put_command.length);
    else if (step.expire !== undefined) this.lane.expire(step.expire);
    else if (step.send) expect(this.#send()).toEqual(step.send);
    else if (step.consumed !== undefined) this.lane.windowReceived(step.consumed);
    else if (step.whole_bytes_max !== undefined) this.#wholeBytesMax = step.whole_bytes_max;
    for (const name of step.arrived ?? []) {
      const { message, part, generation } = this.#settled(name);
      message.acknowledged(part, generation);
    }
    for (const name of step.lost ?? []) {
      const { message, part, generation } = this.#settled(name);
      message.lost(part, generation);
    }
  }

  #putState(key: number, length: number): void {
    this.lane.queue.putState(key, { value: new Uint8Array(length), producedAtUs: 0 });
  }

  #putEvent(kind: EventKind, length: number): void {
    const id = this.#nextId++;
    this.lane.queue.putEvent({ id, kind, answers: undefined, value: new Uint8Array(length) });
  }

  #settled(name: Name): Sent {
    const item = this.#underWay.get(nameOf(name));
    if (item === undefined) throw new Error(`${nameOf(name)} is not under way`);
    this.#underWay.delete(nameOf(name));
    return item;
  }

  /**
   * Returns everything that leaves until the lane has no more content for a packet, in the order of the
   * vectors.
   */
  #send(): Message[] {
    const messages: Message[] = [];
    while (this.lane.hasMore(limits)) {
      const items: Item[] = [];
      const builder = new PacketBuilder(new PacketWriter(65_536), this.#wholeBytesMax + OVERHEAD);
      const counters = { statesSent: 0, eventsSent: 0, resent: 0 };
      const filling = { nowUs: 0, builder, items, counters, onBound: () => {} };
      this.lane.fill(filling, limits);
      for (const item of items) {
        if (item.type !== "message") throw new Error(`a lane sends no ${item.type}`);
        const message = describe(item);
        this.#underWay.set(nameOf(message), item);
        messages.push(message);
      }
      if (items.length === 0) break;
    }
    return messages.sort(inOrder);
  }
}

function describe({ message, part }: Sent): Message {
  if (message instanceof BoundState) {
    const { stamp, interval, key, value, isWhole } = message;
    const head = { stamp, interval, key: Number(key), length: value.length };
    return isWhole ? head : { ...head, index: part };
  }
  if (!(message instanceof BoundEvent)) throw new Error("a lane sends states and events");
  const { number, kind, before, value, isWhole } = message;
  const head = { number, kind, before: Number(before), length: value.length };
  return isWhole ? head : { ...head, index: part };
}

function nameOf({ stamp, number, index }: Name): string {
  return `${stamp === undefined ? `event ${number}` : `value ${stamp}`} ${index ?? "whole"}`;
}

/** Events by number, then values by stamp, each part by part. */
function inOrder(a: Name, b: Name): number {
  const rank = ({ stamp, number, index }: Name) => [
    stamp === undefined ? 0 : 1,
    stamp ?? number!,
    index ?? -1,
  ];
  const [left, right] = [rank(a), rank(b)];
  const at = left.findIndex((value, index) => value !== right[index]);
  return at < 0 ? 0 : left[at]! - right[at]!;
}

it.each(vectors.scripts)("$name", ({ steps, is_drained }) => {
  const script = new Script();
  for (const step of steps) script.take(step);
  expect(script.lane.isSettled).toBe(is_drained);
});
