/** Paths on which the delay of packets varies, and packets overtake each other. */
import { expect, test } from "vitest";
import { SendRate } from "../../src/session/rate/rate.js";
import { RoundTrip } from "../../src/session/rtt.js";
import { SentPackets } from "../../src/session/sent.js";
import { createRandom } from "./pair.js";

const MS = 1_000;

/**
 * Sends packets at 400 kB/s, and returns the rate afterwards. `delayUs` returns the one-way delay of the n-th packet.
 */
function sendOver(packets: number, delayUs: (number: number) => number): number {
  const rate = new SendRate(Number.POSITIVE_INFINITY, 400_000);
  let arrivedUs = 0;
  for (let number = 0; number < packets; number++) {
    const sentUs = number * 5 * MS;
    arrivedUs = Math.max(arrivedUs, sentUs + delayUs(number));
    rate.holdBack();
    const nextNumber = number + 10;
    const bytes = 2_000;
    rate.acknowledged(arrivedUs + 25 * MS, {
      number,
      nextNumber,
      sentUs,
      arrivedUs,
      packetBytes: bytes,
      bytes,
      busyPeriod: 0,
      isReliable: false,
    });
  }
  return rate.bytesPerSecond;
}

test("jitter is not taken for a queue", () => {
  const random = createRandom(5);
  expect(sendOver(2_000, () => 15 * MS + random() * 20 * MS)).toBeGreaterThan(1_000_000);
});

test("a queue that grows is seen though the path jitters", () => {
  const random = createRandom(5);
  const queueUs = (number: number) => number * 0.5 * MS;
  expect(sendOver(80, (number) => 15 * MS + random() * 5 * MS + queueUs(number))).toBeLessThan(400_000);
});

test("overtaken packets are not taken for lost again", () => {
  const sent = new SentPackets();
  const rtt = new RoundTrip();
  rtt.sample(40 * MS, 0);
  for (let number = 0; number < 10; number++) sent.push(number * MS, 100, true, []);
  sent.acknowledge([[4, 9]]);
  expect(sent.detectLost(30 * MS, rtt).map(({ number }) => number)).toEqual([0, 1, 2, 3]);
  expect(sent.findMissed(40 * MS, [[2, 9]])).toBe(200);
  expect(sent.findMissed(40 * MS, [[2, 9]])).toBe(0);
  for (let number = 10; number < 20; number++) sent.push((20 + number) * MS, 100, true, []);
  sent.acknowledge([[14, 19]]);
  expect(sent.detectLost(50 * MS, rtt)).toEqual([]);
  expect(sent.lossAtUs(rtt)).toBe(75 * MS);
  expect(sent.detectLost(75 * MS, rtt).map(({ number }) => number)).toEqual([10]);
});
