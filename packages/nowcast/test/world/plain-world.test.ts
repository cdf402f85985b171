import { afterEach, describe, expect, it } from "vitest";
import { WebSocket as WsWebSocket } from "ws";
import { NowcastError } from "../../src/index.js";
import { backOffMs } from "../../src/world/back-off.js";
import { type EntityId, joinWorld, type World, type WorldEvents } from "../../src/world/index.js";
import { AVATAR, BLOCK, greetPlainly, ScriptedServer, WELCOME } from "../scripted-server.js";
import { waitFor } from "../wait-for.js";

const STILL = { forward: 0, right: 0, yaw: 0, run: false, jump: false };
const block = 7 as EntityId;

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function serve(greet?: Parameters<typeof ScriptedServer.start>[0]): Promise<ScriptedServer> {
  const server = await ScriptedServer.start(greet);
  cleanups.push(() => server.stop());
  return server;
}

function join(server: ScriptedServer, options?: Parameters<typeof joinWorld>[1]): World {
  const world = joinWorld(server.url, { encoding: "json", ...options });
  cleanups.push(() => world.close());
  return world;
}

function collect<K extends keyof WorldEvents>(world: World, type: K): WorldEvents[K][] {
  const events: WorldEvents[K][] = [];
  world.on(type, (event) => events.push(event));
  return events;
}

describe("joining", () => {
  it("asks for the room with name, encoding and rate", async () => {
    const server = await serve();
    const world = join(server, { name: "Ada & Co", encoding: "custom", networkHz: 20 });
    await waitFor("the welcome", () => world.status === "open");
    expect(server.requests).toEqual(["/ws/test?encoding=custom&name=Ada+%26+Co&hz=20"]);
    expect(world.avatarId).toBe(301);
  });

  it("takes the address of the page as well, and refuses one that names no room", () => {
    const world = joinWorld("http://127.0.0.1:9/r/plaza", { reconnect: false });
    cleanups.push(() => world.close());
    expect(() => joinWorld("http://127.0.0.1:9/elsewhere")).toThrow("names no room");
    expect(() => joinWorld("plaza")).toThrow(NowcastError);
    expect(() => joinWorld("ftp://127.0.0.1/plaza")).toThrow(NowcastError);
  });

  it("works with another WebSocket", async () => {
    const server = await serve();
    const world = join(server, { WebSocket: WsWebSocket });
    await waitFor("the welcome", () => world.status === "open");
  });

  it("ends with the reason when nobody listens and it should not try again", async () => {
    const world = joinWorld("ws://127.0.0.1:9/ws/test", { reconnect: false });
    const errors = collect(world, "error");
    await waitFor("the end", () => world.status === "closed");
    const cause = expect.stringContaining("ECONNREFUSED");
    expect(errors).toMatchObject([
      { error: { fault: "network", code: "unreachable", cause }, retryInMs: undefined },
    ]);
  });
});

