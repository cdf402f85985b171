/** Lanes with readers of their own. */
import { afterEach, expect, it } from "vitest";
import type { LaneMessage } from "../../src/channel/message.js";
import type { Typed } from "../../src/channel/typed-lane.js";
import { createCodec, types } from "../../src/codec/index.js";
import { type Channel, connect } from "../../src/index.js";
import { type ListenOptions, listen } from "../../src/node/index.js";
import { DEFAULT_LIMITS } from "../../src/session/limits.js";

const closing: { close(): unknown }[] = [];
afterEach(async () => {
  for (const thing of closing.splice(0).reverse()) await thing.close();
});

async function pair(session: ListenOptions["session"] = {}): Promise<[Channel, Channel]> {
  const listener = await listen({ port: 0, session });
  closing.push(listener);
  const service = listener.advertise("tracker");
  const [ours, theirs] = await Promise.all([
    connect(`nowcast://127.0.0.1:${listener.port}/tracker`, { session }),
    service.accept(),
  ]);
  closing.push(ours);
  return [ours, theirs!];
}

const poseCodec = createCodec(types.struct("Pose", { x: types.f32 }));
const questionCodec = createCodec(types.struct("Question", { of: types.u32 }));
const answerCodec = createCodec(types.struct("Answer", { text: types.text }));

it("a typed lane iterates over its own messages, and the channel receives the others", async () => {
  const [ours, theirs] = await pair();
  const [sends, others] = [ours.lane(1, poseCodec), ours.lane(2)];
  const lane = theirs.lane(1, poseCodec);
  const iteration = lane[Symbol.asyncIterator]();
  const first = iteration.next();
  const other = theirs.receive();
  others.event(Uint8Array.of(7));
  sends.state(1, { x: 1.5 });
  sends.event({ x: 2 });
  expect(await other).toEqual({ type: "event", lane: 2, value: Uint8Array.of(7) });
  expect((await first).value).toMatchObject({ type: "state", key: 1, value: { x: 1.5 } });
  expect((await iteration.next()).value).toEqual({ type: "event", lane: 1, value: { x: 2 } });
  // Without the iteration, the lane's messages belong to the channel's receivers again.
  await iteration.return();
  sends.event({ x: 3 });
  expect(lane.read((await theirs.receive())!)?.value).toEqual({ x: 3 });
  sends.event({ x: 4 });
  expect((await lane.receive())?.value).toEqual({ x: 4 });
});

it("a lane that nobody reads keeps the newest states and all events, and stops the peer", async () => {
  const limits = { ...DEFAULT_LIMITS, windowBytes: 65_536, messageBytesMax: 16_384 };
  const [ours, theirs] = await pair({ limits, entriesMax: 64 });
  const lane = ours.lane(1);
  const iteration = theirs.lane(1)[Symbol.asyncIterator]();
  const begun = iteration.next();
  lane.event(Uint8Array.of(0));
  await begun;
  let events = 0;
  for (;;) {
    for (let key = 1; key <= 3; key++) lane.state(key, Uint8Array.of(events % 256, key));
    if (lane.event(Uint8Array.of(events % 256, (events >> 8) % 256)) === false) break;
    events += 1;
    if (events % 32 === 0) await new Promise((resolve) => setTimeout(resolve));
  }
  let read = 0;
  while (read < events) {
    const message = (await iteration.next()).value as LaneMessage;
    if (message.type !== "event") continue;
    expect(message.value).toEqual(Uint8Array.of(read % 256, (read >> 8) % 256));
    read += 1;
  }
  expect(lane.event(Uint8Array.of(1))).not.toBe(false);
});

it("commands and replies have types of their own, also while only that lane is read", async () => {
  const [ours, theirs] = await pair();
  const asks = ours.lane(3, questionCodec, answerCodec);
  const answers = theirs.lane(3, questionCodec, answerCodec);
  const serving = (async () => {
    for await (const message of answers) {
      if (message.type === "command") answers.reply(message, { text: `of ${message.value.of}` });
    }
  })();
  // The reader of another lane does not keep the replies from the caller.
  const reader: Promise<Typed<{ x: number }> | undefined> = ours.lane(1, poseCodec).receive();
  const answer: { readonly text: string } = await asks.command({ of: 7 });
  expect(answer).toEqual({ text: "of 7" });
  theirs.close();
  expect(await reader).toBeUndefined();
  await serving.catch(() => {});
});

it("an iteration ends when the peer closes the channel, and throws when the channel fails", async () => {
  const [ours, theirs] = await pair();
  const read = async (channel: Channel): Promise<number> => {
    let count = 0;
    for await (const message of channel.lane(1)) count += message.value.length;
    return count;
  };
  const ends = read(ours);
  theirs.lane(1).event(Uint8Array.of(1, 2));
  await theirs.drained();
  theirs.close();
  expect(await ends).toBe(2);
  const [mine, others] = await pair();
  const fails = read(mine);
  others.close(2, "broken");
  await expect(fails).rejects.toMatchObject({ name: "NowcastError" });
});

it("iterations end when the listener of their program closes", async () => {
  const listener = await listen({ port: 0 });
  const service = listener.advertise("tracker");
  const [ours, theirs] = await Promise.all([
    connect(`nowcast://127.0.0.1:${listener.port}/tracker`),
    service.accept(),
  ]);
  closing.push(ours);
  const read = (async () => {
    const messages: unknown[] = [];
    for await (const message of theirs!.lane(1)) messages.push(message);
    return messages;
  })();
  ours.lane(1).event(Uint8Array.of(7));
  await ours.drained();
  await listener.close();
  expect(await read).toEqual([{ type: "event", lane: 1, value: Uint8Array.of(7) }]);
});
