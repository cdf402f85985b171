import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { joinWorld, type World } from "nowcast/world";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Impairment } from "../../src/impair/index.js";
import { natsServer } from "../nats-cluster.js";
import { ServerCluster } from "../server-cluster.js";
import { waitFor } from "../wait-for.js";

/** How often the room moves and its owner is killed. Greater numbers measure the times (docs/reference/cluster.md). */
const MOVES = Number(process.env["NOWCAST_CLUSTER_MOVES"] ?? 2);
const KILLS = Number(process.env["NOWCAST_CLUSTER_KILLS"] ?? 1);

/** Six programs start, on machines that do something else most of the time. */
const HOOK_MS_MAX = 180_000;

/** Updates a second. The longest time without movement is 1 / NETWORK_HZ seconds without any move. */
const NETWORK_HZ = 20;

const NAMES = ["north", "south", "west"];
const ROOM = "yard";

/** A world with 200 bodies that never come to rest, and a count that durable actions change. */
const RULES = `
local world = require("@nowcast/world")
world.state { counts = 0 }
local Floor = world.kind("floor", { body = { motion = "fixed", shape = "box", size = vector.create(60, 1, 60) } })
local Ball = world.kind("ball", { body = { shape = "sphere", radius = 0.25 } })
local Person = world.kind("person", { walker = {} })
Ball:on("step", function(ball)
    if ball.position.y < 0.3 then ball.velocity = vector.create(0, 5, 0) end
end)
local function show() world.show("counts", world.state.counts) end
world.on("start", function()
    Floor:spawn { at = vector.create(0, -0.5, 0) }
    for i = 1, 200 do
        Ball:spawn { at = vector.create(i % 15 - 7, 2 + i // 15, i % 13 - 6) }
    end
end)
world.on("join", function(player)
    player:spawn_avatar(Person, { at = vector.create(player.id % 20, 0.92, 25) })
    show()
end)
world.action("count", {}, function() world.state.counts += 1 show() end, { durable = true })
`;

/** Moves of the room whose events are counted. */
const DRUM_MOVES = 4;
const DRUM = "drum";

/** A world that emits an event in each step, and an event for each durable action. */
const DRUM_RULES = `
local world = require("@nowcast/world")
world.state { beats = 0, counts = 0 }
world.on("step", function()
    world.state.beats += 1
    world.emit("beat", { number = world.state.beats })
end)
world.action("count", {}, function()
    world.state.counts += 1
    world.emit("counted", { number = world.state.counts })
end, { durable = true })
`;

/** Packets that are late or lost, so that events of the source are on their way when the target begins. */
const BAD_LINK = { delayMs: 60, jitterMs: 40, loss: 0.05, burst: 2, kilobitsPerSecond: 100_000 };

const nats = natsServer();
let folder: string;
let cluster: ServerCluster;
let clients: readonly Client[];

/** A client, with the times at which movement arrived. */
class Client {
  readonly world: World;
  arrivedMs = 0;
  longestGapMs = 0;

  constructor(url: string, name: string) {
    this.world = joinWorld(url, { name, networkHz: NETWORK_HZ });
    this.world.on("snapshot", () => {
      const nowMs = performance.now();
      if (this.arrivedMs > 0) this.longestGapMs = Math.max(this.longestGapMs, nowMs - this.arrivedMs);
      this.arrivedMs = nowMs;
    });
  }

  /** Waits until movement arrives that was sent after now. */
  async moves(): Promise<number> {
    const sinceMs = performance.now() + 50;
    await waitFor("movement", () => this.arrivedMs > sinceMs);
    return this.arrivedMs;
  }
}

beforeAll(async () => {
  if (nats === undefined) return;
  folder = await mkdtemp(join(tmpdir(), "nowcast-cluster-"));
  const worlds: string[] = [];
  for (const [room, rules] of Object.entries({ [ROOM]: RULES, [DRUM]: DRUM_RULES })) {
    await mkdir(join(folder, room));
    await writeFile(join(folder, room, "world.luau"), rules);
    worlds.push("--world", `${room}=${join(folder, room)}`);
  }
  cluster = await ServerCluster.start(nats, NAMES, worlds);
  clients = ["north", "south"].map(
    (name) => new Client(`nowcast://localhost:${cluster.server(name).port}/${ROOM}`, name),
  );
  for (const { world } of clients) await world.joined;
}, HOOK_MS_MAX);

