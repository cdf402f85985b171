/** A link whose capacity changes, alone and with a competitor whose window reacts only to loss. */
import { expect, test } from "vitest";
import { SendRate } from "../../src/session/rate/rate.js";

const MS = 1e3;
const SECOND = 1e6;
const ONE_WAY_US = 25 * MS;
const STEP_US = 500;
const QUEUE_BYTES = 250_000;
const HIGH = 500_000;
const LOW = 125_000;

/** The capacity in bytes a second, which alternates between high and low every three seconds. */
function square(nowUs: number): number {
  return Math.floor(nowUs / (3 * SECOND)) % 2 === 0 ? HIGH : LOW;
}

/** The capacity in bytes a second, which rises for four seconds and then falls at once. */
function sawtooth(nowUs: number): number {
  return LOW + ((HIGH - LOW) * (nowUs % (4 * SECOND))) / (4 * SECOND);
}

interface Packet {
  readonly number: number;
  readonly bytes: number;
  readonly sentUs: number;
  /** The time at which its acknowledgement arrives. */
  readonly dueUs: number;
}

/** A narrow hop with a queue that drops packets that do not fit. */
class Hop {
  #freeAtUs = 0;

  constructor(readonly capacity: (nowUs: number) => number) {}

  queueUs(nowUs: number): number {
    return Math.max(0, this.#freeAtUs - nowUs);
  }

  /** The time at which the packet has passed the hop; `undefined` if it was dropped. */
  pass(nowUs: number, bytes: number): number | undefined {
    let waiting = 0;
    for (let at = nowUs; at < this.#freeAtUs; at += 10 * MS) waiting += this.capacity(at) / 100;
    if (waiting + bytes > QUEUE_BYTES) return undefined;
    const from = Math.max(nowUs, this.#freeAtUs);
    this.#freeAtUs = from + (bytes / this.capacity(from)) * SECOND;
    return this.#freeAtUs;
  }
}

/** A sender with endless data and the window of CUBIC. */
class Cubic {
  crossed = 0;
  #window = 15_000;
  #max = Number.POSITIVE_INFINITY;
  #reducedUs = 0;
  #flight = 0;
  readonly #underWay: Packet[] = [];

  constructor(readonly hop: Hop) {}

  step(nowUs: number): void {
    while (this.#underWay[0] !== undefined && this.#underWay[0].dueUs <= nowUs) {
      const { bytes, sentUs } = this.#underWay.shift()!;
      this.#flight -= bytes;
      this.crossed += bytes;
      this.#grow(nowUs, nowUs - sentUs);
    }
    while (this.#flight + 1_500 <= this.#window) {
      const passedUs = this.hop.pass(nowUs, 1_500);
      if (passedUs === undefined) {
        this.#reduce(nowUs);
        return;
      }
      this.#flight += 1_500;
      this.#underWay.push({ number: 0, bytes: 1_500, sentUs: nowUs, dueUs: passedUs + 2 * ONE_WAY_US });
    }
  }

  #grow(nowUs: number, roundTripUs: number): void {
    if (this.#max === Number.POSITIVE_INFINITY) {
      this.#window += 1_500;
      return;
    }
    const untilMax = Math.cbrt((0.3 * this.#max) / 1_500 / 0.4);
    const ahead = (nowUs - this.#reducedUs + roundTripUs) / SECOND - untilMax;
    const target = Math.min(1.5 * this.#window, this.#max + 0.4 * ahead ** 3 * 1_500);
    if (target > this.#window) this.#window += ((target - this.#window) * 1_500) / this.#window;
  }

  #reduce(nowUs: number): void {
    if (nowUs - this.#reducedUs < 500 * MS) return;
    this.#reducedUs = nowUs;
    this.#max = this.#window;
    this.#window *= 0.7;
  }
}

interface Outcome {
  /** The sender's share of the bytes that crossed the hop. */
  readonly share: number;
  /** Bytes that crossed the hop, as a share of its capacity. */
  readonly used: number;
  /** The longest queue; then the longest queue later than half a second after a fall of the capacity. */
  readonly queueUs: number;
  readonly lateQueueUs: number;
}

/** Sends as much as the rate allows. If there is a competitor, it begins before the sender. */
function send(capacity: (nowUs: number) => number, seconds: number, isShared: boolean): Outcome {
  const hop = new Hop(capacity);
  const cubic = isShared ? new Cubic(hop) : undefined;
  const rate = new SendRate(Number.POSITIVE_INFINITY);
  const underWay: Packet[] = [];
  const unacknowledged = new Map<number, number>();
  let [number, flight, crossed, possible, roundTripUs, queueUs, lateQueueUs] = [0, 0, 0, 0, 0, 0, 0];
  for (let nowUs = 0; nowUs < seconds * SECOND; nowUs += STEP_US) {
    cubic?.step(nowUs);
    while (underWay[0] !== undefined && underWay[0].dueUs <= nowUs) {
      const packet = underWay.shift()!;
      roundTripUs = nowUs - packet.sentUs;
      crossed += packet.bytes;
      flight -= packet.bytes;
      unacknowledged.delete(packet.number);
      rate.holdBack();
      rate.acknowledged(nowUs, {
        ...packet,
        nextNumber: number,
        arrivedUs: packet.dueUs - ONE_WAY_US,
        packetBytes: packet.bytes,
        busyPeriod: 0,
        isReliable: false,
      });
      for (const [lost, bytes] of unacknowledged) {
        if (lost > packet.number) break;
        unacknowledged.delete(lost);
        flight -= bytes;
        rate.lost(bytes);
      }
    }
    for (;;) {
      const flightMax = rate.flightBytesMax(2 * ONE_WAY_US, roundTripUs, false);
      if (nowUs < SECOND || rate.nextAtUs > nowUs || (flight >= flightMax && !rate.isDraining)) break;
      const bytes = Math.min(1_150, rate.packetBytes(false));
      const passedUs = hop.pass(nowUs, bytes);
      if (passedUs !== undefined) {
        underWay.push({ number, bytes, sentUs: nowUs, dueUs: passedUs + 2 * ONE_WAY_US });
      }
      unacknowledged.set(number, bytes);
      flight += bytes;
      number += 1;
      rate.spend(nowUs, bytes, undefined, flight < rate.flightBytesMax(2 * ONE_WAY_US, roundTripUs, false));
    }
    if (nowUs < 5 * SECOND) continue;
    possible += (capacity(nowUs) * STEP_US) / SECOND;
    queueUs = Math.max(queueUs, hop.queueUs(nowUs));
    const isLate = capacity(nowUs - 700 * MS) === capacity(nowUs);
    if (isLate) lateQueueUs = Math.max(lateQueueUs, hop.queueUs(nowUs));
  }
  const share = crossed / (crossed + (cubic?.crossed ?? 0));
  return { share, used: crossed / possible, queueUs, lateQueueUs };
}

test.each([
  ["falls and rises at once", square],
  ["rises slowly and falls at once", sawtooth],
])("beside CUBIC on a link whose capacity %s the sender has a fifth of it", (_, capacity) => {
  expect(send(capacity, 40, true).share).toBeGreaterThan(0.2);
});

test("a capacity that falls to a quarter is found soon, and most of the link is used", () => {
  const { used, queueUs, lateQueueUs } = send(square, 30, false);
  expect(used).toBeGreaterThan(0.8);
  expect(queueUs).toBeLessThan(400 * MS);
  expect(lateQueueUs).toBeLessThan(100 * MS);
});
