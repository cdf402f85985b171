/** A world on a session against a server controlled by the test. */
import { describe, expect, it } from "vitest";
import { types } from "../../src/codec/index.js";
import { NowcastError } from "../../src/index.js";
import type { EntityId, PlayerId } from "../../src/world/index.js";
import { waitFor } from "../wait-for.js";
import { greeting, ScriptedSession, WELCOME } from "./scripted-session.js";
import { entity, type Fields, kind, payload, player, screen, values } from "./server-words.js";
import {
  AT_EASE,
  cleanups,
  collect,
  DEFINITION,
  join,
  PLAYERS_KEY,
  SCREENS_KEY,
  SHEEP,
  STILL,
  serve,
  sheep,
} from "./session-bench.js";

describe("messages of a server on a session", () => {
  it("receives its welcome and the definition", async () => {
    const server = await serve();
    const world = join(server, { name: "Ada", networkHz: 20 });
    const welcomes = collect(world, "welcome");
    await world.ready;
    const key = expect.any(Uint8Array);
    expect(server.received).toEqual([{ Join: { protocol: 8, name: "Ada", network_hz: 20, key } }]);
    expect(welcomes).toEqual([
      { playerId: 5, isResumed: false, room: "test", world: "sheep", stepHz: 60, networkHz: 10, tick: 100 },
    ]);
    expect([world.playerId, world.avatarId]).toEqual([5, undefined]);
    expect(world.definition).toEqual({
      version: 3,
      kinds: [
        {
          name: "sheep",
          body: { shape: "sphere", radius: 0.5 },
          walker: undefined,
          look: { color: "#ffffff" },
          attributes: [
            { name: "wool", type: "range(0, 1, 0.01)" },
            { name: "owner", type: "u32?" },
          ],
        },
        { name: "person", body: undefined, walker: {}, look: undefined, attributes: [] },
      ],
      actions: [
        {
          name: "shear",
          arguments: [{ name: "sheep", type: "u32?" }],
          durable: false,
          hint: { key: "e" },
        },
        { name: "buy", arguments: [{ name: "what", type: "text" }], durable: true, hint: undefined },
      ],
      events: [{ name: "shorn", payload: [{ name: "sheep", type: "u32" }] }],
      assets: [{ name: "assets/sheep.glb", hash: "0f".repeat(32), bytes: 2_048, type: "model/gltf-binary" }],
    });
  });

  it("is ready when its players are there, too", async () => {
    const server = await serve((server) => {
      server.say({ Welcome: WELCOME });
      server.say({ Define: { definition: DEFINITION } });
    });
    const world = join(server);
    let seen: readonly string[] | undefined;
    void world.ready.then(() => {
      seen = [...world.players.values()].map(({ name }) => name);
    });
    await waitFor("the definition", () => world.definition !== undefined);
    await Promise.resolve();
    expect(seen).toBe(undefined);
    server.put(PLAYERS_KEY + 3, player({ name: "Ben", avatar: null }));
    server.put(PLAYERS_KEY + 5, player({ name: "Ada", avatar: null }));
    await world.ready;
    expect(seen).toEqual(["Ben", "Ada"]);
  });

  it("hands in a portal's ticket to a world that declares no arrivals", async () => {
    const server = await serve();
    const world = join(server);
    await world.ready;
    world.act("@arrive", { ticket: "t" });
    await waitFor("the ticket", () => server.received.length === 2);
    expect(server.received[1]).toMatchObject({ Act: { action: "@arrive", arguments: { ticket: "t" } } });
    expect(() => world.act("arrive")).toThrow('the world has no action "arrive"');
  });

  it("adds an entity when it has a description and a place, or a description and a row", async () => {
    const server = await serve();
    const world = join(server);
    await world.ready;
    const [spawns, changes] = [collect(world, "spawn"), collect(world, "change")];
    server.put(SHEEP, sheep(1, { scale: [1, 2, 1], parent: 8 }));
    server.put(8, sheep(0.5, { place: { position: [1, 2, 3], rotation: [0, 0, 0, 1] } }));
    await waitFor("the entity with a place", () => world.entities.has(8 as EntityId));
    expect(world.entities.has(SHEEP)).toBe(false);
    server.replicate(payload(110, 0, [{ group: 0, tick: 109, rows: new Map([[SHEEP, [4, 0, -4]]]) }]));
    await waitFor("the entity with a row", () => world.entities.has(SHEEP));
    expect(spawns.map(({ entity }) => entity.id)).toEqual([8, SHEEP]);
    expect(world.entities.get(SHEEP)).toMatchObject({
      scale: [1, 2, 1],
      parent: 8,
      attributes: { wool: 1, owner: null },
      position: [4, 0, -4],
      tick: 109,
    });
    expect(world.entities.get(8 as EntityId)!.position).toEqual(AT_EASE.position);
    server.put(SHEEP, sheep(0.25, { scale: [1, 2, 1], parent: 8 }));
    await waitFor("the change", () => changes.length === 1);
    expect(changes).toMatchObject([{ entity: { id: SHEEP, attributes: { wool: 0.25 } }, names: ["wool"] }]);
    server.put(SHEEP, new Uint8Array(0));
    await waitFor("it to be gone", () => !world.entities.has(SHEEP));
  });

  it("reports players, screens, events, refusals and reports", async () => {
    const server = await serve();
    const world = join(server);
    await world.ready;
    const [avatars, renamed, left, screens] = [
      collect(world, "avatar"),
      collect(world, "renamed"),
      collect(world, "left"),
      collect(world, "screen"),
    ];
    const [shorn, refusals, reports] = [
      collect(world, "event:shorn"),
      collect(world, "refused"),
      collect(world, "report"),
    ];
    server.put(PLAYERS_KEY + 5, player({ name: "Ada", avatar: 301 }));
    await waitFor("the avatar", () => world.avatarId === 301);
    server.put(PLAYERS_KEY + 5, player({ name: "Ada L.", avatar: 301 }));
    await waitFor("the name", () => world.players.get(5 as PlayerId)?.name === "Ada L.");
    server.put(SCREENS_KEY, screen({ place: "score", personal: false, value: 3 }));
    server.put(SCREENS_KEY + 1, screen({ place: "score", personal: true, value: { mine: 4 } }));
    await waitFor("the player's own score", () => typeof world.screen.get("score") === "object");
    server.put(SCREENS_KEY + 1, screen({ place: "score", personal: true, value: null }));
    await waitFor("the score for all", () => world.screen.get("score") === 3);
    expect(screens.at(-1)).toEqual({ place: "score", value: 3 });
    server.say({ Happened: { event: "shorn", payload: { sheep: 7 } } });
    server.say({ Refused: { action: "shear", reason: "too far", number: null } });
    server.say({ Report: { outcome: "RolledBack", version: 4, text: "world.luau:3: oh" } });
    server.put(PLAYERS_KEY + 5, new Uint8Array(0));
    await waitFor("the player to be gone", () => left.length === 1);
    expect([avatars.length, renamed.length]).toEqual([1, 1]);
    expect(shorn).toEqual([{ payload: { sheep: 7 } }]);
    expect(refusals).toEqual([{ action: "shear", reason: "too far" }]);
    expect(reports).toEqual([{ outcome: "rolled_back", version: 4, text: "world.luau:3: oh" }]);
    expect(world.avatarId).toBeUndefined();
  });

  it("shows the value of a slot, whichever of its keys arrives first", async () => {
    const server = await serve();
    const world = join(server);
    await world.ready;
    const at = (place: string, value: number | null) => screen({ place, personal: false, value });
    server.put(SCREENS_KEY, at("score", 1));
    await waitFor("the score", () => world.screen.get("score") === 1);
    // The server cleared the score, gave its key to the clock, and showed a score again by another key.
    server.put(SCREENS_KEY + 1, at("score", 2));
    await waitFor("the new score", () => world.screen.get("score") === 2);
    server.put(SCREENS_KEY, at("clock", 60));
    await waitFor("the clock", () => world.screen.get("clock") === 60);
    expect([...world.screen]).toEqual([
      ["score", 2],
      ["clock", 60],
    ]);
  });

  it("reads entities by the definition that came before them", async () => {
    const server = await serve();
    const world = join(server);
    await world.ready;
    server.put(SHEEP, sheep(1, { place: { position: [0, 0, 0], rotation: [0, 0, 0, 1] } }));
    await waitFor("the sheep", () => world.entities.has(SHEEP));
    const changes = collect(world, "change");
    const colored: Fields = { color: types.text };
    server.say({ Define: { definition: { ...DEFINITION, version: 4, kinds: [kind("wolf", colored)] } } });
    const attributes = values(colored, { color: "grey" });
    server.put(SHEEP, entity({ attributes, place: { position: [0, 0, 0], rotation: [0, 0, 0, 1] } }));
    await waitFor("the wolf", () => world.entities.get(SHEEP)!.kind.name === "wolf");
    expect(world.definition!.version).toBe(4);
    expect(world.entities.get(SHEEP)!.attributes).toEqual({ color: "grey" });
    expect(changes.map(({ names }) => [...names].sort())).toEqual([["color", "owner", "wool"]]);
  });

  it("receives which of its own lines were dropped, and why", async () => {
    const server = await serve();
    const world = join(server);
    await world.ready;
    const unsaid = collect(world, "unsaid");
    server.say({ Unsaid: { text: "hello", reason: "over the rate" } });
    await waitFor("the line", () => unsaid.length === 1);
    expect(unsaid).toEqual([{ text: "hello", reason: "over the rate" }]);
  });

  it("counts dropped lines once each, and passes on chat", async () => {
    const server = await serve();
    const world = join(server);
    await world.ready;
    const [missed, chats] = [collect(world, "missed"), collect(world, "chat")];
    server.missed(3);
    await waitFor("the first", () => missed.length === 1);
    server.missed(5);
    server.chat({ from: 6, name: "Ben", text: "<b>hello</b>" });
    await waitFor("the line", () => chats.length === 1);
    await waitFor("the others", () => missed.length === 2);
    expect(missed).toEqual([{ lines: 3 }, { lines: 2 }]);
    expect(chats).toEqual([{ from: 6, name: "Ben", text: "<b>hello</b>" }]);
  });
});

