import { afterEach, describe, expect, it } from "vitest";
import { WebSocket as WsWebSocket } from "ws";
import { NowcastError } from "../../src/index.js";
import { backOffMs } from "../../src/world/back-off.js";
import { type EntityId, joinWorld, type World, type WorldEvents } from "../../src/world/index.js";
import { quaternionToEuler } from "../../src/world/interpolation/rotation.js";
import { AVATAR, DEFINE, greetPlainly, ScriptedServer, SHEEP, WELCOME } from "../scripted-server.js";
import { waitFor } from "../wait-for.js";

const STILL = { forward: 0, right: 0, yaw: 0, run: false, jump: false };
const sheep = 7 as EntityId;

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
  it("requests the room with name, encoding and rate", async () => {
    const server = await serve();
    const world = join(server, { name: "Ada & Co", encoding: "custom", networkHz: 20 });
    await waitFor("the welcome", () => world.status === "open");
    const asked = /^\/ws\/test\?encoding=custom&name=Ada\+%26\+Co&hz=20&key=[0-9a-f]{32}$/;
    expect(server.requests).toEqual([expect.stringMatching(asked)]);
    await world.ready;
    await waitFor("the avatar", () => world.avatarId !== undefined);
    expect([world.playerId, world.avatarId]).toEqual([5, 301]);
    expect(world.players.get(world.playerId!)).toEqual({ id: 5, name: "Ada", avatarId: 301 });
  });

  it("rejects `ready` when the world ends before it", async () => {
    const world = joinWorld("ws://127.0.0.1:9/ws/test", { reconnect: false });
    await expect(world.ready).rejects.toMatchObject({ fault: "network" });
    const left = join(await serve((client) => client.send(JSON.stringify(WELCOME))));
    await waitFor("the welcome", () => left.status === "open");
    left.close();
    await expect(left.ready).rejects.toMatchObject({ code: "closed_here" });
  });

  it("takes the address of the page as well, and refuses one that names no room", () => {
    const world = joinWorld("http://127.0.0.1:9/r/plaza", { reconnect: false });
    cleanups.push(() => world.close());
    const past = joinWorld("ws://127.0.0.1:9/ws/plaza.20261123T100000.250Z", { reconnect: false });
    cleanups.push(() => past.close());
    for (const elsewhere of ["elsewhere", "r/plaza.", "r/.-5m", "r/plaza.-5m%2F"]) {
      expect(() => joinWorld(`http://127.0.0.1:9/${elsewhere}`)).toThrow("names no room");
    }
    expect(() => joinWorld("plaza")).toThrow(NowcastError);
    expect(() => joinWorld("ftp://127.0.0.1/plaza")).toThrow(NowcastError);
  });

  it("works with another WebSocket", async () => {
    const server = await serve();
    const world = join(server, { WebSocket: WsWebSocket });
    await waitFor("the welcome", () => world.status === "open");
  });

  it("ends with the reason when there is no listener and no retry", async () => {
    const world = joinWorld("ws://127.0.0.1:9/ws/test", { reconnect: false });
    const errors = collect(world, "error");
    await waitFor("the end", () => world.status === "closed");
    const reason = expect.stringContaining("ECONNREFUSED");
    expect(errors).toMatchObject([
      { error: { fault: "network", code: "unreachable", reason }, retryInMs: undefined },
    ]);
  });
});

