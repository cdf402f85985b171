/** Packets that one task sends. Some releases of Safari keep only the first and the last datagram of such a burst. */
import { expect, it } from "vitest";
import { CARRIER_TRAITS } from "../../src/session/index.js";
import { createRandom, Pair } from "./pair.js";

const SECOND = 1_000_000;

it("sends eight events and eight values of one turn in at most two datagrams", () => {
  const pair = new Pair(createRandom(3), CARRIER_TRAITS.datagrams);
  pair.runUntil(pair.nowUs + SECOND);
  const [sender] = pair.ends;
  const nowUs = pair.clock(0);
  for (let number = 0; number < 8; number++) {
    sender.putEvent(nowUs, 0, Uint8Array.of(number));
    sender.putState(nowUs, 1, number + 1, new Uint8Array(64).fill(number));
  }
  const packets: Uint8Array[] = [];
  for (let packet = sender.pollPacket(nowUs); packet; packet = sender.pollPacket(nowUs)) packets.push(packet);
  // Only the first and the last datagram arrive.
  expect(packets.length).toBeLessThanOrEqual(2);
  expect(packets.reduce((sum, { length }) => sum + length, 0)).toBeGreaterThan(8 * 64);
});
