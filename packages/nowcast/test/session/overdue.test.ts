/** Keys whose values are lost again and again go ahead of other keys (law 5). */
import { expect, test } from "vitest";
import { BoundState } from "../../src/session/lane/message.js";
import { SendLane } from "../../src/session/lane/send.js";
import { DEFAULT_LIMITS } from "../../src/session/limits.js";
import { PacketBuilder } from "../../src/session/packet/builder.js";
import { PacketWriter } from "../../src/session/packet/writer.js";
import type { Item } from "../../src/session/sent.js";

const KEYS = 10;
const TURNS = 400;
/** Turns until the fate of a packet is known. */
const ROUND_TRIP = 3;

/** Puts all keys in each turn, and drops what leaves after the first `passing` values. Returns how often each key arrived. */
function arrivals(passing: number): number[] {
  const lane = new SendLane(0, { entriesMax: 64, bytesMax: 1 << 20 });
  const counters = { statesSent: 0, eventsSent: 0, resent: 0 };
  const arrived = Array.from({ length: KEYS }, () => 0);
  const turns: Item[][] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    for (let key = 1; key <= KEYS; key++)
      lane.queue.putState(key, { value: new Uint8Array(64), producedAtUs: 0 });
    const items: Item[] = [];
    const builder = new PacketBuilder(new PacketWriter(65_536), 1_200);
    lane.fill({ nowUs: 0, builder, items, counters, onBound: () => {} }, DEFAULT_LIMITS);
    turns.push(items);
    for (const [index, item] of (turns[turn - ROUND_TRIP] ?? []).entries()) {
      if (item.type !== "message" || !(item.message instanceof BoundState)) throw new Error("only states");
      const { message, part, generation } = item;
      if (index >= passing) {
        message.lost(part, generation);
        continue;
      }
      message.acknowledged(part, generation);
      arrived[Number(message.key) - 1]! += 1;
    }
  }
  return arrived;
}

test.each([
  9, 6, 2,
])("if the first %i of ten values of each turn arrive, all keys arrive as often", (passing) => {
  const counts = arrivals(passing);
  const mean = (TURNS * passing) / KEYS;
  for (const count of counts) expect(count).toBeGreaterThan(0.6 * mean);
});
