/** A session at its bounds, and with packets that should not have arrived. */
import { describe, expect, it } from "vitest";
import {
  CARRIER_TRAITS,
  CloseCode,
  DEFAULT_LIMITS,
  type Limits,
  type Notice,
  Session,
} from "../../src/session/index.js";
import { type Packet, readPacket, type Ticket, writePacket } from "../../src/session/packet/packets.js";
import { PacketWriter } from "../../src/session/packet/writer.js";
import { createRandom, Pair } from "./pair.js";

const MS = 1_000;
const { datagrams, stream } = CARRIER_TRAITS;
/** As in `spec/SESSION.md`, section 7. */
const PAYLOADS_UNREAD_MAX = 64;

function open(carrier: (typeof CARRIER_TRAITS)[keyof typeof CARRIER_TRAITS]): Pair {
  const pair = new Pair(createRandom(1), carrier, {}, { bytesPerSecondMax: 20_000 });
  run(pair, 500);
  return pair;
}

function run(pair: Pair, millis: number): void {
  pair.runUntil(pair.nowUs + millis * MS);
}

function notices(session: Session): Notice[] {
  const all: Notice[] = [];
  for (let notice = session.pollNotice(); notice; notice = session.pollNotice()) all.push(notice);
  return all;
}

function written(packet: Packet): Uint8Array {
  const writer = new PacketWriter(1_024);
  writePacket(writer, packet);
  return writer.finish();
}

function hello(limits: Limits, resume?: Ticket): Uint8Array {
  const nonce = new Uint8Array(8).fill(5);
  return written({ type: "hello", versionMin: 1, versionMax: 1, nonce, clock: 1, limits, resume });
}

const text = (text: string): Uint8Array => new TextEncoder().encode(text);
const entropy = (byte: number): Uint8Array => new Uint8Array(48).fill(byte);

it.each([datagrams, stream])("delivers an event though payloads are not read, over %o", (carrier) => {
  const pair = open(carrier);
  const payload = Uint8Array.of(1, 2, 3);
  pair.ends[0].replicate(1, { hasMore: true, fill: () => payload, settled: () => {} });
  pair.touch(0);
  run(pair, 3_000);
  pair.ends[0].putEvent(pair.clock(0), 0, text("!"));
  pair.touch(0);
  run(pair, 500);
  expect(pair.ends[0].isSettled).toBe(true);
  expect(pair.ends[1].stats.dropped.unread).toBeGreaterThan(0);
  expect(pair.ends[1].receive(pair.clock(1))).toMatchObject({ type: "event", value: text("!") });
  const packets: number[] = [];
  for (let got = pair.ends[1].replication.take(); got; got = pair.ends[1].replication.take())
    packets.push(got.packet);
  expect(packets.length).toBe(PAYLOADS_UNREAD_MAX);
  expect(packets).toEqual([...packets].sort((a, b) => a - b));
  expect(packets[0]).toBeGreaterThan(PAYLOADS_UNREAD_MAX);
});

it.each([datagrams, stream])("drops and counts an empty packet, over %o", (carrier) => {
  const pair = open(carrier);
  for (const [index, end] of pair.ends.entries()) {
    end.handlePacket(pair.clock(index), new Uint8Array(0));
    expect(end.isOpen).toBe(true);
    expect(end.stats.dropped.empty).toBe(1);
  }
});

describe("packets that cannot be read before the proof", () => {
  const good = hello(DEFAULT_LIMITS);
  const data = Uint8Array.of(0, 0, 0, 0, 0, 0, 0x7f);
  const cases = [
    { packets: [hello({ ...DEFAULT_LIMITS, lanesMax: 0 })], nonce: 5, reason: "malformed lanes_max" },
    { packets: [text("GET / HTTP/1.1")], nonce: 0, reason: "malformed flags" },
    { packets: [good.subarray(0, 100)], nonce: 5, reason: "malformed padding" },
    { packets: [good, data], nonce: 5, reason: "malformed frame type" },
  ];

  function answer(
    carrier: (typeof CARRIER_TRAITS)[keyof typeof CARRIER_TRAITS],
    packets: readonly Uint8Array[],
  ) {
    const session = Session.accept(MS, carrier, entropy(1));
    let last: Uint8Array | undefined;
    for (const packet of packets) {
      session.handlePacket(MS, packet);
      last = session.pollPacket(MS);
    }
    return { session, packet: last && readPacket(last) };
  }

  it.each(cases)("is refused by its field over a stream: $reason", ({ packets, nonce, reason }) => {
    expect(answer(datagrams, packets).packet?.type).not.toBe("refuse");
    const { session, packet } = answer(stream, packets);
    if (packet?.type !== "refuse") throw new Error("a stream informs its peer");
    expect(packet.code).toBe(CloseCode.malformed);
    expect(packet.nonce).toEqual(new Uint8Array(8).fill(nonce));
    expect(packet.text).toBe(reason);
    expect(session.isClosed).toBe(true);
  });

  it.each([
    { isAnswered: false, nonce: 1 },
    { isAnswered: false, nonce: 0 },
    { isAnswered: true, nonce: 1 },
  ])("is sent to its initiator, answered: $isAnswered, nonce $nonce", ({ isAnswered, nonce }) => {
    const asking = Session.connect(MS, stream, entropy(1));
    const { packet } = answer(stream, [asking.pollPacket(MS)!]);
    if (isAnswered) asking.handlePacket(MS, written(packet!));
    const head = { versionMin: 1, versionMax: 1, text: "malformed proof" };
    const code = CloseCode.malformed;
    asking.handlePacket(MS, written({ type: "refuse", nonce: new Uint8Array(8).fill(nonce), code, ...head }));
    expect(notices(asking).at(-1)).toEqual({
      type: "closed",
      closed: { code, reason: "malformed proof", by: "peer" },
    });
  });
});