describe("messages of the server", () => {
  it("keeps the newest value of every entity, in one object each", async () => {
    const server = await serve();
    const world = join(server);
    await waitFor("the sheep", () => world.entities.has(sheep));
    const kept = world.entities.get(sheep)!;
    const move = { id: 7, positionX: 1, positionY: 2, positionZ: 3, eulerX: 0.1, eulerY: 0.2, eulerZ: 0.3 };
    server.say({ type: "move", tick: 106, entities: [move, { ...move, id: 999 }] });
    await waitFor("the move", () => kept.tick === 106);
    expect(kept.position).toEqual([1, 2, 3]);
    const angles = [0, 0, 0];
    quaternionToEuler(kept.rotation, angles);
    for (const [axis, angle] of [0.1, 0.2, 0.3].entries()) expect(angles[axis]).toBeCloseTo(angle, 12);
    expect(world.stats).toMatchObject({ snapshots: 1, unknownEntities: 1 });
  });

  it("has the definition in the form of the world's author", async () => {
    const server = await serve();
    const world = join(server);
    await world.ready;
    expect(world.definition).toEqual({
      version: 3,
      kinds: [
        {
          name: "sheep",
          body: { shape: "box" },
          walker: undefined,
          look: { color: "#ffffff" },
          attributes: [
            { name: "wool", type: "f32" },
            { name: "owner", type: "u32?" },
          ],
        },
        { name: "person", body: undefined, walker: {}, look: undefined, attributes: [] },
      ],
      actions: [
        {
          name: "shear",
          arguments: [
            { name: "sheep", type: "u32?" },
            { name: "power", type: "range(0, 1, 0.01)" },
          ],
          durable: false,
          hint: { key: "e" },
        },
      ],
      events: [{ name: "shorn", payload: [{ name: "sheep", type: "u32" }] }],
      assets: [{ name: "assets/sheep.glb", hash: "0f".repeat(32), bytes: 2_048, type: "model/gltf-binary" }],
    });
    await waitFor("the sheep", () => world.entities.has(sheep));
    expect(world.entities.get(sheep)).toMatchObject({ scale: [1, 1, 1], parent: undefined });
    expect(world.entities.get(sheep)!.kind).toBe(world.definition!.kinds[0]);
    expect(world.entities.get(world.avatarId!)!.scale).toEqual([1, 2, 1]);
  });

  it("reports changed attributes, and leaves kept records unchanged", async () => {
    const server = await serve();
    const world = join(server);
    const changes = collect(world, "change");
    await waitFor("the sheep", () => world.entities.has(sheep));
    const live = world.entities.get(sheep)!;
    const kept = live.attributes;
    server.say({ type: "attributes", id: 7, set: { wool: 1 } });
    server.say({ type: "attributes", id: 7, set: { wool: 0.5, nobodys: 1 } });
    server.say({ type: "attributes", id: 999, set: { wool: 0.5 } });
    server.say({
      type: "spawn",
      entities: [{ ...SHEEP, p: [4, 0, 0], parent: 301, attributes: { wool: 0.5 } }],
    });
    await waitFor("the parent", () => live.parent === 301);
    expect(changes.map(({ entity, names }) => [entity.id, names])).toEqual([
      [7, ["wool"]],
      [7, []],
    ]);
    expect(kept).toEqual({ wool: 1, owner: null });
    expect(live).toMatchObject({ attributes: { wool: 0.5, owner: null }, position: [4, 0, 0] });
    expect(world.stats.unknownEntities).toBe(1);
  });

  it("gives entities the kinds of another definition, unless they read otherwise", async () => {
    const server = await serve();
    const world = join(server);
    await waitFor("the sheep", () => world.entities.has(sheep));
    const [before, person] = [world.entities.get(sheep)!.kind, world.entities.get(world.avatarId!)!.kind];
    const [first, second] = DEFINE.kinds;
    const kinds = [
      { ...first, attributes: { wool: "u8" } },
      { ...second, look: { color: "#000000" } },
    ];
    server.say({ ...DEFINE, version: 4, kinds });
    const { definition } = await world.once("define");
    expect(definition.version).toBe(4);
    expect(world.entities.get(world.avatarId!)!.kind).toBe(definition.kinds[1]);
    expect(person.look).toBeUndefined();
    // The server sends a value whose type has changed again. Until then the value keeps its old meaning.
    expect(world.entities.get(sheep)!.kind).toBe(before);
    server.say({ type: "spawn", entities: [{ ...SHEEP, attributes: { wool: 200 } }] });
    const { names } = await world.once("change");
    expect(names).toEqual(["wool", "owner"]);
    expect(world.entities.get(sheep)).toMatchObject({ kind: definition.kinds[0], attributes: { wool: 200 } });
  });

  it("passes on chat, players, events and screens, with markup as plain text", async () => {
    const server = await serve();
    const world = join(server);
    const [chats, players, left] = [collect(world, "chat"), collect(world, "player"), collect(world, "left")];
    const [screens, events, shorn] = [
      collect(world, "screen"),
      collect(world, "event"),
      collect(world, "event:shorn"),
    ];
    const [refusals, reports] = [collect(world, "refused"), collect(world, "report")];
    await waitFor("the sheep", () => world.entities.has(sheep));
    const ben = { type: "player", id: 6, name: "<i>Ben</i>", avatar: null };
    for (const message of [
      { type: "chat", from: 6, name: "<i>Ben</i>", text: "<img src=x onerror=alert(1)>" },
      ben,
      ben,
      { ...ben, avatar: 7 },
      { type: "left", id: 6 },
      { type: "left", id: 6 },
      { type: "screen", place: "score", personal: false, value: 3 },
      { type: "screen", place: "score", personal: true, value: 4 },
      { type: "screen", place: "score", personal: false, value: 5 },
      { type: "event", name: "shorn", payload: { sheep: 7 } },
      { type: "event", name: "undeclared" },
      { type: "refused", action: "shear", reason: "too far" },
      { type: "report", outcome: "rolled_back", version: 4, text: "world.luau:3: oh" },
      { type: "screen", place: "score", personal: true, value: null },
    ]) {
      server.say(message);
    }
    await waitFor("the last screen", () => screens.length === 3);
    expect(chats).toEqual([{ from: 6, name: "<i>Ben</i>", text: "<img src=x onerror=alert(1)>" }]);
    expect(players.map(({ player }) => player.id)).toEqual([5, 6, 6]);
    expect(left).toMatchObject([{ player: { id: 6, name: "<i>Ben</i>", avatarId: 7 } }]);
    expect(screens).toEqual([3, 4, 5].map((value) => ({ place: "score", value })));
    expect([...world.screen]).toEqual([["score", 5]]);
    expect(events).toEqual([
      { name: "shorn", payload: { sheep: 7 } },
      { name: "undeclared", payload: null },
    ]);
    expect(shorn).toEqual([{ payload: { sheep: 7 } }]);
    expect(refusals).toEqual([{ action: "shear", reason: "too far" }]);
    expect(reports).toEqual([{ outcome: "rolled_back", version: 4, text: "world.luau:3: oh" }]);
  });

  it("counts messages of later versions and continues", async () => {
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
    ["an id that is text", JSON.stringify({ type: "player", id: "x", name: "", avatar: null })],
    ["a screen for nobody", JSON.stringify({ type: "screen", place: "x", personal: "me", value: 1 })],
    ["attributes that are none", JSON.stringify({ type: "attributes", id: 7, set: [1] })],
    ["an unknown outcome", JSON.stringify({ type: "report", outcome: "fine", version: 1, text: "" })],
    ["a definition without actions", JSON.stringify({ ...DEFINE, actions: undefined })],
    ["two kinds of one name", JSON.stringify({ ...DEFINE, kinds: [DEFINE.kinds[0], DEFINE.kinds[0]] })],
    [
      "a type that is not a text",
      JSON.stringify({ ...DEFINE, kinds: [{ name: "x", attributes: { a: 1 } }] }),
    ],
    ["a place on the screen that is too long", JSON.stringify({ type: "screen", place: "x".repeat(65) })],
    ["a list that is none", JSON.stringify({ type: "spawn", entities: { length: 1e9 } })],
    [
      "1e999 as a position",
      '{"type":"spawn","entities":[{"id":1,"kind":"sheep","p":[1e999,0,0],"r":[0,0,0],"attributes":{}}]}',
    ],
    [
      "a kind nobody knows",
      '{"type":"spawn","entities":[{"id":1,"kind":"ghost","p":[0,0,0],"r":[0,0,0],"attributes":{}}]}',
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
    const reason = expect.stringMatching(/^malformed: /);
    expect(errors).toMatchObject([{ error: { fault: "peer-misbehaved", code: "malformed", reason } }]);
  });

  it("does not try again when the server speaks another version", async () => {
    const server = await serve((client) => client.send(JSON.stringify({ ...WELCOME, protocol: 1 })));
    const world = join(server);
    const errors = collect(world, "error");
    await waitFor("the end", () => world.status === "closed");
    const error = {
      fault: "peer-incompatible",
      code: "version",
      reason: expect.stringContaining("version 1"),
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
      { error: { code: "malformed", reason: expect.stringContaining("malformed: ") } },
    ]);
  });
});

