import { describe, expect, it } from "vitest";
import type { CarrierHandlers, OpenCarrier } from "../../src/carrier/carrier.js";
import { CLEAR_LINK, EmulatedLink, QUEUE_BYTES_MAX } from "../../src/impair/emulated-link.js";
import type { ImpairTiming } from "../../src/impair/impairment.js";
import { Impairment, LINK_PRESETS, type LinkConditions } from "../../src/impair/index.js";
import { createRandom } from "../../src/impair/random.js";
import { connect } from "../../src/index.js";
import { listen } from "../../src/node/index.js";

function linkOf(conditions: Partial<LinkConditions>, seed = 1): EmulatedLink {
  return new EmulatedLink({ ...CLEAR_LINK, ...conditions }, createRandom(seed));
}

/** Sends packets of 100 bytes every millisecond. Returns their arrivals. */
function arrivals(link: EmulatedLink, count: number): (number | undefined)[] {
  return Array.from({ length: count }, (_, index) => link.send(index, 100));
}

describe("an emulated link", () => {
  it("delays_packets_and_keeps_their_order_under_jitter", () => {
    const times = arrivals(linkOf({ delayMs: 50, jitterMs: 40 }), 2_000) as number[];
    expect(times.every((at, index) => at >= index + 50 && at < index + 90)).toBe(true);
    expect(times.every((at, index) => index === 0 || at >= times[index - 1]!)).toBe(true);
    expect(Math.max(...times.map((at, index) => at - index))).toBeGreaterThan(85);
  });

  it("loses_the_given_share_in_bursts_of_the_given_mean_length", () => {
    for (const burst of [1, 2, 8]) {
      const fates = arrivals(linkOf({ loss: 0.05, burst }), 200_000).map((at) => at === undefined);
      const lost = fates.filter(Boolean).length;
      const bursts = fates.filter((isLost, index) => isLost && !fates[index - 1]).length;
      expect(lost / fates.length).toBeCloseTo(0.05, 2);
      // Independent losses are sometimes neighbours.
      expect(lost / bursts).toBeCloseTo(burst === 1 ? 1 / 0.95 : burst, burst === 8 ? 0 : 1);
    }
  });

  it("a_seed_repeats_all_decisions", () => {
    const run = (seed: number) =>
      arrivals(linkOf({ delayMs: 5, jitterMs: 9, loss: 0.2, burst: 3 }, seed), 500);
    expect(run(7)).toEqual(run(7));
    expect(run(7)).not.toEqual(run(8));
  });

  it("a_narrow_link_queues_and_drops_beyond_its_limit", () => {
    const link = linkOf({ kilobitsPerSecond: 800 });
    // 100 bytes take a millisecond.
    expect([link.send(0, 100), link.send(0, 100), link.send(10, 100)]).toEqual([1, 2, 11]);
    expect(link.send(11, QUEUE_BYTES_MAX)).toBeDefined();
    expect(link.send(11, 100)).toBeUndefined();
    expect(link.lost).toBe(1);
  });

  it("an_outage_loses_all_packets_until_it_ends", () => {
    const link = linkOf({ outage: { everyMs: 100, lastsMs: 30 } });
    const lost = arrivals(link, 200).map((at) => at === undefined);
    expect(lost.slice(0, 70).some(Boolean)).toBe(false);
    expect(lost.slice(70, 100).every(Boolean)).toBe(true);
    expect(lost.slice(100, 170).some(Boolean)).toBe(false);
    link.interrupt(250);
    expect(link.send(220, 100)).toBeUndefined();
    expect(link.send(260, 100)).toBe(260);
  });

  it("a_stream_delivers_a_lost_packet_late_and_later_packets_wait", () => {
    const always = new EmulatedLink({ ...CLEAR_LINK, delayMs: 10, loss: 1 }, createRandom(1), {
      type: "stream",
      resendMs: 200,
    });
    expect(always.send(0, 100)).toBe(210);
    always.conditions = { ...CLEAR_LINK, delayMs: 10 };
    expect(always.send(1, 100)).toBe(210);
    expect(always.send(300, 100)).toBe(310);
  });

  it("refuses_conditions_that_no_link_has", () => {
    for (const wrong of [
      { loss: 2 },
      { delayMs: -1 },
      { burst: 0 },
      { kilobitsPerSecond: 0 },
      { jitterMs: Number.NaN },
    ]) {
      expect(() => linkOf(wrong)).toThrow(/conditions of a link are invalid/);
    }
    expect(() => linkOf({ outage: { everyMs: 5, lastsMs: 6 } })).toThrow(/shorter than its interval/);
  });
});

