/** Reliable carriers in competition with senders that fill the queue of the narrowest hop. */
import { expect, test } from "vitest";
import { SendRate } from "../../src/session/rate/rate.js";
import type { Arrived } from "../../src/session/rate/round.js";

const SECOND = 1e6;
const PACKET_BYTES = 1_200;
/** Maximum rate of the carrier, bytes a second. */
const CARRIER = 300_000;
const ONE_WAY_US = 25_000;

/**
 * Sends as much as allowed over a reliable carrier for 40 s. Others fill its queue from the third second until
 * `untilUs`. Returns the mean rate of the last ten seconds, in bytes a second.
 */
function sendBesideOthers(untilUs: number): number {
  const rate = new SendRate(Number.POSITIVE_INFINITY, 125_000);
  const underWay: Omit<Arrived, "nextNumber">[] = [];
  let [nowUs, number, newestUs, lateBytes] = [0, 0, 0, 0];
  while (nowUs < 40 * SECOND) {
    // Between 100 and 200 ms, varying like CUBIC's.
    const isShared = nowUs >= 2 * SECOND && nowUs < untilUs;
    const queueUs = isShared ? 100_000 + 0.05 * (nowUs % (2 * SECOND)) : 0;
    newestUs = Math.max(newestUs, nowUs + ONE_WAY_US + queueUs);
    number += 1;
    underWay.push({
      number,
      sentUs: nowUs,
      arrivedUs: newestUs,
      packetBytes: PACKET_BYTES,
      bytes: PACKET_BYTES,
      busyPeriod: 0,
      isReliable: true,
    });
    while (underWay[0] !== undefined && underWay[0].arrivedUs + ONE_WAY_US <= nowUs) {
      rate.holdBack();
      rate.acknowledged(nowUs, { ...underWay.shift()!, nextNumber: number + 1 });
    }
    if (nowUs >= 30 * SECOND) lateBytes += PACKET_BYTES;
    nowUs += (PACKET_BYTES / Math.min(rate.bytesPerSecond, CARRIER)) * SECOND;
  }
  return lateBytes / 10;
}

test("a reliable carrier gets its share in competition with others that fill the queue", () => {
  expect(sendBesideOthers(Number.POSITIVE_INFINITY)).toBeGreaterThan(0.8 * CARRIER);
});

test("it uses the whole link again when they are gone", () => {
  expect(sendBesideOthers(15 * SECOND)).toBeGreaterThan(0.95 * CARRIER);
});