describe("messages of the client", () => {
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
    world.input({ ...STILL, forward: 1e300 });
    await waitFor("the input", () => server.messages("input").length === 1);
    expect(server.messages("input")).toMatchObject([{ forward: 1 }]);
  });

  it("sends declared actions, and rejects undeclared ones and arguments that cannot be encoded", async () => {
    const server = await serve();
    const world = join(server);
    await world.ready;
    world.act("shear", { sheep: 7, power: 0.5 });
    world.act("shear");
    expect(() => world.act("grab")).toThrow('the world has no action "grab": it has shear');
    expect(() => world.act(5 as never)).toThrow("action is a number, not a string");
    expect(() => world.act("shear", [7] as never)).toThrow("not an object");
    expect(() => world.act("shear", { sheep: () => 7 })).toThrow(NowcastError);
    expect(() => world.act("shear", { sheep: 2n ** 63n })).toThrow("which JSON cannot say");
    expect(() => world.act("shear", { sheep: "x".repeat(5_000) })).toThrow("more than 4096");
    // As MessagePack it would be short enough.
    const fractions = Array.from({ length: 400 }, (_, at) => at / 7);
    expect(() => world.act("shear", { fractions })).toThrow("more than 4096");
    await waitFor("both actions", () => server.messages("act").length === 2);
    expect(server.messages("act")).toEqual([
      { type: "act", action: "shear", arguments: { sheep: 7, power: 0.5 } },
      { type: "act", action: "shear", arguments: {} },
    ]);
    expect(world.stats.unsentActions).toBe(0);
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
  it("reconnects by itself with the current name, rate and input", async () => {
    const server = await serve();
    const world = join(server, { name: "Ada" });
    const statuses = collect(world, "status");
    const [gone, left, screens] = [
      collect(world, "despawn"),
      collect(world, "left"),
      collect(world, "screen"),
    ];
    await waitFor("the sheep", () => world.entities.has(sheep));
    server.say({ type: "screen", place: "score", personal: false, value: 3 });
    await waitFor("the score", () => screens.length === 1);
    world.input({ ...STILL, forward: 1 });
    world.rename("Ada L.");
    world.setRate(30);
    await waitFor("the rate", () => server.messages("rate").length === 1);
    server.clients[0]!.close(1001, "server is shutting down");
    await waitFor("the loss", () => world.status === "reconnecting");
    world.chat("said meanwhile");
    world.act("shear");
    await waitFor("the second welcome", () => world.status === "open");
    await waitFor("the controls again", () => server.messages("input").length === 2);
    await waitFor("the chat", () => server.messages("chat").length === 1);
    const keys = server.requests.map((path) => new URLSearchParams(path.split("?")[1]).get("key"));
    expect(server.requests[1]).toBe(`/ws/test?encoding=json&name=Ada+L.&hz=30&key=${keys[0]}`);
    expect(statuses.map(({ status }) => status)).toEqual(["open", "reconnecting", "open"]);
    expect(gone[0]!.entities.map(({ id }) => id)).toEqual([SHEEP.id, AVATAR.id]);
    expect(left).toMatchObject([{ player: { id: 5 } }]);
    expect(screens.at(-1)).toEqual({ place: "score", value: null });
    expect(world.stats).toMatchObject({ reconnects: 1, unsentActions: 1 });
    expect(server.messages("act")).toEqual([]);
  });

  it("stays closed when the server reports this client's fault", async () => {
    const server = await serve();
    const world = join(server);
    const errors = collect(world, "error");
    await waitFor("the welcome", () => world.status === "open");
    server.clients[0]!.close(4001, "out of bounds: yaw");
    await waitFor("the end", () => world.status === "closed");
    const error = { code: "out_of_bounds", closeCode: 4001, reason: "out of bounds: yaw" };
    expect(errors).toMatchObject([{ error, retryInMs: undefined }]);
  });

  it("waits longer after every failure, up to five seconds, and never in step with others", () => {
    expect([0, 1, 2, 3, 8, 9, 10, 11, 12, 100].map((attempt) => backOffMs(attempt, 0))).toEqual([
      100, 200, 400, 400, 400, 800, 1600, 3200, 5000, 5000,
    ]);
    expect(backOffMs(0, 1)).toBe(50);
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