/** A clock that a test moves. */
class TestTiming implements ImpairTiming {
  #nowMs = 0;
  readonly #calls: { readonly atMs: number; readonly run: () => void }[] = [];
  nowMs(): number {
    return this.#nowMs;
  }
  at(atMs: number, run: () => void): void {
    this.#calls.push({ atMs, run });
    this.#calls.sort((a, b) => a.atMs - b.atMs);
  }
  runUntil(untilMs: number): void {
    while ((this.#calls[0]?.atMs ?? Number.POSITIVE_INFINITY) <= untilMs) {
      const { atMs, run } = this.#calls.shift()!;
      this.#nowMs = atMs;
      run();
    }
    this.#nowMs = untilMs;
  }
}

class TestCarrier implements OpenCarrier {
  readonly kind = "webtransport";
  readonly hasRoom = true;
  readonly sent: Uint8Array[] = [];
  closed: string | undefined;
  handlers: CarrierHandlers | undefined;
  begin(handlers: CarrierHandlers): void {
    this.handlers = handlers;
  }
  send(packet: Uint8Array): void {
    this.sent.push(packet);
  }
  close(_code: number, reason: string): void {
    this.closed = reason;
  }
}

describe("an impaired carrier", () => {
  it("delays_both_directions_by_their_own_conditions", () => {
    const timing = new TestTiming();
    const up = { ...CLEAR_LINK, delayMs: 30 };
    const impair = new Impairment({ conditions: { up, down: { ...CLEAR_LINK, delayMs: 70 } }, timing });
    const inner = new TestCarrier();
    const carrier = impair.wrap(inner);
    const received: number[] = [];
    carrier.begin({
      packet: (_, arrivedAtMs) => received.push(arrivedAtMs),
      room: () => undefined,
      ended: () => undefined,
    });
    const packet = Uint8Array.of(1);
    carrier.send(packet);
    packet[0] = 9;
    inner.handlers!.packet(Uint8Array.of(2), 0);
    timing.runUntil(29);
    expect(inner.sent).toEqual([]);
    timing.runUntil(30);
    expect(inner.sent).toEqual([Uint8Array.of(1)]);
    timing.runUntil(69);
    expect(received).toEqual([]);
    timing.runUntil(70);
    expect(received).toEqual([70]);
    expect(impair.figures.up).toEqual({ packets: 1, lost: 0, bytes: 1 });
  });

  it("changes_open_connections_and_delivers_nothing_after_its_end", () => {
    const timing = new TestTiming();
    const impair = new Impairment({ conditions: LINK_PRESETS.clear, timing });
    const inner = new TestCarrier();
    const carrier = impair.wrap(inner);
    impair.conditions = LINK_PRESETS.satellite;
    carrier.send(Uint8Array.of(1));
    timing.runUntil(280);
    expect(inner.sent).toEqual([]);
    carrier.close(1000, "done");
    timing.runUntil(1_000);
    expect(inner.sent).toEqual([]);
    expect(inner.closed).toBe("done");
    // The counts of ended connections stay.
    expect(impair.figures.up.packets).toBe(1);
  });

  it("ends_after_the_packets_that_arrived_before_the_end", () => {
    const timing = new TestTiming();
    const link = { ...CLEAR_LINK, delayMs: 10 };
    const inner = new TestCarrier();
    const carrier = new Impairment({ conditions: { up: link, down: link }, timing }).wrap(inner);
    const events: string[] = [];
    carrier.begin({
      packet: ([first]) => events.push(`packet ${first}`),
      room: () => undefined,
      ended: (reason) => events.push(reason),
    });
    carrier.send(Uint8Array.of(1));
    inner.handlers!.packet(Uint8Array.of(2), 0);
    inner.handlers!.ended("refused");
    timing.runUntil(100);
    expect([events, inner.sent]).toEqual([["packet 2", "refused"], []]);
  });

  it("a_channel_over_a_link_that_loses_a_third_delivers_every_event_in_order", async () => {
    const listener = await listen({ port: 0 });
    try {
      const service = listener.advertise("impaired");
      const link = { ...CLEAR_LINK, delayMs: 3, jitterMs: 4, loss: 0.33, burst: 2 };
      const impair = new Impairment({ conditions: { up: link, down: link } });
      const client = await connect(`nowcast://127.0.0.1:${listener.port}/impaired`, { impair });
      const channel = (await service.accept())!;
      for (let count = 0; count < 50; count += 1) await client.event(Uint8Array.of(count));
      const received: number[] = [];
      while (received.length < 50) received.push((await channel.receive())!.value[0]!);
      expect(received).toEqual(Array.from({ length: 50 }, (_, index) => index));
      expect(impair.figures.up.lost).toBeGreaterThan(0);
    } finally {
      await listener.close();
    }
  });
});
