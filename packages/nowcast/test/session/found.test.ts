/** Faults found by random lives, as the shortest lives that reproduce them with any link timing. */
import { expect, it } from "vitest";
import { CARRIER_TRAITS, type CarrierTraits } from "../../src/session/index.js";
import { LawRecord } from "./laws.js";
import { createRandom, Pair } from "./pair.js";

const MS = 1_000;
const LANE = 1;
const limits = { lanesMax: 4, windowBytes: 65_536, messageBytesMax: 16_384, packetBytesMax: 1_200 };
const times = { idleTimeoutMs: 10_000, resumeTimeoutMs: 60_000 };

class Teller {
  readonly pair: Pair;
  readonly record = new LawRecord();

  constructor(carrier: CarrierTraits) {
    this.pair = new Pair(createRandom(1), carrier, {}, { limits: { ...limits, ...times } });
    this.run(500);
  }

  run(millis: number): void {
    this.pair.runUntil(this.pair.nowUs + millis * MS);
  }

  put(key: number, bytes: number): void {
    const put = this.pair.ends[0].putState(this.pair.clock(0), LANE, key, this.record.payload(bytes));
    expect(put).not.toBe("full");
    this.record.put(key);
  }

  leave(millis: number): void {
    this.pair.touch(0);
    this.run(millis);
  }

  /** The keys that the other end reads at once. */
  read(): number[] {
    const keys: number[] = [];
    const reader = this.pair.ends[1];
    for (let got = reader.receive(this.pair.clock(1)); got; got = reader.receive(this.pair.clock(1))) {
      if (got.type !== "state") throw new Error("only states were put");
      this.record.got(Number(got.key), got.value);
      keys.push(Number(got.key));
    }
    this.pair.touch(1);
    return keys;
  }
}

for (const carrier of [CARRIER_TRAITS.datagrams, CARRIER_TRAITS.stream]) {
  const kind = carrier.isReliable ? "a stream" : "datagrams";

  it(`shows a stalled reader one value of a key despite barriers, over ${kind}`, () => {
    const teller = new Teller(carrier);
    for (let key = 1; key <= 5; key++) teller.put(key, 7_000);
    teller.leave(1_000);
    teller.put(1, 80);
    teller.put(2, 80);
    teller.leave(1_000);
    expect(teller.read()).toEqual([1, 2, 3, 4, 5]);
    teller.run(3_000);
    teller.record.finish();
    expect(teller.pair.ends[0].isSettled).toBe(true);
  });

  it(`sends a lost value again if its successor needs a barrier, over ${kind}`, () => {
    const teller = new Teller(carrier);
    for (let key = 2; key <= 4; key++) teller.put(key, 8_000);
    teller.leave(1_000);
    teller.put(1, 90);
    teller.leave(1);
    teller.put(1, 9_000);
    teller.pair.changeCarrier();
    teller.run(5_000);
    expect(teller.read().sort()).toEqual([1, 2, 3, 4]);
    teller.run(3_000);
    teller.record.finish();
    expect(teller.pair.ends[0].isSettled).toBe(true);
  });
}