afterAll(async () => {
  for (const { world } of clients ?? []) world.close();
  await cluster?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true });
}, HOOK_MS_MAX);

/** Does a durable action in each client. Returns the number of actions that are confirmed until now. */
let confirmed = 0;
async function countInEach(): Promise<void> {
  await Promise.all(clients.map(({ world }) => world.act("count")));
  confirmed += clients.length;
  for (const { world } of clients) {
    await waitFor("the count", () => Number(world.screen.get("counts")) === confirmed);
  }
}

function summary(timesMs: readonly number[]): string {
  const sorted = [...timesMs].sort((a, b) => a - b);
  const at = (share: number): string =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!.toFixed(0);
  return `n ${sorted.length}, p50 ${at(0.5)}, p90 ${at(0.9)}, p99 ${at(0.99)}, worst ${at(1)} ms`;
}

describe.skipIf(nats === undefined)("clients of different servers of a cluster", () => {
  it("are in one room, whose actions all of them see", async () => {
    await countInEach();
    expect(clients[0]!.world.players.size).toBe(2);
  });

  it("follow the room when it moves, and lose no confirmed action", async () => {
    const players = clients.map(({ world }) => world.playerId);
    const stoodMs: number[] = [];
    const gapsMs: number[] = [];
    for (let i = 0; i < MOVES; i++) {
      const [target] = cluster.others(await cluster.owner(ROOM));
      for (const client of clients) client.longestGapMs = 0;
      stoodMs.push(await cluster.move(ROOM, target!));
      for (const client of clients) await client.moves();
      gapsMs.push(...clients.map(({ longestGapMs }) => longestGapMs));
      await countInEach();
    }
    expect(stoodMs.length).toBeGreaterThan(0);
    expect(clients.map(({ world }) => world.playerId)).toEqual(players);
    console.log(
      `moves: without an owner that steps it: ${summary(stoodMs)}; without movement in a client: ${summary(gapsMs)}`,
    );
  });

  it("receive each event once and in order while the room moves, over links that lose packets", async () => {
    const impair = new Impairment({ conditions: { up: BAD_LINK, down: BAD_LINK }, seed: 7 });
    const url = `nowcast://localhost:${cluster.server("north").port}/${DRUM}`;
    using world = joinWorld(url, { name: "Cy", impair });
    const numbers: Record<string, number[]> = { beat: [], counted: [] };
    const errors: unknown[] = [];
    world.on("event", ({ name, payload }) => {
      numbers[name]!.push((payload as { readonly number: number }).number);
    });
    world.on("error", ({ error }) => errors.push(error));
    await world.ready;
    await waitFor("an event", () => numbers["beat"]!.length > 0);
    let acted = 0;
    const acts: Promise<void>[] = [];
    const timer = setInterval(() => acts.push(world.act("count").then(() => void acted++)), 80);
    for (let i = 0; i < DRUM_MOVES; i++) {
      const [target] = cluster.others(await cluster.owner(DRUM));
      await cluster.move(DRUM, target!);
      const heard = numbers["beat"]!.length;
      await waitFor("a second of events", () => numbers["beat"]!.length > heard + 60);
    }
    clearInterval(timer);
    await Promise.all(acts);
    expect(acted).toBeGreaterThan(DRUM_MOVES);
    await waitFor("the last event", () => numbers["counted"]!.at(-1) === acted);
    for (const heard of Object.values(numbers)) {
      const pairs = heard.slice(1).map((number, i) => [heard[i]!, number] as const);
      expect(pairs.filter(([before, number]) => number !== before + 1)).toEqual([]);
    }
    expect(errors).toEqual([]);
  });

  it("go on at another server when the owner is killed, and lose no confirmed action", async () => {
    const players = clients.map(({ world }) => world.playerId);
    const timesMs: number[] = [];
    for (let i = 0; i < KILLS; i++) {
      const owner = await cluster.owner(ROOM);
      // An action that is confirmed or not when the server ends happens once.
      const racing = clients.map(({ world }) => world.act("count"));
      const killedMs = performance.now();
      await cluster.kill(owner);
      for (const client of clients) timesMs.push((await client.moves()) - killedMs);
      await Promise.all(racing);
      confirmed += racing.length;
      await countInEach();
      await cluster.startServer(owner);
    }
    expect(timesMs.length).toBeGreaterThan(0);
    expect(clients.map(({ world }) => world.playerId)).toEqual(players);
    console.log(`kills: until movement in a client: ${summary(timesMs)}`);
  });
});
