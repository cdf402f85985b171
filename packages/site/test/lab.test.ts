/** The playable lab: its links, its model of TCP, and the results that the page describes. */
import { describe, expect, it } from "vitest";
import { QUEUE_BYTES_MAX } from "../../nowcast/src/impair/emulated-link.js";
import { CubicWindow } from "../src/lab/cubic.js";
import { binOf, edgeMs, Histogram } from "../src/lab/histogram.js";
import { Lab, type LabSettings, USUAL } from "../src/lab/lab.js";
import { Link } from "../src/lab/link.js";
import type { LoadMessage } from "../src/lab/load.js";
import { TcpTransport } from "../src/lab/tcp.js";
import { Timeline } from "../src/lab/timeline.js";

const STILL: LabSettings = { ...USUAL, loss: 0, jitterMs: 0 };

function run(changes: Partial<LabSettings>, seconds = 6): Lab {
  const lab = new Lab(1, { ...STILL, ...changes });
  lab.advance(seconds * 1_000);
  return lab;
}

const ageP99 = (lab: Lab): readonly number[] =>
  lab.contestants.map(({ receiver }) => receiver.ages.quantileMs(0.99)!);

describe("a link", () => {
  it("delays_packets_by_half_of_the_round_trip_and_by_their_size", () => {
    const timeline = new Timeline();
    const link = new Link(timeline, { ...STILL, kilobitsPerSecond: 800 }, 1);
    const arrivals: number[] = [];
    for (let packet = 0; packet < 3; packet++) link.send(1_000, () => arrivals.push(timeline.nowUs));
    timeline.runUntil(1_000_000);
    expect(arrivals).toEqual([35_000, 45_000, 55_000]);
  });

  it("drops_packets_beyond_its_queue_and_loses_the_configured_share", () => {
    const timeline = new Timeline();
    const narrow = new Link(timeline, { ...STILL, kilobitsPerSecond: 300 }, 1);
    const sent = Array.from({ length: 100 }, () => narrow.send(1_200, () => {}));
    expect(sent.filter((arrives) => arrives).length).toBe(Math.floor(QUEUE_BYTES_MAX / 1_200));
    const lossy = new Link(timeline, { ...STILL, loss: 0.05 }, 2);
    const lost = Array.from({ length: 20_000 }, () => {
      timeline.runUntil(timeline.nowUs + 1_000);
      return lossy.send(100, () => {});
    }).filter((arrives) => !arrives);
    expect(lost.length / 20_000).toBeCloseTo(0.05, 2);
  });

  it("keeps_the_order_of_packets_when_delays_vary", () => {
    const timeline = new Timeline();
    const link = new Link(timeline, { ...STILL, jitterMs: 40 }, 3);
    const order: number[] = [];
    for (let packet = 0; packet < 200; packet++) link.send(100, () => order.push(packet));
    timeline.runUntil(1_000_000);
    expect(order).toEqual(Array.from({ length: 200 }, (_, packet) => packet));
  });
});

describe("the model of tcp", () => {
  it("delivers_every_message_once_and_in_order_over_lossy_links", () => {
    for (let seed = 1; seed <= 20; seed++) {
      const timeline = new Timeline();
      const settings = { ...STILL, loss: 0.15, jitterMs: 20 };
      const [forth, back] = [new Link(timeline, settings, seed), new Link(timeline, settings, seed + 100)];
      const got: number[] = [];
      const tcp = new TcpTransport(timeline, forth, back, (message) => got.push(message.putAtUs));
      for (let message = 0; message < 500; message++) {
        tcp.put([{ type: "event", putAtUs: message } satisfies LoadMessage]);
        timeline.runUntil(timeline.nowUs + 5_000);
      }
      timeline.runUntil(timeline.nowUs + 120_000_000);
      expect(`${seed}: ${got.length}`).toBe(`${seed}: 500`);
      expect(got).toEqual(Array.from({ length: 500 }, (_, message) => message));
    }
  });

  it("fills_a_link_without_loss", () => {
    const timeline = new Timeline();
    const settings = { ...STILL, kilobitsPerSecond: 4_000 };
    const [forth, back] = [new Link(timeline, settings, 1), new Link(timeline, settings, 2)];
    let delivered = 0;
    const tcp = new TcpTransport(timeline, forth, back, () => {
      delivered += 70;
    });
    tcp.put(Array.from({ length: 30_000 }, () => ({ type: "event", putAtUs: 0 }) as const));
    timeline.runUntil(3_000_000);
    expect((delivered * 8) / 3 / 1_000).toBeGreaterThan(0.8 * 4_000);
  });

  it("window_of_cubic_shrinks_to_seven_tenths_and_returns_to_its_peak", () => {
    const window = new CubicWindow();
    for (let trip = 0; trip < 4; trip++) window.acknowledged(trip * 50_000, window.segments, 50_000);
    expect(window.segments).toBe(160);
    window.reduce();
    expect(window.segments).toBeCloseTo(112);
    const k = Math.cbrt((160 * 0.3) / 0.4);
    for (let us = 0; us < k * 1e6; us += 50_000) window.acknowledged(us, window.segments, 50_000);
    expect(window.segments).toBeGreaterThan(150);
    expect(window.segments).toBeLessThan(175);
  });
});