describe("what the server says", () => {
  it("keeps the newest value of every entity, in one object each", async () => {
    const server = await serve();
    const world = join(server);
    await waitFor("the block", () => world.entities.has(block));
    const kept = world.entities.get(block)!;
    const move = { id: 7, positionX: 1, positionY: 2, positionZ: 3, eulerX: 0.1, eulerY: 0.2, eulerZ: 0.3 };
    server.say({ type: "move", tick: 106, entities: [move, { ...move, id: 999 }] });
    await waitFor("the move", () => kept.tick === 106);
    expect(kept.position).toEqual([1, 2, 3]);
    expect(kept.euler).toEqual([0.1, 0.2, 0.3]);
    expect(world.stats).toMatchObject({ snapshots: 1, unknownEntities: 1 });
  });

  it("passes on chat, names and holds, with markup as the text it is", async () => {
    const server = await serve();
    const world = join(server);
    const chats = collect(world, "chat");
    await waitFor("the block", () => world.entities.has(block));
    server.say({ type: "chat", from: 301, name: "<i>Ada</i>", text: "<img src=x onerror=alert(1)>" });
    server.say({ type: "hold", avatar: 301, block: 7 });
    server.say({ type: "rename", id: 301, name: "Ada L." });
    const ada = world.entities.get(world.avatarId!)!;
    await waitFor("the rename", () => ada.name === "Ada L.");
    expect(chats).toMatchObject([{ from: 301, name: "<i>Ada</i>", text: "<img src=x onerror=alert(1)>" }]);
    expect(ada.heldBlock).toBe(7);
    server.say({ type: "despawn", ids: [7] });
    await waitFor("the block to be gone", () => !world.entities.has(block));
    expect(ada.heldBlock).toBeUndefined();
  });

  it("counts messages of later versions and goes on", async () => {
    const server = await serve();
    const world = join(server);
    await waitFor("the welcome", () => world.status === "open");
    server.say({ type: "weather", rain: true });
    server.say({ type: "notice", text: "hi", later: 1 });
    await waitFor("the count", () => world.stats.unknownMessages === 1);
    expect(world.status).toBe("open");
  });

  it.each([
    ["not JSON", "{"],
    ["a number out of bounds", JSON.stringify({ type: "move", tick: 1, entities: [{ id: -1 }] })],
    ["an id that is text", JSON.stringify({ type: "hold", avatar: "x", block: null })],
    ["a list that is none", JSON.stringify({ type: "spawn", entities: { length: 1e9 } })],
    [
      "1e999 as a position",
      '{"type":"spawn","entities":[{"id":1,"kind":"avatar","color":1,"p":[1e999,0,0],"r":[0,0,0]}]}',
    ],
    [
      "a kind nobody knows",
      '{"type":"spawn","entities":[{"id":1,"kind":"ghost","color":1,"p":[0,0,0],"r":[0,0,0]}]}',
    ],
    ["a binary frame", new Uint8Array([1, 0])],
  ])("leaves a server that sends %s, names the field, and tries again", async (_, lie) => {
    let lies = 1;
    const server = await serve((client) => {
      greetPlainly(client);
      if (lies-- > 0) client.send(lie);
    });
    const world = join(server);
    const errors = collect(world, "error");
    await waitFor("the second connection", () => world.stats.reconnects === 1);
    const cause = expect.stringMatching(/^malformed: /);
    expect(errors).toMatchObject([{ error: { fault: "peer-misbehaved", code: "malformed", cause } }]);
  });

  it("does not try again when the server speaks another version", async () => {
    const server = await serve((client) => client.send(JSON.stringify({ ...WELCOME, protocol: 2 })));
    const world = join(server);
    const errors = collect(world, "error");
    await waitFor("the end", () => world.status === "closed");
    const error = {
      fault: "peer-incompatible",
      code: "version",
      cause: expect.stringContaining("version 2"),
    };
    expect(errors).toMatchObject([{ error, retryInMs: undefined }]);
  });
});

describe("packed movement", () => {
  it.each([
    ["cut short", [1, 0, 1, 0, 0, 0, 9]],
    ["of another type", [3, 0, 1, 0, 0, 0]],
    ["without a head", [1, 0]],
    ["with NaN", [1, 0, 1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 192, 127, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]],
  ])("%s is refused", async (_, bytes) => {
    const server = await serve((client) => {
      greetPlainly(client);
      client.send(new Uint8Array(bytes));
    });
    const world = join(server, { encoding: "custom16", reconnect: false });
    const errors = collect(world, "error");
    await waitFor("the end", () => world.status === "closed");
    expect(errors).toMatchObject([
      { error: { code: "malformed", cause: expect.stringContaining("malformed: ") } },
    ]);
  });
});

