/**
 * Two programs that were built at different times have different versions of a type.
 * `crates/nowcast/tests/typed.rs` is the same test in Rust.
 */
import { afterEach, expect, it } from "vitest";
import { asEvent, Schemas } from "../../src/channel/schemas.js";
import { createCodec, types } from "../../src/codec/index.js";
import { type Channel, connect } from "../../src/index.js";
import { listen } from "../../src/node/index.js";

const closing: { close(): unknown }[] = [];
afterEach(async () => {
  for (const thing of closing.splice(0).reverse()) await thing.close();
});

async function pair(): Promise<[Channel, Channel]> {
  const listener = await listen({ port: 0 });
  closing.push(listener);
  const service = listener.advertise("tracker");
  const [ours, theirs] = await Promise.all([
    connect(`nowcast://127.0.0.1:${listener.port}/tracker`),
    service.accept(),
  ]);
  closing.push(ours);
  return [ours, theirs!];
}

const MARK = Uint8Array.from("\0NCTYPED", (letter) => letter.charCodeAt(0));
const OLD = createCodec(types.struct("Pose", { x: types.f32, y: types.f32, battery: types.u8 }));
/** The fields are in another order; one is wider and one is new. */
const NEW = createCodec(
  types.struct("Pose", { y: types.f32, battery: types.u32, owner: types.text, x: types.f32 }),
);
const SENT = { x: 1.5, y: -2, battery: 80 };
const READ = { y: -2, battery: 80, owner: "", x: 1.5 };

it("matches fields by name, in states, events, commands and replies", async () => {
  const [ours, theirs] = await pair();
  const [sends, receives] = [ours.lane(1, OLD), theirs.lane(1, NEW)];
  sends.state(7, SENT);
  sends.event(SENT);
  expect(receives.read((await theirs.receive())!)).toMatchObject({ type: "state", key: 7, value: READ });
  expect(receives.read((await theirs.receive())!)).toMatchObject({ type: "event", value: READ });
  // A client need not receive messages, because a reply contains its announcement.
  theirs.on("message", (message) => {
    const asked = receives.read(message);
    if (asked?.type === "command") receives.reply(asked, { ...asked.value, owner: "Ada" });
  });
  expect(await sends.command(SENT)).toEqual(SENT);
  expect(await sends.command({ ...SENT, x: 3 })).toEqual({ ...SENT, x: 3 });
});

it("names the field that cannot be read, and reads the lane as another type all the same", async () => {
  const [ours, theirs] = await pair();
  ours.lane(OLD).event(SENT);
  const message = (await theirs.receive())!;
  const renamed = createCodec(types.struct("Pose", { x: types.text }));
  expect(() => theirs.lane(renamed).read(message)).toThrow("x: f32 cannot be read as text");
  expect(theirs.lane(NEW).read(message)?.value).toEqual(READ);
});

it("lets several types share a lane, where values replace each other as ever", async () => {
  const [ours, theirs] = await pair();
  const text = createCodec(types.text);
  ours.lane(1, OLD).event(SENT);
  ours.lane(1, text).event("both are known now");
  for (let round = 0; round < 100; round++) {
    ours.lane(1, text).state(1, `round ${round}`);
    ours.lane(1, OLD).state(2, SENT);
  }
  const next = async () => (await theirs.receive())!;
  expect(theirs.lane(1, NEW).read(await next())?.value).toEqual(READ);
  expect(theirs.lane(1, text).read(await next())?.value).toBe("both are known now");
  expect(theirs.lane(1, text).read(await next())?.value).toBe("round 99");
  expect(theirs.lane(1, NEW).read(await next())?.value).toEqual(READ);
});

it("delivers bytes that look like an announcement unchanged", async () => {
  const [ours, theirs] = await pair();
  for (const rest of [[], [0], [1], [1, ...MARK, 0], [0, 2, 1, 2]]) {
    const bytes = Uint8Array.of(...MARK, ...rest);
    ours.event(bytes);
    expect(await theirs.receive()).toEqual({ type: "event", lane: 0, value: bytes });
  }
});

it("writes the bytes of the specification", () => {
  const schema = createCodec(types.u16).schemaBytes;
  const puts: Uint8Array[] = [];
  const put = (event: Uint8Array) => puts.push(event) > 0;
  const schemas = new Schemas();
  expect(schemas.announce(3, schema, () => false)).toBeUndefined();
  expect(schemas.announce(3, schema, put)).toEqual(Uint8Array.of(2));
  expect(schemas.announce(3, schema, put)).toEqual(Uint8Array.of(2));
  expect(puts).toEqual([Uint8Array.of(...MARK, 0, 2, 2, 3, 0)]);
  expect(schemas.headOfReply(schema)).toEqual(Uint8Array.of(...MARK, 0, 2, 2, 3, 0, 2));
  expect(asEvent(MARK)).toEqual(Uint8Array.of(...MARK, 1, ...MARK));
});

it("limits a peer's announcements, and reports what was wrong", () => {
  const schemas = new Schemas();
  const announce = (...bytes: number[]) => schemas.takeIn(0, Uint8Array.of(...MARK, 0, ...bytes));
  const read = (...bytes: number[]) => schemas.split(Uint8Array.from(bytes), false);
  expect(announce(2, 0xff, 0xff, 0xff, 0xff, 0x0f)).toBeUndefined();
  expect(schemas.isTyped(0)).toBe(true);
  expect(() => read(2, 0, 0)).toThrow(
    "never announced; an announcement of the peer was invalid: a shape that is cut off",
  );
  for (let id = 2; id < 3_000; id++) announce((id % 128) + 128, Math.floor(id / 128), 2, 3, 0);
  expect(read(0x80, 0x02, 9, 0)).toEqual([Uint8Array.of(3, 0), Uint8Array.of(9, 0)]);
  expect(() => read(0x80, 0x17, 9, 0)).toThrow("never announced");
  for (const wrong of [[], [0], [1, 2, 3, 0], [0x80], [2, 2, 4, 0]])
    expect(announce(...wrong)).toBeUndefined();
  expect(read(2, 9, 0)[0]).toEqual(Uint8Array.of(3, 0));
  // Bytes after the mark are the application's.
  expect(new Schemas().takeIn(0, MARK)).toEqual(MARK);
});