describe("the lab", () => {
  it("same_seed_gives_the_same_figures", () => {
    expect(ageP99(run({ loss: 0.05 }, 3))).toEqual(ageP99(run({ loss: 0.05 }, 3)));
  });

  it("all_transports_are_as_fresh_on_a_good_link", () => {
    const [tcp, datagrams, queue] = ageP99(run({}));
    expect(tcp).toBe(datagrams);
    expect(queue).toBe(tcp);
  });

  it("only_tcp_is_delayed_and_only_datagrams_lose_events_when_packets_are_lost", () => {
    const lab = run({ loss: 0.05 });
    const [tcp, datagrams, queue] = ageP99(lab);
    expect(tcp).toBeGreaterThan(100);
    expect(queue).toBeLessThanOrEqual(datagrams! * 1.3);
    expect(lab.datagrams.transport.eventsLost).toBeGreaterThan(0);
    lab.settings = { ...STILL, loss: 0 };
    lab.advance(500);
    const missing = lab.eventsPut - lab.queue.receiver.eventsReceived;
    // The newest event may still be in transit.
    expect(missing).toBeLessThanOrEqual(1);
  });

  it("order_alone_delays_tcp_although_its_window_is_known", () => {
    for (const tcpReplaces of [false, true]) {
      const [tcp, , queue] = ageP99(run({ loss: 0.05, congestion: "known", tcpReplaces }));
      expect(tcp).toBeGreaterThan(queue! * 1.5);
    }
  });

  it("program_that_replaces_values_over_tcp_is_fresher_than_one_that_writes_all_but_not_as_fresh_as_the_queue", () => {
    const all = ageP99(run({ kilobitsPerSecond: 500 }, 20));
    const lab = run({ kilobitsPerSecond: 500, tcpReplaces: true }, 20);
    const [tcp, , queue] = ageP99(lab);
    expect(tcp).toBeLessThan(all[0]! / 4);
    expect(tcp).toBeGreaterThan(queue! * 1.5);
    lab.settings = { ...STILL, tcpReplaces: true };
    lab.advance(3_000);
    expect(lab.eventsPut - lab.tcp.receiver.eventsReceived).toBeLessThanOrEqual(2);
  });

  it("queue_stays_fresh_on_a_link_that_is_narrower_than_the_load", () => {
    const lab = run({ kilobitsPerSecond: 500 });
    const [tcp, datagrams, queue] = ageP99(lab);
    expect(queue).toBeLessThan(200);
    expect(datagrams).toBeGreaterThan(1_000);
    expect(tcp).toBeGreaterThan(1_000);
    expect(lab.tcp.transport.unsentBytes).toBeGreaterThan(50_000);
    expect(lab.queue.transport.superseded).toBeGreaterThan(1_000);
    expect(lab.eventsPut - lab.queue.receiver.eventsReceived).toBeLessThanOrEqual(2);
  });
});

describe("a histogram", () => {
  it("states_quantiles_by_the_upper_edge_of_a_bin", () => {
    const ages = new Histogram();
    expect(ages.quantileMs(0.5)).toBeUndefined();
    for (let count = 0; count < 99; count++) ages.add(30);
    ages.add(3_000);
    expect(ages.quantileMs(0.5)).toBe(edgeMs(binOf(30) + 1));
    expect(ages.quantileMs(1)).toBeGreaterThan(3_000);
    expect(edgeMs(binOf(40))).toBeLessThanOrEqual(40);
    for (let slice = 0; slice < 10; slice++) ages.turn();
    expect(ages.quantileMs(0.5)).toBeUndefined();
  });
});
