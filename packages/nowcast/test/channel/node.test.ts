import { createServer } from "node:http";
import { afterEach, expect, it, vi } from "vitest";
import { createCodec, types } from "../../src/codec/index.js";
import { type Channel, type ChannelMessage, connect } from "../../src/index.js";
import { type Listener, type ListenOptions, listen } from "../../src/node/index.js";
import { waitFor } from "../wait-for.js";

const closing: { close(): unknown }[] = [];
afterEach(async () => {
  for (const thing of closing.splice(0).reverse()) await thing.close();
});

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (value: Uint8Array): string => new TextDecoder().decode(value);

async function open(options: ListenOptions = {}): Promise<Listener> {
  const listener = await listen({ port: 0, ...options });
  closing.push(listener);
  return listener;
}

async function pair(options: ListenOptions = {}): Promise<[Channel, Channel, Listener]> {
  const listener = await open(options);
  const service = listener.advertise("tracker");
  const [ours, theirs] = await Promise.all([
    connect(`nowcast://127.0.0.1:${listener.port}/tracker`),
    service.accept(),
  ]);
  closing.push(ours);
  return [ours, theirs!, listener];
}

it("carries the four verbs between two programs", async () => {
  const [ours, theirs] = await pair();
  expect(ours.status).toMatchObject({ phase: "open", carrier: "websocket", isOpen: true });
  expect(theirs.entry).toMatchObject({ room: "tracker", address: "127.0.0.1" });
  ours.state(7, bytes("looks left"));
  ours.state(7, bytes("looks up"));
  ours.event(bytes("presses the button"));
  expect(await theirs.receive()).toMatchObject({ type: "state", key: 7, value: bytes("looks up") });
  expect(await theirs.receive()).toMatchObject({ type: "event", value: bytes("presses the button") });
  theirs.on("message", (message) => {
    if (message.type === "command") theirs.reply(message, bytes(`${text(message.value)}!`));
  });
  expect(text(await ours.command(bytes("hello")))).toBe("hello!");
  expect(text(await ours.lane(3).command(bytes("and on another lane")))).toBe("and on another lane!");
  await ours.drained();
  expect(ours.status.superseded).toBe(1);
  expect(ours.status.rttMs).toBeGreaterThan(0);
});

it("carries values instead of bytes on a lane with a codec", async () => {
  const [ours, theirs] = await pair();
  const pose = createCodec(types.struct("Pose", { x: types.f32, name: types.text }));
  const [sends, receives] = [ours.lane(3, pose), theirs.lane(3, pose)];
  sends.state(7, { x: 1.5, name: "Ada" });
  ours.event(bytes("of another lane"));
  const seen = [await theirs.receive(), await theirs.receive()].map((message) => receives.read(message!));
  expect(seen.filter((message) => message !== undefined)).toEqual([
    expect.objectContaining({ type: "state", lane: 3, key: 7, value: { x: 1.5, name: "Ada" } }),
  ]);
  theirs.on("message", (message) => {
    const asked = receives.read(message);
    if (asked?.type === "command") receives.reply(asked, { x: asked.value.x * 2, name: "Bob" });
  });
  expect(await sends.command({ x: 2, name: "" })).toEqual({ x: 4, name: "Bob" });
  expect(ours.lane(pose).lane.number).toBe(0);
});

it("ends iteration when the peer closes, after everything that had arrived", async () => {
  const [ours, theirs] = await pair();
  const seen: ChannelMessage[] = [];
  const reading = (async () => {
    for await (const message of theirs) seen.push(message);
  })();
  for (let n = 0; n < 100; n++) ours.event(bytes(`${n}`));
  await ours.drained();
  ours.close(70, "enough");
  await reading;
  expect(seen.map(({ value }) => text(value))).toEqual(Array.from({ length: 100 }, (_, n) => `${n}`));
  expect(theirs.status.closed).toEqual({ code: 70, reason: "enough", by: "peer" });
  expect(theirs.event(bytes("too late"))).toBe(false);
  await expect(theirs.command(bytes("anybody?"))).rejects.toThrow("closed");
});

it("gives the reason of its end to all later callers", async () => {
  const [ours, theirs] = await pair();
  ours.event(bytes("arrives"));
  await ours.drained();
  theirs.close(70, "enough");
  await waitFor("the close", () => ours.status.phase === "closed");
  // All messages had arrived before the close.
  await ours.drained();
  await expect(ours.command(bytes("anybody?"))).rejects.toThrow("code (70), enough");
  expect(await ours.receive()).toBeUndefined();

  // Messages put in the same moment as the close have not arrived.
  theirs.on("message", () => {});
  const [near] = await pair();
  near.event(bytes("does not arrive"));
  near.close();
  await expect(near.drained()).rejects.toThrow("the channel is closed");
  await expect(near.drained()).rejects.toMatchObject({ name: "NowcastError" });
});

it("gives up a command without an answer", async () => {
  const [ours] = await pair();
  await expect(ours.command(bytes("why?"), { deadlineMs: 100 })).rejects.toThrow("no reply");
});

it("reports a refusal in the endpoint's own text", async () => {
  const listener = await open();
  const url = `nowcast://127.0.0.1:${listener.port}/nobody`;
  await expect(connect(url)).rejects.toThrow(/HTTP 404.*no_such_name.*nothing is called "nobody" here/);
  expect(listener.stats.refusals).toEqual({ no_such_name: 1 });
  await listener.close();
  closing.length = 0;
  await expect(connect(url)).rejects.toThrow(/no program answers at http:\/\/127.0.0.1/);
  await expect(connect("nowcast://127.0.0.1/.hidden")).rejects.toThrow("is not an address");
});

it("names the flag that admits the origin of a page, because a browser hides this cause", async () => {
  const listener = await open();
  const url = `nowcast://127.0.0.1:${listener.port}/nobody`;
  await listener.close();
  closing.length = 0;
  vi.stubGlobal("location", { protocol: "http:", hostname: "localhost", origin: "http://localhost:5173" });
  try {
    await expect(connect(url)).rejects.toThrow(
      /check that it runs with `--allow-origin http:\/\/localhost:5173/,
    );
    await expect(connect(url)).rejects.toMatchObject({ code: "unreachable" });
  } finally {
    vi.unstubAllGlobals();
  }
});

it("shares a server with other services", async () => {
  const server = createServer((_, response) => response.end("a page"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const listener = await open({ server });
  const service = listener.advertise("tracker");
  const { port } = listener;
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe("a page");
  expect(await (await fetch(`http://127.0.0.1:${port}/nowcast/tracker`)).json()).toEqual({
    nowcast: 1,
    name: "tracker",
    websocket: true,
  });
  const channel = await connect(`http://127.0.0.1:${port}/nowcast/tracker`);
  closing.push(channel);
  await service.accept();
});

it("informs its sessions when the endpoint closes", async () => {
  const [ours, , listener] = await pair();
  await listener.close();
  await waitFor("the close", () => ours.status.phase === "closed");
  expect(ours.status.closed).toMatchObject({ code: 10, by: "peer" });
});