it.each([
  { change: { packetBytesMax: 1_200, idleTimeoutMs: 5_000, resumeTimeoutMs: 1_000 }, isAllowed: true },
  { change: { lanesMax: 7 }, isAllowed: false },
  { change: { windowBytes: 1_048_572, messageBytesMax: 262_143 }, isAllowed: false },
  { change: { messageBytesMax: 262_143 }, isAllowed: false },
])("lets limits shrink on resuming only where they belong to the carrier: $change", ({
  change,
  isAllowed,
}) => {
  const pair = open(stream);
  const session = pair.ends[1];
  const ticket = { ...session.ticket!, epoch: Number(session.ticket!.epoch) + 1 };
  session.attach(pair.clock(1), stream, entropy(9), "acceptor");
  session.handlePacket(pair.clock(1), hello({ ...DEFAULT_LIMITS, ...change }, ticket));
  const answer = readPacket(session.pollPacket(pair.clock(1))!);
  if (isAllowed) expect(answer.type).toBe("welcome");
  else {
    expect(answer).toMatchObject({ type: "refuse", code: CloseCode.violation });
    expect(session.isDetached).toBe(true);
    expect(session.checkResume(ticket)).toBeUndefined();
  }
});

it("gives up a peer without a proof, whose carrier ended, after the handshake time-out", () => {
  const session = Session.accept(MS, datagrams, entropy(1));
  session.handlePacket(MS, hello(DEFAULT_LIMITS));
  session.detach(MS);
  session.handleTimeout(10_000 * MS);
  expect(session.isClosed).toBe(false);
  session.handleTimeout(10_001 * MS);
  expect(session.isClosed).toBe(true);
});

it("drops the oldest of too many unread notices", () => {
  const pair = open(datagrams);
  pair.link.isCut = true;
  // Each command times out with a notice.
  for (let round = 0; round < 5; round++) {
    for (let put = 0; put < 1_000; put++) pair.ends[0].command(pair.clock(0), 0, text(""), MS);
    pair.touch(0);
    run(pair, 100);
  }
  // The first notice says that the session opened.
  expect(pair.ends[0].stats.dropped.notices).toBe(5_001 - 4_096);
  const all = notices(pair.ends[0]);
  expect(all.length).toBe(4_096);
  expect(all.at(-1)).toEqual({ type: "command timed out", lane: 0, command: 4_999 });
});

it("continues in parts with a message that was sent whole over a carrier with larger packets", () => {
  const limits = { ...DEFAULT_LIMITS, packetBytesMax: stream.packetBytesMax };
  const pair = new Pair(createRandom(1), stream, {}, { limits });
  run(pair, 500);
  const large = new Uint8Array(5_000).fill(7);
  pair.ends[0].putEvent(pair.clock(0), 0, large);
  pair.ends[0].putState(pair.clock(0), 0, 1, large);
  pair.touch(0);
  run(pair, 5);
  pair.changeCarrier(datagrams);
  pair.ends[0].putState(pair.clock(0), 0, 1, text("newer"));
  pair.touch(0);
  run(pair, 3_000);
  expect(pair.ends[1].receive(pair.clock(1))).toMatchObject({ type: "event", value: large });
  expect(pair.ends[1].receive(pair.clock(1))).toMatchObject({ type: "state", value: text("newer") });
  expect(pair.ends[0].isSettled).toBe(true);
});
