/** Waits that may never end: cancellation, the end of their source, and the platform's `using`. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ASYNC_DISPOSE } from "../../src/events/cancellable-waits.js";
import { type Channel, connect, NowcastError } from "../../src/index.js";
import { type Listener, listen, type Service } from "../../src/node/index.js";
import { waitFor } from "../wait-for.js";
import { SeveringProxy } from "./severing.js";

let listener: Listener;
let service: Service;
let url: string;
beforeEach(async () => {
  listener = await listen({ port: 0, session: {} });
  service = listener.advertise("tracker");
  url = `nowcast://127.0.0.1:${listener.port}/tracker`;
});
afterEach(() => listener.close());

async function pair(): Promise<[Channel, Channel]> {
  return (await Promise.all([connect(url), service.accept()])) as [Channel, Channel];
}

const byte = (value: number): Uint8Array => Uint8Array.of(value);

describe("a signal", () => {
  it("rejects all waits, now and later, and loses nothing", async () => {
    const [ours, theirs] = await pair();
    const reason = new Error("no longer wanted");
    for (const isLater of [true, false]) {
      const abort = new AbortController();
      const { signal } = abort;
      if (!isLater) abort.abort(reason);
      const waits = [
        ours.receive({ signal }),
        ours.once("status", { signal }),
        ours.command(byte(1), { signal }),
        service.accept({ signal }),
      ];
      if (isLater) abort.abort(reason);
      const outcomes = await Promise.allSettled(waits);
      expect(outcomes).toEqual(waits.map(() => ({ status: "rejected", reason })));
    }
    // A caller that cancelled its wait does not take a message or a channel from callers that still wait.
    const next = ours.receive();
    theirs.event(byte(7));
    expect((await next)!.value).toEqual(byte(7));
    const [other, accepted] = await pair();
    expect([other.status.phase, accepted.status.phase]).toEqual(["open", "open"]);
  });

  it("cancels the wait for all messages to arrive", async () => {
    const proxy = await SeveringProxy.before(listener.port);
    const channel = await connect(`nowcast://127.0.0.1:${proxy.port}/tracker`);
    proxy.stall(true);
    channel.event(byte(1));
    const drained = channel.drained({ signal: AbortSignal.timeout(20) });
    await expect(drained).rejects.toMatchObject({ name: "TimeoutError" });
    proxy.stall(false);
    await channel.drained();
    proxy.close();
  });

  it("ends a listener", async () => {
    const [ours, theirs] = await pair();
    const abort = new AbortController();
    const heard: number[] = [];
    ours.on("message", ({ value }) => heard.push(value[0]!), { signal: abort.signal });
    ours.on("message", () => heard.push(-1), { signal: AbortSignal.abort() });
    theirs.event(byte(1));
    await waitFor("the first", () => heard.length === 1);
    abort.abort();
    theirs.event(byte(2));
    expect((await ours.receive())!.value).toEqual(byte(2));
    expect(heard).toEqual([1]);
  });
});

describe("once", () => {
  it("is the next event, and is refused when the channel ends before", async () => {
    const [ours, theirs] = await pair();
    const first = ours.once("message");
    theirs.event(byte(1));
    theirs.event(byte(2));
    expect((await first).value).toEqual(byte(1));
    expect((await ours.receive())!.value).toEqual(byte(2));
    const [status, never] = [ours.once("status"), ours.once("message")];
    theirs.close(70, "enough");
    expect(await status).toMatchObject({ phase: "closed" });
    await expect(never).rejects.toThrow("enough");
    await expect(ours.once("message")).rejects.toBeInstanceOf(NowcastError);
  });
});

describe("iteration", () => {
  async function iterate(channel: Channel): Promise<number[]> {
    const seen: number[] = [];
    for await (const { value } of channel) seen.push(value[0]!);
    return seen;
  }

  it.each([0, 64, 70])("ends after all that had arrived when the peer closes with %i", async (code) => {
    const [ours, theirs] = await pair();
    const seen = iterate(ours);
    theirs.event(byte(1));
    await theirs.drained();
    theirs.close(code);
    expect(await seen).toEqual([1]);
  });

  it("throws when the endpoint goes away", async () => {
    const [ours] = await pair();
    const seen = iterate(ours);
    await Promise.all([expect(seen).rejects.toThrow("goingAway (10)"), listener.close()]);
  });

  it("throws when there is no answer any more", async () => {
    const proxy = await SeveringProxy.before(listener.port);
    const limits = { resumeTimeoutMs: 200, idleTimeoutMs: 200 };
    const channel = await connect(`nowcast://127.0.0.1:${proxy.port}/tracker`, {
      session: { limits: { ...LIMITS, ...limits } },
    });
    const seen = iterate(channel);
    proxy.close();
    await expect(seen).rejects.toMatchObject({ name: "NowcastError", fault: "network" });
  });
});

const LIMITS = {
  lanesMax: 8,
  windowBytes: 1_048_576,
  messageBytesMax: 262_144,
  packetBytesMax: 16_384,
  idleTimeoutMs: 10_000,
  resumeTimeoutMs: 60_000,
};

describe("await using", () => {
  it("closes a channel after all that was put has arrived, and an endpoint", async () => {
    const [ours, theirs] = await pair();
    for (let n = 0; n < 100; n++) ours.event(byte(n));
    await ours[ASYNC_DISPOSE]();
    expect(ours.status.closed).toMatchObject({ code: 0, by: "us" });
    await expect(ours.drained()).resolves.toBeUndefined();
    let received = 0;
    for await (const _ of theirs) received += 1;
    expect(received).toBe(100);
    // The channel is closed already, so there is nothing to wait for.
    await ours[ASYNC_DISPOSE]();
    const other = await listen({ port: 0 });
    await other[ASYNC_DISPOSE]();
    await expect(fetch(`http://127.0.0.1:${listener.port}/`)).resolves.toBeDefined();
  });
});
