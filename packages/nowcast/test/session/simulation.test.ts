/**
 * Random lives of two sessions over links that lose, reorder and duplicate packets, checked against the laws.
 */
import { expect, it } from "vitest";
import { CARRIER_TRAITS, CloseCode, EventKind } from "../../src/session/index.js";
import { LawRecord } from "./laws.js";
import { createRandom, GOOD_LINK, Pair } from "./pair.js";

const LANES = 2;
const SEEDS = Number(process.env["NOWCAST_SESSION_SEEDS"] ?? 60);
if (!(SEEDS > 0)) throw new Error("NOWCAST_SESSION_SEEDS is a number greater than 0");
const MS = 1_000;

class Life {
  readonly random: () => number;
  readonly pair: Pair;
  /** The records, by the end that puts the messages and then by lane. */
  readonly records = [0, 1].map(() => Array.from({ length: LANES }, () => new LawRecord()));
  #stalledUntilUs = [0, 0];
  carriers = 0;

  constructor(seed: number) {
    this.random = createRandom(seed);
    const { datagrams, stream } = CARRIER_TRAITS;
    const carrier = [datagrams, datagrams, stream][this.below(3)]!;
    const limits = { lanesMax: 4, windowBytes: 65_536, messageBytesMax: 16_384, packetBytesMax: 1_200 };
    const times = { idleTimeoutMs: 10_000, resumeTimeoutMs: 60_000 };
    this.pair = new Pair(this.random, carrier, this.badLink(), { limits: { ...limits, ...times } });
  }

  below(end: number): number {
    return Math.floor(this.random() * end);
  }

  badLink() {
    const share = () => (this.random() < 0.5 ? 0 : this.random() * 0.15);
    const [loss, duplicate] = [share(), share()];
    return { delayUs: this.below(80) * MS, jitterUs: this.below(30) * MS, loss, duplicate };
  }

  live(steps: number): void {
    for (let step = 0; step < steps; step++) {
      this.#act();
      this.pair.runUntil(this.pair.nowUs + this.below(40) * MS);
      this.#read();
    }
    this.pair.link = { ...GOOD_LINK };
    this.#stalledUntilUs = [0, 0];
    const deadlineUs = this.pair.nowUs + 60_000 * MS;
    while (!this.pair.ends.every((end) => end.isOpen && end.isSettled) && this.pair.nowUs < deadlineUs) {
      this.pair.runUntil(this.pair.nowUs + 100 * MS);
      this.#read();
    }
    this.pair.runUntil(this.pair.nowUs + 200 * MS);
    this.#read();
    for (const lanes of this.records) for (const record of lanes) record.finish();
  }

  #act(): void {
    const end = this.below(2);
    const dice = this.random();
    if (dice < 0.9) for (let puts = this.below(8); puts > 0; puts--) this.#put(end);
    else if (dice < 0.94) this.#stalledUntilUs[end] = this.pair.nowUs + this.below(2_000) * MS;
    else if (dice < 0.97) this.pair.link = { ...GOOD_LINK, ...this.badLink(), isCut: this.random() < 0.2 };
    else if (this.pair.ends.every((session) => session.isOpen)) {
      this.pair.changeCarrier();
      this.carriers += 1;
    }
  }

  #put(end: number): void {
    const [lane, key] = [this.below(LANES), this.below(6)];
    const record = this.records[end]![lane]!;
    const payload = record.payload(this.random() < 0.05 ? this.below(12_000) : this.below(100));
    const session = this.pair.ends[end]!;
    const nowUs = this.pair.clock(end);
    const put =
      key === 0 ? session.putEvent(nowUs, lane, payload) : session.putState(nowUs, lane, key, payload);
    if (put !== "full" && put !== "too large") record.put(key);
    this.pair.touch(end);
  }

  #read(): void {
    for (const end of [0, 1]) {
      const session = this.pair.ends[end]!;
      const nowUs = this.pair.clock(end);
      for (let notice = session.pollNotice(); notice; notice = session.pollNotice()) {
        if (notice.type === "closed")
          throw new Error(`closed: ${notice.closed.code} ${notice.closed.reason}`);
        if (notice.type === "detached") this.pair.touch(end);
      }
      if (this.#stalledUntilUs[end]! > this.pair.nowUs) continue;
      for (let message = session.receive(nowUs); message; message = session.receive(nowUs)) {
        const key = message.type === "state" ? Number(message.key) : 0;
        this.records[1 - end]![message.lane]!.got(key, message.value);
      }
      this.pair.touch(end);
    }
    if (this.pair.ends.some((session) => session.isDetached)) this.pair.changeCarrier();
  }
}

