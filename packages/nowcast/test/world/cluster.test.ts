import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { joinWorld, type World } from "nowcast/world";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { natsServer } from "../nats-cluster.js";
import { ServerCluster } from "../server-cluster.js";
import { waitFor } from "../wait-for.js";

/** How often the room moves and its owner is killed. Greater numbers measure the times (docs/reference/cluster.md). */
const MOVES = Number(process.env["NOWCAST_CLUSTER_MOVES"] ?? 2);
const KILLS = Number(process.env["NOWCAST_CLUSTER_KILLS"] ?? 1);

/** Six programs start, on machines that do something else most of the time. */
const HOOK_MS_MAX = 180_000;

const NAMES = ["north", "south", "west"];
const ROOM = "yard";

/** A world with 200 bodies that never come to rest, and a count that durable actions change. */
const RULES = `
local world = require("@nowcast/world")
world.state { counts = 0 }
local Floor = world.kind("floor", { body = { motion = "fixed", shape = "box", size = vector.create(60, 1, 60) } })
local Ball = world.kind("ball", { body = { shape = "sphere", radius = 0.25 } })
local Person = world.kind("person", { walker = {} })
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
    this.world = joinWorld(url, { name });
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
  await writeFile(join(folder, "world.luau"), RULES);
  cluster = await ServerCluster.start(nats, NAMES, ["--world", `${ROOM}=${folder}`]);
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