describe("messages of a client on a session", () => {
  it("a silent server makes the connection unstable, then lost, until its next message", async () => {
    const server = await serve();
    const world = join(server);
    expect(world.connection).toBe("lost");
    await world.ready;
    expect(world.connection).toBe("steady");
    await waitFor("the silence to be noticed", () => world.connection === "unstable");
    await waitFor("the loss", () => world.connection === "lost");
    expect(world.status).toBe("open");
    server.replicate(payload(103, 1, []));
    await waitFor("the server", () => world.connection === "steady");
    world.close();
    expect(world.connection).toBe("lost");
  });

  it("numbers changed inputs, and receives which were applied", async () => {
    const server = await serve();
    const world = join(server);
    const snapshots = collect(world, "snapshot");
    await world.ready;
    world.input({ ...STILL, forward: 1 });
    world.input({ ...STILL, forward: 1 });
    await waitFor("the first", () => server.controls.length === 1);
    world.input({ ...STILL, forward: 0.5 });
    await waitFor("the second", () => server.controls.length === 2);
    expect(server.controls.map(({ number, forward }) => [number, forward])).toEqual([
      [1, 1],
      [2, 0.5],
    ]);
    server.replicate(payload(103, 1, []));
    await waitFor("the snapshot", () => snapshots.length === 1);
    server.replicate(payload(106, 2, []));
    await waitFor("the next", () => snapshots.length === 2);
    expect(snapshots.map(({ tick, ackedInputSequence: controls }) => [tick, controls])).toEqual([
      [103, 1],
      [106, 2],
    ]);
  });

  it("sends the input of a program that predicts by steps, whichever input it calls", async () => {
    const server = await serve();
    const world = join(server);
    await world.ready;
    server.put(SHEEP, entity({ kind: 1 }));
    server.replicate(payload(110, 0, [{ group: 0, tick: 109, rows: new Map([[SHEEP, [0, 0, 0]]]) }]));
    server.put(PLAYERS_KEY + 5, player({ name: "Ada", avatar: SHEEP }));
    await waitFor("the avatar", () => world.avatar !== undefined);
    let tick = 110;
    const frame = (): void => {
      server.replicate(payload(++tick, 0, []));
      world.frame(performance.now());
    };
    world.input({ ...STILL, forward: 0 });
    await waitFor("the prediction", () => {
      frame();
      return world.display.isPredicted;
    });
    const earlier = server.controls.length;
    const goes = (): boolean => {
      frame();
      return server.steps.some(({ steps }) => steps.some(({ forward }) => forward === 1));
    };
    world.input({ ...STILL, forward: 1 });
    await waitFor("steps with the input", goes);
    expect(server.controls.length).toBe(earlier);
    server.put(PLAYERS_KEY + 5, player({ name: "Ada", avatar: null }));
    await waitFor("the end of the prediction", () => {
      frame();
      return !world.display.isPredicted;
    });
    world.input({ ...STILL, right: 1 });
    await waitFor("the input without steps", () => server.controls.length > earlier);
    expect(server.controls.at(-1)).toMatchObject({ right: 1 });
  });

  it("sends declared actions in order, and its requests", async () => {
    const server = await serve();
    const world = join(server);
    await world.ready;
    world.act("shear", { sheep: 7 });
    world.act("shear");
    world.rename("Ada");
    world.setRate(20);
    world.chat("hello");
    expect(() => world.act("grab")).toThrow(NowcastError);
    expect(() => world.act("shear", { sheep: "x".repeat(4_085) })).toThrow("more than 4096");
    await waitFor("all of it", () => server.received.length === 5 && server.lines.length === 1);
    expect(server.received.slice(1)).toEqual([
      { Act: { action: "shear", arguments: { sheep: 7 }, number: 2 ** 31 + 1, step: null, shown: null } },
      { Act: { action: "shear", arguments: {}, number: 2 ** 31 + 2, step: null, shown: null } },
      { Rename: { name: "Ada" } },
      { Rate: { network_hz: 20 } },
    ]);
    expect(server.lines).toEqual(["hello"]);
    expect(world.stats.unsentActions).toBe(0);
  });

  it("sends the step of an action while it predicts, and the delay and moment of its display", async () => {
    const server = await serve();
    const world = join(server);
    await world.ready;
    world.act("shear");
    server.put(SHEEP, entity({ kind: 1 }));
    server.put(PLAYERS_KEY + 5, player({ name: "Ada", avatar: SHEEP }));
    const snapshot = (tick: number) =>
      server.replicate(payload(tick, 0, [{ group: 0, tick: tick - 1, rows: new Map([[SHEEP, [0, 0, 0]]]) }]));
    snapshot(110);
    await waitFor("the avatar", () => world.avatar !== undefined);
    let tick = 110;
    await waitFor("the prediction", () => {
      world.frame(performance.now());
      snapshot(++tick);
      return world.display.isPredicted && world.display.tick > 0;
    });
    world.act("shear");
    const acts = (): { step: number | null; shown: number | null }[] =>
      server.received.flatMap((said) =>
        typeof said === "object" && "Act" in said ? [said.Act as { step: number; shown: number }] : [],
      );
    await waitFor("both actions", () => acts().length === 2);
    expect(acts()[0]).toMatchObject({ step: null, shown: null });
    expect(acts()[1]!.step).toBe(Math.round(world.display.prediction!.moment) & 0xffff);
    expect(acts()[1]!.shown).toBeCloseTo(world.display.tick, 1);
    await waitFor("the view", () => server.views.length > 0);
    // A delay that changes again at once is sent later.
    expect(server.views.length).toBe(1);
    expect(server.views[0]! % 4).toBe(0);
  });

  it("answers actions by promises, and numbers durable ones from 1", async () => {
    const server = await serve();
    const world = join(server);
    await expect(world.act("buy", { what: "too soon" })).rejects.toMatchObject({ code: "lost" });
    await world.ready;
    const refusals = collect(world, "refused");
    const [sheep, cow] = [world.act("shear"), world.act("shear")];
    const [hat, shoe] = [world.act("buy", { what: "hat" }), world.act("buy", { what: "shoe" })];
    const acts = (): unknown[] =>
      server.received.flatMap((said) => (typeof said === "object" && "Act" in said ? [said.Act] : []));
    await waitFor("all four", () => acts().length === 4);
    const first = 2 ** 31 + 2;
    expect(acts()).toEqual([
      { action: "shear", arguments: {}, number: first, step: null, shown: null },
      { action: "shear", arguments: {}, number: first + 1, step: null, shown: null },
      { action: "buy", arguments: { what: "hat" }, number: 1, step: null, shown: null },
      { action: "buy", arguments: { what: "shoe" }, number: 2, step: null, shown: null },
    ]);
    server.say({ Refused: { action: "shear", reason: "no sheep", number: first + 1 } });
    server.say({ Done: { number: first } });
    await expect(cow).rejects.toMatchObject({ fault: "refused", reason: "no sheep" });
    await sheep;
    server.say({ Refused: { action: "buy", reason: "sold out", number: 2 } });
    server.say({ Done: { number: 1 } });
    server.say({ Done: { number: 7 } });
    await expect(shoe).rejects.toMatchObject({ code: "refused", reason: "sold out" });
    await hat;
    expect(refusals).toEqual([
      { action: "shear", reason: "no sheep" },
      { action: "buy", reason: "sold out" },
    ]);
    const lost = world.act("shear");
    await waitFor("the last", () => acts().length === 5);
    server.channels[0]!.close(69, "the room has just closed");
    await expect(lost).rejects.toMatchObject({
      ...{ fault: "network", code: "unanswered", cure: "check its effect in the world" },
      message: expect.stringMatching(
        /^whether "shear" was carried out is not known: .*the room has just closed/,
      ),
    });
    const never = world.act("buy", { what: "never" });
    world.close();
    await expect(never).rejects.toMatchObject({ code: "unanswered" });
    await expect(world.act("buy", { what: "late" })).rejects.toMatchObject({ code: "closed_here" });
    expect(world.stats.unsentActions).toBe(2);
  });

  it("tries a durable action again by the same number on the next session, as the same client", async () => {
    const server = await serve();
    const world = join(server);
    await world.ready;
    const hat = world.act("buy", { what: "hat" });
    await waitFor("the first try", () => server.received.length === 2);
    const lost = world.once("status");
    server.channels[0]!.close(69, "the room has just closed");
    expect(await lost).toEqual({ status: "reconnecting" });
    const shoe = world.act("buy", { what: "shoe" });
    await waitFor("both on the next session", () => server.received.length === 5);
    expect(server.received.slice(2)).toEqual([
      server.received[0],
      server.received[1],
      { Act: { action: "buy", arguments: { what: "shoe" }, number: 2, step: null, shown: null } },
    ]);
    for (const number of [1, 2]) server.say({ Done: { number } });
    await Promise.all([hat, shoe]);
  });

  it("joins a server that was busy as soon as there is room", async () => {
    const server = await ScriptedSession.start(greeting(DEFINITION), { sessionsMax: 1 });
    cleanups.push(() => server.stop());
    const first = join(server);
    await first.ready;
    const second = join(server, { retry: true });
    const errors = collect(second, "error");
    await waitFor("a refusal", () => errors.length > 0);
    expect(errors[0]).toMatchObject({ error: { code: "full" }, retryInMs: expect.any(Number) });
    first.close();
    await second.ready;
  });

  it("stays closed when the same client joined elsewhere", async () => {
    const server = await serve();
    const world = join(server);
    await world.ready;
    const errors = collect(world, "error");
    server.channels[0]!.close(72, "the same client joined again on another connection");
    await waitFor("the end", () => world.status === "closed");
    expect(errors).toMatchObject([{ error: { code: "replaced", closeCode: 72 }, retryInMs: undefined }]);
  });

  it.each([
    [73, "banned", "you are banned from this room until 2026-11-24T10:00:00Z: shouting"],
    [74, "unauthorised", "the token has been used by another client: ask for a new one"],
    [75, "kicked", "the world removed you: no input for ten minutes"],
  ])("does not reconnect after the end %i, and reports why", async (closeCode, code, reason) => {
    const server = await serve();
    const world = join(server);
    await world.ready;
    const errors = collect(world, "error");
    server.channels[0]!.close(closeCode, reason);
    await waitFor("the end", () => world.status === "closed");
    expect(errors).toMatchObject([{ error: { code, closeCode, reason }, retryInMs: undefined }]);
  });

  it("sends its name again if it kept the earlier one", async () => {
    const server = await serve((server) => {
      server.say({ Welcome: { ...WELCOME, resumed: server.channels.length > 1 } });
      server.say({ Define: { definition: DEFINITION } });
      server.put(PLAYERS_KEY + 5, player({ name: "Ada", avatar: null }));
    });
    const world = join(server, { name: "Ada" });
    await world.ready;
    const lost = world.once("status");
    server.channels[0]!.close(69, "the room has just closed");
    expect(await lost).toEqual({ status: "reconnecting" });
    world.rename("Ada L.");
    const welcome = await world.once("welcome");
    expect(welcome.isResumed).toBe(true);
    await waitFor("the name", () => server.received.length === 3);
    expect(server.received[2]).toEqual({ Rename: { name: "Ada L." } });
  });

  it("requests all groups as a whole when it lacks a group's baseline", async () => {
    const server = await serve();
    const world = join(server);
    await world.ready;
    // The record of group 0: one baseline, one step earlier, unchanged for 0 steps, and 0 bytes of content.
    server.replicate(Uint8Array.of(110, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0));
    await waitFor("the word", () => server.received.includes("Forget"));
    expect(world.status).toBe("open");
  });
});

it("leaves no session behind if it is closed while the decoder of a world is loaded", async () => {
  const server = await serve();
  join(server).close();
  const witness = join(server);
  await witness.ready;
  const others = () => server.channels.slice(0, -1);
  await waitFor("the end of all others", () => others().every(({ status }) => status.phase === "closed"));
  expect(witness.status).toBe("open");
});
