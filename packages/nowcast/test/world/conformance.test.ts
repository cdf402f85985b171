/** A joined world, as pages and bots observe it, against a real server. */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { NowcastError } from "../../src/index.js";
import {
  type Entity,
  type JoinOptions,
  joinWorld,
  type World,
  type WorldEvents,
} from "../../src/world/index.js";
import { SeveringProxy } from "../channel/severing.js";
import { ServerProcess } from "../server-process.js";
import { waitFor } from "../wait-for.js";

const STILL = { forward: 0, right: 0, yaw: 0, run: false, jump: false };
/** `spec/PLAIN.md`, section 6. */
const LINE_CHARACTERS = 300;
const NAME_CHARACTERS = 24;

let server: ServerProcess;
const cleanups: (() => unknown)[] = [];
beforeAll(async () => {
  server = await ServerProcess.start();
});
afterAll(() => server?.stop());
afterEach(async () => {
  vi.restoreAllMocks();
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

describe("a world", () => {
  function join(options: JoinOptions = {}, at: { room?: string; port?: number } = {}): World {
    const { room = "conform", port = server.port } = at;
    const world = joinWorld(`nowcast://127.0.0.1:${port}/${room}`, options);
    cleanups.push(() => world.close());
    return world;
  }

  async function joined(
    options: JoinOptions = {},
    at: { room?: string; port?: number } = {},
  ): Promise<World> {
    const world = join(options, at);
    await waitFor("the avatar", () => world.entities.has(world.avatarId!));
    return world;
  }

  function collect<K extends keyof WorldEvents>(world: World, type: K): WorldEvents[K][] {
    const events: WorldEvents[K][] = [];
    world.on(type, (event) => events.push(event));
    return events;
  }

  const statusesOf = (events: readonly WorldEvents["status"][]) => events.map(({ status }) => status);
  const meOf = (world: World) => world.entities.get(world.avatarId!)!;
  const nameOf = (world: World, of: World = world) => world.players.get(of.playerId!)?.name;
  const blocksOf = (world: World): Entity[] =>
    [...world.entities.values()].filter(({ kind }) => kind.name === "block");

  describe("joining", () => {
    it("goes from connecting to open with one welcome, and puts the avatar into the world", async () => {
      const world = join({ name: "Ada", networkHz: 20 });
      expect([world.status, world.avatarId]).toEqual(["connecting", undefined]);
      const [statuses, welcomes] = [collect(world, "status"), collect(world, "welcome")];
      await waitFor("the avatar", () => world.entities.has(world.avatarId!));
      expect(statusesOf(statuses)).toEqual(["open"]);
      expect(welcomes).toMatchObject([{ playerId: world.playerId, stepHz: 60, networkHz: 20 }]);
      expect(nameOf(world)).toBe("Ada");
      expect(meOf(world).kind.walker).toBeDefined();
      expect(world.stats).toMatchObject({ reconnects: 0, unknownMessages: 0, unsentActions: 0 });
      await waitFor("a ping", () => world.stats.pingMs !== undefined);
    });

    it("receives the definition before any entity", async () => {
      const world = join();
      const told: string[] = [];
      for (const type of ["define", "joined", "spawn"] as const) world.on(type, () => told.push(type));
      await world.ready;
      expect(told[0]).toBe("define");
      const { kinds, actions, events } = world.definition!;
      const kind = (wanted: string) => kinds.find(({ name }) => name === wanted);
      expect(kind("block")?.attributes).toEqual([
        { name: "color", type: "text" },
        { name: "holder", type: "u32?" },
      ]);
      expect(kind("block")?.body).toMatchObject({ shape: "box" });
      expect(kind("ramp")?.look).toMatchObject({ color: "#d8c7a0" });
      expect(actions.map(({ name }) => name)).toEqual(["voice", "grab", "throw", "put_down", "teleport"]);
      expect(actions[2]).toMatchObject({
        arguments: [
          { name: "hand", type: "u32?" },
          { name: "pitch", type: "range(-1.5, 1.5, 0.01)" },
          { name: "power", type: "range(0, 1, 0.01)" },
        ],
        hint: { key: "left", charge: "power", pitch: "pitch" },
      });
      expect(events.map(({ name }) => name)).toEqual(["voice", "taken", "thrown"]);
    });

    it.each([
      [22.5, 23],
      [1, 5],
      [1e9, 60],
    ])("requests %f snapshots a second and gets the nearest possible rate", async (networkHz, whole) => {
      const world = join({ networkHz });
      const welcomes = collect(world, "welcome");
      await waitFor("the welcome", () => world.status === "open");
      expect(welcomes).toMatchObject([{ networkHz: whole }]);
    });

    it("refuses options that make no sense at the call", () => {
      for (const options of [{ networkHz: Number.NaN }, { networkHz: "fast" }, { name: 5 }, { name: null }]) {
        expect(
          misuse(() => join(options as never)),
          JSON.stringify(options),
        ).toBeTruthy();
      }
      expect(misuse(() => joinWorld("ftp://localhost/plaza"))).toContain("names no room");
    });

    it("brings names into the form that servers show", async () => {
      const world = await joined({ name: `${"n".repeat(3_000)}` });
      expect(nameOf(world)).toBe("n".repeat(NAME_CHARACTERS));
      const other = await joined({ name: "half \ud83d" });
      expect(nameOf(other)).toBe("half \ufffd");
    });
  });

  describe("talking", () => {
    it("carries lines both ways, in order, with the speaker's name", async () => {
      const [ada, ben] = [await joined({ name: "Ada" }), await joined({ name: "Ben" })];
      const heard = collect(ben, "chat");
      ada.chat("one");
      ada.chat("<b>two</b>");
      await waitFor("both lines", () => heard.length === 2);
      expect(heard.map(({ from, name, text }) => [from, name, text])).toEqual([
        [ada.playerId, "Ada", "one"],
        [ada.playerId, "Ada", "<b>two</b>"],
      ]);
    });

    it("lets lines wait for the welcome", async () => {
      const ada = join({ name: "Ada" });
      const heard = collect(ada, "chat");
      ada.chat("said early");
      await waitFor("the line", () => heard.length === 1);
      expect(heard[0]!.text).toBe("said early");
      expect(ada.stats.unsentActions).toBe(0);
    });

    it("stays open after a line that is far too long or no good text", async () => {
      const ada = await joined({ name: "Ada" });
      const heard = collect(ada, "chat");
      ada.chat("\u{1f600}".repeat(20_000));
      ada.chat("half \ud83d");
      await waitFor("both lines", () => heard.length === 2);
      expect(heard.map(({ text }) => text)).toEqual(["\u{1f600}".repeat(LINE_CHARACTERS), "half \ufffd"]);
      expect(misuse(() => ada.chat(5 as never))).toBe("text is a number, not a string");
      expect(ada.status).toBe("open");
    });

    it("sends a new name to all clients", async () => {
      const [ada, ben] = [await joined({ name: "Ada" }), await joined({ name: "Ben" })];
      await waitFor("Ben in Ada's world", () => nameOf(ada, ben) === "Ben");
      const players = collect(ada, "renamed");
      ben.rename("Benjamin");
      await waitFor("the name", () => nameOf(ada, ben) === "Benjamin");
      expect(players).toMatchObject([
        { player: { id: ben.playerId, avatarId: ben.avatarId, isProgram: false }, before: "Ben" },
      ]);
      await waitFor("one's own name", () => nameOf(ben) === "Benjamin");
      expect(misuse(() => ben.rename(undefined as never))).toBe("name is undefined, not a string");
    });
  });

  describe("acting", () => {
    it("shows a walking player to others", async () => {
      const [ada, ben] = [await joined(), await joined()];
      await waitFor("Ben in Ada's world", () => ada.entities.has(ben.avatarId!));
      const seen = ada.entities.get(ben.avatarId!)!;
      const [x, , z] = [...seen.position];
      ben.input({ ...STILL, forward: 1, run: true });
      await waitFor("steps", () => Math.hypot(seen.position[0] - x!, seen.position[2] - z!) > 0.5);
    });

    it("changes the snapshot rate, and reports the current one", async () => {
      const world = await joined({ networkHz: 10 });
      const rates = collect(world, "rate");
      world.setRate(44.6);
      await waitFor("the rate", () => rates.at(-1)?.networkHz === 45);
      expect(misuse(() => world.setRate(Number.NaN))).toBe("rate is NaN, not a finite number");
    });

    it("picks up a block, which changes attributes for all clients, and throws it", async () => {
      const [ada, ben] = [await joined({ name: "Ada" }), await joined({ name: "Ben" })];
      const [taken, thrown] = [collect(ben, "event:taken"), collect(ben, "event:thrown")];
      const changes = collect(ben, "change");
      await waitFor("blocks", () => blocksOf(ada).length > 0 && ben.entities.has(ada.avatarId!));
      const away = ({ position }: Entity): number =>
        Math.hypot(position[0] - meOf(ada).position[0], position[2] - meOf(ada).position[2]);
      const nearest = blocksOf(ada).sort((a, b) => away(a) - away(b))[0]!;
      const act = seldom();
      await waitFor("the block in hand", () => {
        const [dx, , dz] = nearest.position.map((coordinate, axis) => coordinate - meOf(ada).position[axis]!);
        ada.input({ ...STILL, forward: 1, yaw: Math.atan2(-dx!, -dz!) });
        act(() => ada.act("grab"));
        return typeof meOf(ada).attributes["holding"] === "number";
      });
      ada.input(STILL);
      await waitFor("Ben to receive it", () => taken.length === 1);
      const block = meOf(ada).attributes["holding"];
      expect(taken).toEqual([{ payload: { by: ada.avatarId, block } }]);
      await waitFor("Ben to see it", () => changes.some(({ names }) => names.includes("holding")));
      await waitFor("empty hands", () => {
        act(() => ada.act("throw", { power: 9, pitch: 0.3 }));
        return meOf(ada).attributes["holding"] === null;
      });
      await waitFor("Ben to receive that", () => thrown.length === 1);
      // A value outside its range was clamped.
      expect(thrown).toMatchObject([{ payload: { by: ada.avatarId, block, power: 1 } }]);
    });

    it("receives the reason why an action was refused", async () => {
      const world = await joined();
      const refusals = collect(world, "refused");
      world.act("throw", { power: "very hard" });
      await waitFor("the refusal", () => refusals.length === 1);
      expect(refusals[0]).toMatchObject({ action: "throw" });
      expect(world.status).toBe("open");
    });

    it("rejects invalid inputs, actions and arguments, and stays open", async () => {
      const world = await joined();
      expect(misuse(() => world.input(undefined as never))).toMatch(/^input takes an object of controls/);
      expect(misuse(() => world.input({ ...STILL, yaw: Number.NaN }))).toMatch(/^input.yaw is NaN/);
      expect(misuse(() => world.input({ ...STILL, jump: 1 } as never))).toMatch(/^input.jump is a number/);
      expect(misuse(() => world.act("fly"))).toBe(
        'the world has no action "fly": it has voice, grab, throw, put_down, teleport',
      );
      expect(misuse(() => world.act("grab", 7 as never))).toMatch(/^the arguments of "grab" are a number/);
      expect(misuse(() => world.act("grab", { block: () => 7 }))).toContain("function");
      const heard = collect(world, "chat");
      world.chat("still here");
      await waitFor("the line", () => heard.length === 1);
    });

    it("counts actions without a welcome, and lines beyond those that may wait", () => {
      const world = join({ reconnect: false }, { port: 9 });
      world.act("grab");
      world.act("throw", { power: 1, pitch: 0 });
      for (let line = 0; line < 20; line++) world.chat(`line ${line}`);
      expect(world.stats.unsentActions).toBe(2 + 4);
    });
  });

  describe("listening", () => {
    it("ends although a listener subscribes again in its callback, and continues after one that throws", async () => {
      const world = await joined();
      vi.spyOn(console, "error").mockImplementation(() => {});
      let calls = 0;
      const listen = (): void => {
        const off = world.on("chat", () => {
          calls++;
          off();
          listen();
          throw new Error("broken");
        });
      };
      listen();
      const heard = collect(world, "chat");
      world.chat("one");
      world.chat("two");
      await waitFor("both lines", () => heard.length === 2);
      expect(calls).toBe(2);
    });
  });

  describe("leaving", () => {
    it("is final, is seen by others, and later calls are counted", async () => {
      const [ada, ben] = [await joined(), await joined()];
      await waitFor("Ben in Ada's world", () => ada.entities.has(ben.avatarId!));
      const [gone, left] = [collect(ada, "despawn"), collect(ada, "left")];
      const told: string[] = [];
      for (const type of ["status", "chat", "snapshot", "despawn", "error", "welcome"] as const) {
        ben.on(type, (event) => told.push("status" in event ? event.status : type));
      }
      ben.close();
      const before = told.length;
      expect([ben.status, told.at(-1)]).toEqual(["closed", "closed"]);
      ben.close();
      ben.chat("too late");
      ben.act("grab");
      ben.act("put_down");
      ben.input({ ...STILL, forward: 1 });
      ben.rename("Too Late");
      ben.setRate(60);
      expect(ben.stats.unsentActions).toBe(3);
      const isGone = () => gone.some(({ entity }) => entity.id === ben.avatarId);
      await waitFor("Ben to be gone", () => isGone() && left.length === 1);
      expect(left).toMatchObject([{ player: { id: ben.playerId } }]);
      expect(told.length).toBe(before);
    });

    it("counts the lines that waited when one left before the welcome", () => {
      const world = join();
      world.chat("one");
      world.chat("two");
      world.close();
      expect([world.status, world.stats.unsentActions]).toEqual(["closed", 2]);
    });

    it("rejects all waits for an event, as does a signal", async () => {
      const world = join();
      const { playerId } = await world.once("welcome");
      expect(playerId).toBe(world.playerId);
      const given = world.once("chat", { signal: AbortSignal.timeout(1) });
      await expect(given).rejects.toMatchObject({ name: "TimeoutError" });
      const [chat, status] = [world.once("chat"), world.once("status")];
      world.close();
      expect(await status).toEqual({ status: "closed" });
      await expect(chat).rejects.toThrow("the world was closed");
      await expect(world.once("chat")).rejects.toBeInstanceOf(NowcastError);
      const lost = join({ reconnect: false }, { port: 9 });
      await expect(lost.once("welcome")).rejects.toMatchObject({ fault: "network" });
    });

    it("may happen inside the first event, and nothing follows", async () => {
      const world = join();
      const [statuses, welcomes] = [collect(world, "status"), collect(world, "welcome")];
      world.on("status", ({ status }) => status === "open" && world.close());
      await waitFor("the end", () => world.status === "closed");
      expect(statusesOf(statuses)).toEqual(["open", "closed"]);
      expect(welcomes).toEqual([]);
    });
  });

  describe("losing the connection", () => {
    it("reports that there is no answer, and keeps trying until it is closed", async () => {
      const world = join({ retry: true }, { port: 9 });
      const [statuses, errors] = [collect(world, "status"), collect(world, "error")];
      await waitFor("the second attempt", () => errors.length >= 2);
      expect(world.status).toBe("connecting");
      for (const { error, retryInMs } of errors) {
        expect(error).toMatchObject({ fault: "network", code: "unreachable" });
        expect([typeof error.reason, typeof retryInMs]).toEqual(["string", "number"]);
      }
      world.close();
      expect(statusesOf(statuses)).toEqual(["closed"]);
    });

    it("awaiting a world returns it with its definition and players, or throws the cause", async () => {
      const world = await join({ name: "Ada" });
      expect(world.players.get(world.playerId!)?.name).toBe("Ada");
      expect(world.definition?.kinds.length).toBeGreaterThan(0);
      expect(await world).toBe(world);
      await expect(join({}, { port: 9 })).rejects.toMatchObject({ fault: "network", code: "unreachable" });
    });

    it("ends at the first failure if no retry was requested", async () => {
      const world = join({}, { port: 9 });
      world.chat("never said");
      const [statuses, errors] = [collect(world, "status"), collect(world, "error")];
      await waitFor("the end", () => errors.length > 0);
      expect(world.status).toBe("closed");
      expect(errors).toMatchObject([{ error: { code: "unreachable" }, retryInMs: undefined }]);
      expect(statusesOf(statuses)).toEqual(["closed"]);
      expect(world.stats.unsentActions).toBe(1);
      await expect(world.ready).rejects.toMatchObject({ fault: "network" });
    });

    it("survives a cut connection: it opens again, and a line sent meanwhile arrives once", async () => {
      const proxy = await SeveringProxy.before(server.port);
      cleanups.push(() => proxy.close());
      const ada = await joined({ name: "Ada" }, { port: proxy.port });
      const ben = await joined({ name: "Ben" });
      const [statuses, heard] = [collect(ada, "status"), collect(ben, "chat")];
      ada.input({ ...STILL, forward: 1 });
      // A session may be back within milliseconds.
      ada.on("status", ({ status }) => status === "reconnecting" && ada.chat("said meanwhile"));
      proxy.sever();
      await waitFor("the loss and the way back", () => statuses.length === 2 && ada.status === "open");
      ada.chat("said after");
      await waitFor("both lines", () => heard.length >= 2);
      expect(heard.map(({ name, text }) => [name, text])).toEqual([
        ["Ada", "said meanwhile"],
        ["Ada", "said after"],
      ]);
      expect(statusesOf(statuses)).toEqual(["reconnecting", "open"]);
      const { reconnects, link } = ada.stats;
      expect([reconnects, link?.resumed]).toEqual([0, 1]);
      await waitFor("the avatar", () => ada.entities.has(ada.avatarId!));
      const [x, , z] = [...meOf(ada).position];
      await waitFor("the earlier input", () => {
        const { position } = meOf(ada);
        return Math.hypot(position[0] - x!, position[2] - z!) > 0.5;
      });
    });

    it("returns to a restarted server with the current name and rate", async () => {
      const first = await ServerProcess.start();
      const { port } = first;
      cleanups.push(() => first.stop());
      const world = await joined({ name: "Ada" }, { port });
      const [statuses, errors] = [collect(world, "status"), collect(world, "error")];
      const [welcomes, gone, heard] = [
        collect(world, "welcome"),
        collect(world, "despawn"),
        collect(world, "chat"),
      ];
      world.rename("Ada L.");
      world.setRate(30);
      await waitFor("the name", () => nameOf(world) === "Ada L.");
      const before = world.entities.size;
      await first.stop();
      await waitFor("the loss", () => errors.length > 0);
      expect([world.status, typeof errors[0]!.retryInMs]).toEqual(["reconnecting", "number"]);
      expect(errors[0]!.error).toMatchObject({ fault: "refused", code: "going_away" });
      world.chat("said meanwhile");
      world.act("grab");
      const second = await ServerProcess.start(port);
      cleanups.push(() => second.stop());
      await waitFor("the avatar", () => world.status === "open" && world.entities.has(world.avatarId!));
      await waitFor("the line", () => heard.length === 1);
      expect(statusesOf(statuses)).toEqual(["reconnecting", "open"]);
      expect(welcomes).toMatchObject([{ networkHz: 30 }]);
      expect(nameOf(world)).toBe("Ada L.");
      // All state of the first world was removed before any event of the second.
      expect(gone.length).toBe(before);
      expect(world.stats).toMatchObject({ reconnects: 1, unsentActions: 1 });
    });
  });
});

/** The server accepts a limited number of actions a second from one client. */
function seldom(): (act: () => void) => void {
  let actedMs = Number.NEGATIVE_INFINITY;
  return (act) => {
    if (performance.now() - actedMs < 250) return;
    actedMs = performance.now();
    act();
  };
}

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