it.each(Array.from({ length: SEEDS }, (_, seed) => seed))("obeys the laws with seed %i", (seed) => {
  const life = new Life(seed);
  life.live(250);
  expect(life.pair.packets).toBeGreaterThan(100);
});

function open(link = {}): Pair {
  const pair = new Pair(createRandom(1), CARRIER_TRAITS.datagrams, link);
  pair.runUntil(pair.nowUs + 200 * MS);
  return pair;
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

it("pairs a command with its reply, and gives up a command without an answer", () => {
  const pair = open();
  const [asking, answering] = pair.ends;
  while (asking.pollNotice()) {}
  const answered = asking.command(pair.clock(0), 0, bytes("where?"), 1_000 * MS);
  const ignored = asking.command(pair.clock(0), 0, bytes("why?"), 300 * MS);
  pair.touch(0);
  pair.runUntil(pair.nowUs + 100 * MS);
  const question = answering.receive(pair.clock(1));
  if (question?.type !== "event") throw new Error("a command is an event");
  expect(question.kind).toBe(EventKind.command);
  answering.reply(pair.clock(1), question.lane, question.number, bytes("here"));
  pair.touch(1);
  pair.runUntil(pair.nowUs + 100 * MS);
  expect(asking.receive(pair.clock(0))).toBeUndefined();
  pair.runUntil(pair.nowUs + 300 * MS);
  expect(asking.pollNotice()).toEqual({ type: "reply", lane: 0, command: answered, value: bytes("here") });
  expect(asking.pollNotice()).toEqual({ type: "command timed out", lane: 0, command: ignored });
});

it("withdraws a command after its deadline, and leaves no gap at the receiver", () => {
  const pair = open();
  pair.link.isCut = true;
  const command = pair.ends[0].command(pair.clock(0), 0, bytes("now or never"), 200 * MS);
  pair.touch(0);
  pair.runUntil(pair.nowUs + 500 * MS);
  pair.link.isCut = false;
  pair.ends[0].putEvent(pair.clock(0), 0, bytes("later"));
  pair.touch(0);
  pair.runUntil(pair.nowUs + 1_500 * MS);
  const notices = Array.from({ length: 3 }, () => pair.ends[0].pollNotice());
  expect(notices).toContainEqual({ type: "command timed out", lane: 0, command });
  expect(pair.ends[1].receive(pair.clock(1))?.value).toEqual(bytes("later"));
});

it("delivers each key once after an outage, and its newest value", () => {
  const pair = open();
  pair.link.isCut = true;
  for (let step = 0; step < 120; step++) {
    for (let key = 1; key <= 20; key++)
      pair.ends[0].putState(pair.clock(0), 0, key, bytes(`${key} at ${step}`));
    pair.touch(0);
    pair.runUntil(pair.nowUs + 16 * MS);
  }
  while (pair.ends[1].receive(pair.clock(1))) {}
  pair.link.isCut = false;
  pair.runUntil(pair.nowUs + 150 * MS);
  const seen = new Map<number, string[]>();
  for (let got = pair.ends[1].receive(pair.clock(1)); got; got = pair.ends[1].receive(pair.clock(1))) {
    if (got.type !== "state") throw new Error("only states were put");
    const key = Number(got.key);
    seen.set(key, [...(seen.get(key) ?? []), new TextDecoder().decode(got.value)]);
  }
  for (let key = 1; key <= 20; key++) expect(seen.get(key)).toEqual([`${key} at 119`]);
});

it("closes on protocol violations", () => {
  const pair = open();
  pair.ends[1].handlePacket(pair.clock(1), Uint8Array.of(0x00, 1, 0, 0, 0, 0, 0x7f));
  let closed: unknown;
  for (let notice = pair.ends[1].pollNotice(); notice; notice = pair.ends[1].pollNotice()) closed = notice;
  expect(closed).toMatchObject({ type: "closed", closed: { code: CloseCode.malformed, by: "us" } });
});

it("reads changed packets, or closes with the code of the rule that they break", () => {
  let [received, open] = [0, 0];
  const codes = new Map<number, number>();
  for (let seed = 0; seed < 100; seed++) {
    const pair = new Pair(createRandom(seed), CARRIER_TRAITS.datagrams);
    pair.runUntil(pair.nowUs + 200 * MS);
    pair.link.corrupt = 0.05;
    for (let put = 0; put < 30; put++) {
      for (const end of [0, 1]) {
        pair.ends[end]!.putState(pair.clock(end), 0, 1 + (put % 5), bytes(`value ${put}`));
        if (put % 3 === 0) pair.ends[end]!.putEvent(pair.clock(end), put % 4, bytes(`event ${put}`));
        pair.touch(end);
      }
      pair.runUntil(pair.nowUs + 20 * MS);
    }
    for (const end of pair.ends) {
      received += end.stats.packetsReceived;
      if (end.isOpen) open += 1;
      for (let notice = end.pollNotice(); notice; notice = end.pollNotice()) {
        if (notice.type !== "closed" || notice.closed.by !== "us") continue;
        const { code } = notice.closed;
        codes.set(code, (codes.get(code) ?? 0) + 1);
      }
    }
  }
  expect(received).toBeGreaterThan(5_000);
  expect(open).toBeGreaterThan(10);
  const { malformed, limitExceeded, violation } = CloseCode;
  for (const code of codes.keys()) expect([malformed, limitExceeded, violation]).toContain(code);
  expect(codes.get(malformed)).toBeGreaterThan(20);
  expect(codes.get(violation)).toBeGreaterThan(0);
});

it("never answers an unknown sender with more bytes than it received", () => {
  const pair = new Pair(createRandom(3), CARRIER_TRAITS.datagrams);
  const hello = pair.ends[0].pollPacket(pair.clock(0))!;
  pair.ends[1].handlePacket(pair.clock(1), hello);
  const welcome = pair.ends[1].pollPacket(pair.clock(1))!;
  expect(welcome.length).toBeLessThanOrEqual(hello.length);
  expect(pair.ends[1].pollPacket(pair.clock(1))).toBeUndefined();
});

it("lets a source fill packets, and reports the outcome of each", () => {
  const pair = open({ loss: 0.2 });
  const settled = new Map<number, boolean>();
  const filled: number[] = [];
  let left = 200;
  const source = {
    get hasMore() {
      return left > 0;
    },
    fill(packet: number, bytesMax: number) {
      expect(bytesMax).toBeGreaterThan(100);
      left -= 1;
      filled.push(packet);
      return bytes(`in ${packet}`);
    },
    settled(packet: number, arrived: boolean) {
      expect(settled.has(packet)).toBe(false);
      settled.set(packet, arrived);
    },
  };
  pair.ends[0].replicate(1, source);
  const got: number[] = [];
  pair.touch(0);
  for (let step = 0; step < 300; step++) {
    pair.runUntil(pair.nowUs + 10 * MS);
    for (let next = pair.ends[1].replication.take(); next; next = pair.ends[1].replication.take()) {
      expect(next.lane).toBe(1);
      expect(new TextDecoder().decode(next.payload)).toBe(`in ${next.packet}`);
      got.push(next.packet);
    }
  }
  expect(filled.length).toBe(200);
  expect([...settled.keys()].sort((a, b) => a - b)).toEqual(filled);
  for (const [packet, arrived] of settled) if (arrived) expect(got).toContain(packet);
  expect([...settled.values()].filter((arrived) => !arrived).length).toBeGreaterThan(10);
  expect(pair.ends[0].gauges.loss).toBeGreaterThan(0.05);
});

it("payload_of_a_source_keeps_the_time_at_which_its_packet_arrived", () => {
  const pair = open();
  pair.ends[0].replicate(1, { hasMore: true, fill: () => bytes("payload"), settled: () => {} });
  const packet = pair.ends[0].pollPacket(pair.nowUs + pair.offsetsUs[0]!)!;
  const readAtUs = pair.nowUs + pair.offsetsUs[1]! + 500 * MS;
  // The page was busy for 400 ms between the arrival of the packet and this call.
  pair.ends[1].handlePacket(readAtUs, packet, readAtUs - 400 * MS);
  expect(pair.ends[1].replication.take()?.arrivedAtUs).toBe(readAtUs - 400 * MS);
});

it("reports how long a peer that owes an answer has been silent", () => {
  const pair = open();
  pair.runUntil(pair.nowUs + 1_000 * MS);
  expect(pair.ends[0].silentForUs(pair.clock(0))).toBe(0);
  pair.link.isCut = true;
  pair.ends[0].ping();
  pair.touch(0);
  pair.runUntil(pair.nowUs + 500 * MS);
  expect(pair.ends[0].silentForUs(pair.clock(0))).toBe(500 * MS);
  pair.link.isCut = false;
  pair.runUntil(pair.nowUs + 1_000 * MS);
  expect(pair.ends[0].silentForUs(pair.clock(0))).toBe(0);
});
