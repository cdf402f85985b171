/** Misuse is reported at the call, by a NowcastError that names the accepted values. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CommandMessage } from "../../src/channel/message.js";
import { type Channel, connect, NowcastError } from "../../src/index.js";
import { type Listener, listen } from "../../src/node/index.js";

let listener: Listener;
let ours: Channel;
let theirs: Channel;
beforeAll(async () => {
  listener = await listen({ port: 0 });
  const service = listener.advertise("tracker");
  const url = `nowcast://127.0.0.1:${listener.port}/tracker`;
  [ours, theirs] = (await Promise.all([connect(url), service.accept()])) as [Channel, Channel];
});
afterAll(() => listener.close());

function misuse(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    expect(error).toBeInstanceOf(NowcastError);
    expect(error).toMatchObject({ fault: "misuse" });
    return (error as Error).message;
  }
  throw new Error("nothing was refused");
}

async function misuseLater(promise: Promise<unknown>): Promise<string> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return misuse(() => {
    throw error;
  });
}

const wrong: readonly (readonly [string, unknown, RegExp])[] = [
  ["text", "hello", /not a string: encode text by new TextEncoder/],
  ["an object", { a: 1 }, /not an Object: encode it by a codec/],
  ["a number", 5, /not a number/],
  ["nothing", undefined, /not undefined/],
  ["an array", [1, 2], /not an Array/],
  ["other views", new Float32Array(2), /not a Float32Array: view its bytes by new Uint8Array\(value.buffer/],
  ["bare memory", new ArrayBuffer(4), /not an ArrayBuffer: view its bytes by new Uint8Array\(value\)/],
];

describe.each(wrong)("%s instead of bytes", (_, value, words) => {
  it("is refused by every verb, and nothing is sent", async () => {
    const { bytesSent } = ours.status;
    const command: CommandMessage = { type: "command", lane: 0, id: 0, value: new Uint8Array(0) };
    expect(misuse(() => ours.event(value as never))).toMatch(words);
    expect(misuse(() => ours.state(1, value as never))).toMatch(words);
    expect(misuse(() => ours.reply(command, value as never))).toMatch(words);
    expect(await misuseLater(ours.command(value as never))).toMatch(words);
    expect(ours.status.bytesSent - bytesSent).toBeLessThan(100);
    expect(theirs.tryReceive()).toBeUndefined();
  });
});

it("takes a Buffer, and copies it", async () => {
  const buffer = Buffer.from("hello");
  ours.event(buffer);
  buffer.fill(0);
  const message = await theirs.receive();
  expect(Buffer.from(message!.value).toString()).toBe("hello");
});

it.each([0, -1, 1.5, Number.NaN, 2 ** 53, 0n, 2n ** 64n, "key", undefined])("refuses the key %s", (key) => {
  expect(misuse(() => ours.state(key as never, new Uint8Array(1)))).toMatch(
    /^a state's key is a whole number from 1/,
  );
});

it("refuses lanes that there are not, and names those that there are", async () => {
  for (const lane of [-1, 0.5, Number.NaN, "0", undefined]) {
    expect(misuse(() => ours.lane(lane as never))).toMatch(/^a lane is a whole number from 0 on/);
  }
  expect(misuse(() => ours.lane(8).event(new Uint8Array(1)))).toBe("the peer has no lane 8: it has 0 to 7");
  expect(misuse(() => ours.replicate(0.5, undefined))).toMatch(/no lane 0.5/);
  expect(await misuseLater(ours.lane(9).command(new Uint8Array(1)))).toMatch(/no lane 9/);
});

it("refuses times that are none, a value beyond the peer's bound, and an answer to nothing", async () => {
  expect(await misuseLater(ours.command(new Uint8Array(1), { deadlineMs: -1 }))).toMatch(/^deadlineMs is/);
  expect(misuse(() => ours.event(new Uint8Array(1_000_000)))).toMatch(/message_bytes_max/);
  expect(misuse(() => ours.reply({ type: "event" } as never, new Uint8Array(1)))).toMatch(/^reply answers/);
  expect(misuse(() => ours.reply(undefined as never, new Uint8Array(1)))).toMatch(/^reply answers/);
  expect(misuse(() => ours.on("message", undefined as never))).toMatch(/is a function, not undefined/);
});

it("rejects invalid options before it sends a request", async () => {
  const url = "nowcast://127.0.0.1:1/tracker";
  expect(await misuseLater(connect(url, { carriers: ["pigeon" as never] }))).toMatch(/"pigeon" is neither/);
  const limits = { lanesMax: 99 } as never;
  expect(await misuseLater(connect(url, { session: { limits } }))).toMatch(/lanesMax is 99/);
  expect(await misuseLater(listen({ port: 0, session: { limits } }))).toMatch(/lanesMax is 99/);
  expect(await misuseLater(listen({ port: 70_000 }))).toMatch(/port is 70000/);
  expect(await misuseLater(listen({ port: listener.port }))).toMatch(
    /cannot listen on 127.0.0.1.*port 0 lets/,
  );
  const tokenKey = { algorithm: "HS256", secret: new Uint8Array(3) } as const;
  expect(await misuseLater(listen({ port: 0, tokenKey }))).toMatch(/a secret for tokens has 32/);
});
