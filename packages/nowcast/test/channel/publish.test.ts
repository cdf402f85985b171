/** One publisher and several subscribers. */
import { afterEach, expect, it } from "vitest";
import { createCodec, types } from "../../src/codec/index.js";
import { type Channel, type ConnectOptions, connect } from "../../src/index.js";
import { type Listener, listen } from "../../src/node/index.js";
import { DEFAULT_LIMITS } from "../../src/session/limits.js";
import { waitFor } from "../wait-for.js";

const closing: { close(): unknown }[] = [];
afterEach(async () => {
  for (const thing of closing.splice(0).reverse()) await thing.close();
});

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

async function endpoint(session: Parameters<typeof listen>[0] = {}): Promise<Listener> {
  const listener = await listen({ port: 0, ...session });
  closing.push(listener);
  return listener;
}

async function subscribe({ port }: Listener, options: ConnectOptions = {}): Promise<Channel> {
  const channel = await connect(`nowcast://127.0.0.1:${port}/tracker`, options);
  closing.push(channel);
  return channel;
}

it("subscribers receive the newest values first, and then every event with the states before it", async () => {
  const listener = await endpoint();
  const publisher = listener.publish("tracker");
  publisher.state(1, bytes("looks left"));
  publisher.state(1, bytes("looks up"));
  publisher.event(bytes("nobody receives this event"));
  const channels = [await subscribe(listener), await subscribe(listener)];
  for (const channel of channels) {
    expect(await channel.receive()).toMatchObject({ type: "state", key: 1, value: bytes("looks up") });
  }
  publisher.state(2, bytes("stands"));
  publisher.event(bytes("presses the button"));
  for (const channel of channels) {
    expect(await channel.receive()).toMatchObject({ type: "state", key: 2, value: bytes("stands") });
    expect(await channel.receive()).toMatchObject({ type: "event", value: bytes("presses the button") });
  }
  channels[0]!.event(bytes("from a subscriber"));
  await waitFor("the ignored message", () => publisher.stats.ignored === 1);
  expect(publisher.stats).toEqual({ subscribers: 2, behind: 0, ignored: 1 });
});

it("values of a type reach subscribers that have another version of it", async () => {
  const listener = await endpoint();
  const publisher = listener.publish("tracker");
  const poses = publisher.typed(createCodec(types.struct("Pose", { x: types.f32, battery: types.u8 })));
  poses.state(7, { x: 1.5, battery: 80 });
  const channel = await subscribe(listener);
  const lane = channel.lane(
    0,
    createCodec(types.struct("Pose", { battery: types.u32, x: types.f32, owner: types.text })),
  );
  expect((await lane.receive())?.value).toEqual({ x: 1.5, battery: 80, owner: "" });
  poses.event({ x: 2, battery: 79 });
  expect((await lane.receive())?.value).toEqual({ x: 2, battery: 79, owner: "" });
});

it("a subscriber that receives too slowly is closed, and the others receive everything", async () => {
  const listener = await endpoint({ session: { entriesMax: 64 } });
  const publisher = listener.publish("tracker");
  const limits = { ...DEFAULT_LIMITS, windowBytes: 65_536, messageBytesMax: 16_384 };
  const [slow, fast] = [await subscribe(listener, { session: { limits } }), await subscribe(listener)];
  await waitFor("both subscribers", () => publisher.stats.subscribers === 2);
  let received = 0;
  const reading = (async () => {
    for await (const { value } of fast) {
      expect(value).toEqual(Uint8Array.of(received % 256));
      received += 1;
    }
  })();
  let sent = 0;
  await waitFor("the slow subscriber to be closed", () => {
    publisher.event(Uint8Array.of(sent % 256));
    sent += 1;
    for (let at = 0; at < 15 && received > sent - 30; at++) {
      publisher.event(Uint8Array.of(sent % 256));
      sent += 1;
    }
    return publisher.stats.behind === 1;
  });
  await publisher.close();
  await reading;
  expect(received).toBe(sent);
  await expect(
    (async () => {
      for await (const _ of slow);
    })(),
  ).rejects.toMatchObject({ code: "too_slow" });
});

it("a closed publisher releases its name, and its subscribers receive the last messages first", async () => {
  const listener = await endpoint();
  const publisher = listener.publish("tracker");
  const channel = await subscribe(listener);
  await waitFor("the subscriber", () => publisher.stats.subscribers === 1);
  publisher.event(bytes("the last"));
  const closed = publisher.close();
  const received: Uint8Array[] = [];
  for await (const { value } of channel) received.push(value);
  await closed;
  expect(received).toEqual([bytes("the last")]);
  expect(() => listener.publish("tracker")).not.toThrow();
});