describe("what we say", () => {
  it("sends the newest input at most thirty times a second, and only when it changes", async () => {
    const server = await serve();
    const world = join(server);
    await waitFor("the welcome", () => world.status === "open");
    const startMs = performance.now();
    let yaw = 0;
    while (performance.now() - startMs < 500) {
      world.input({ ...STILL, yaw: ++yaw });
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    const elapsedMs = performance.now() - startMs;
    await waitFor("the last input", () => server.messages("input").at(-1)?.["yaw"] === yaw);
    const sent = server.messages("input").length;
    expect(sent).toBeLessThanOrEqual(Math.ceil((elapsedMs / 1000) * 30) + 2);
    world.input({ ...STILL, yaw });
    world.chat("done");
    await waitFor("the chat", () => server.messages("chat").length === 1);
    expect(server.messages("input").length).toBe(sent);
  });

  it("does not lose a jump that is shorter than the pause between two sends", async () => {
    const server = await serve();
    const world = join(server);
    await waitFor("the welcome", () => world.status === "open");
    world.input({ ...STILL, forward: 1 });
    world.input({ ...STILL, forward: 1, jump: true });
    world.input({ ...STILL, forward: 0.5 });
    await waitFor("the end of the jump", () => server.messages("input").length === 3);
    expect(server.messages("input").map(({ forward, jump }) => ({ forward, jump }))).toEqual([
      { forward: 1, jump: false },
      { forward: 0.5, jump: true },
      { forward: 0.5, jump: false },
    ]);
  });

  it("refuses numbers that are none and clamps those beyond their bounds", async () => {
    const server = await serve();
    const world = join(server);
    await waitFor("the welcome", () => world.status === "open");
    expect(() => world.input({ ...STILL, yaw: Number.NaN })).toThrow("input.yaw is NaN");
    expect(() => world.throw(Number.POSITIVE_INFINITY, 0)).toThrow(NowcastError);
    world.input({ ...STILL, forward: 1e300 });
    world.throw(2, -9);
    await waitFor("the throw", () => server.messages("throw").length === 1);
    expect(server.messages("input")).toMatchObject([{ forward: 1 }]);
    expect(server.messages("throw")).toMatchObject([{ power: 1, pitch: -1.5 }]);
  });

  it("packs input into seven bytes for the custom encodings", async () => {
    const server = await serve();
    const world = join(server, { encoding: "custom16" });
    await waitFor("the welcome", () => world.status === "open");
    world.input({ forward: 1, right: -1, yaw: -Math.PI / 2, run: true, jump: true });
    const packed = await waitFor("the input", () => server.received.find((data) => typeof data !== "string"));
    expect(packed).toEqual(new Uint8Array([2, 0, 127, 0x81, 0x00, 0xc0, 3]));
  });
});

describe("losing the connection", () => {
  it("comes back by itself with the name, the rate and the controls of now", async () => {
    const server = await serve();
    const world = join(server, { name: "Ada" });
    const statuses = collect(world, "status");
    const gone = collect(world, "despawn");
    await waitFor("the block", () => world.entities.has(block));
    world.input({ ...STILL, forward: 1 });
    world.rename("Ada L.");
    world.setRate(30);
    await waitFor("the rate", () => server.messages("rate").length === 1);
    server.clients[0]!.close(1001, "server is shutting down");
    await waitFor("the loss", () => world.status === "reconnecting");
    world.chat("said meanwhile");
    world.grab();
    await waitFor("the second welcome", () => world.status === "open");
    await waitFor("the controls again", () => server.messages("input").length === 2);
    await waitFor("the chat", () => server.messages("chat").length === 1);
    expect(server.requests[1]).toBe("/ws/test?encoding=json&name=Ada+L.&hz=30");
    expect(statuses.map(({ status }) => status)).toEqual(["open", "reconnecting", "open"]);
    expect(gone[0]!.entities.map(({ id }) => id)).toEqual([BLOCK.id, AVATAR.id]);
    expect(world.stats).toMatchObject({ reconnects: 1, unsentActions: 1 });
    expect(server.messages("grab")).toEqual([]);
  });

  it("stays away when the server says that this client is at fault", async () => {
    const server = await serve();
    const world = join(server);
    const errors = collect(world, "error");
    await waitFor("the welcome", () => world.status === "open");
    server.clients[0]!.close(4001, "out of bounds: yaw");
    await waitFor("the end", () => world.status === "closed");
    const error = { code: "out_of_bounds", closeCode: 4001, cause: "out of bounds: yaw" };
    expect(errors).toMatchObject([{ error, retryInMs: undefined }]);
  });

  it("waits longer after every failure, up to five seconds, and never in step with others", () => {
    expect([0, 1, 2, 3, 4, 5, 100].map((attempt) => backOffMs(attempt, 0))).toEqual([
      250, 500, 1000, 2000, 4000, 5000, 5000,
    ]);
    expect(backOffMs(0, 1)).toBe(125);
  });

  it("does nothing more once it is closed", async () => {
    const server = await serve();
    const world = join(server);
    const errors = collect(world, "error");
    await waitFor("the welcome", () => world.status === "open");
    world.close();
    world.chat("too late");
    world.input({ ...STILL, forward: 1 });
    await waitFor("the server to notice", () => server.clients[0]!.readyState === WsWebSocket.CLOSED);
    expect(world.status).toBe("closed");
    expect(server.requests.length).toBe(1);
    expect(errors).toEqual([]);
  });
});
