/** Rules that judge by a player's view and position, over a link of 100 ms round trip. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { joinWorld, type World } from "../../src/world/index.js";
import { FarLink } from "../far-link.js";
import { ServerProcess } from "../server-process.js";
import { waitFor } from "../wait-for.js";

const RULES = `--!strict
local world = require("@nowcast/world")
world.settings { rewind = true }
local Floor = world.kind("floor", { body = { motion = "fixed", shape = "box", size = vector.create(60, 1, 60) } })
local Person = world.kind("person", { walker = {} })
world.on("start", function()
	Floor:spawn { at = vector.create(0, -0.5, 0) }
end)
world.on("join", function(player)
	player:spawn_avatar(Person, { at = vector.create(0, 0.9, 10 * #world.players()) })
end)
world.action("tag", {}, function(player)
	local ben = world.players()[2].avatar
	local seen = world.rewound(player, function()
		return ben.position
	end)
	world.emit("tagged", { seen = seen.x, now = ben.position.x }, { to = player })
end)
world.action("stop", {}, function(player)
	local at = player.avatar.position
	world.emit("stopped", { x = at.x, z = at.z }, { to = player })
end)
`;
const ONE_WAY_MS = 50;
const FRAME_MS = 1000 / 60;
const STILL = { forward: 0, right: 0, yaw: 0, run: false, jump: false };
/** A tag within this many metres of the middle counts. */
const REACH_M = 0.75;
/** The maximum age of a view that a server uses. */
const REWIND_MS = 500;
const TRIES = 12;

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Serves the rules at the far end of a slow link. */
async function serveFarAway(): Promise<{ server: ServerProcess; address: string }> {
  const folder = await mkdtemp(join(tmpdir(), "nowcast-fair-"));
  cleanups.push(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "world.luau"), RULES);
  const server = await ServerProcess.start(0, ["--world", `tag=${folder}`]);
  cleanups.push(() => server.stop());
  const link = await FarLink.open(server.port, { oneWayMs: ONE_WAY_MS });
  cleanups.push(() => link.close());
  return { server, address: `nowcast://127.0.0.1:${link.port}/tag` };
}

async function come(address: string, name: string, networkHz: number): Promise<World> {
  const world = joinWorld(address, { name, networkHz, carriers: ["websocket"] });
  cleanups.push(() => world.close());
  await waitFor(`${name}'s avatar`, () => world.avatarId !== undefined && world.entities.has(world.avatarId));
  return world;
}

const frame = () => new Promise((resolve) => setTimeout(resolve, FRAME_MS));

describe("at 100 ms", () => {
  it("a tag that hit on the actor's screen counts, and one that missed there does not", async () => {
    const { address } = await serveFarAway();
    const ada = await come(address, "Ada", 20);
    const ben = await come(address, "Ben", 20);
    const told: { seen: number; now: number; atMs: number }[] = [];
    ada.on("event:tagged", ({ payload }) => {
      told.push({ ...(payload as { seen: number; now: number }), atMs: performance.now() });
    });
    await waitFor("Ben on Ada's screen", () => ada.entities.has(ben.avatarId!));
    const pose = { position: { x: 0, y: 0, z: 0 }, quaternion: { x: 0, y: 0, z: 0, w: 1 } };
    const given: { x: number; delayMs: number; isGuessed: boolean; atMs: number }[] = [];
    // Returns the tags that a server can judge: Ben was at his received position, and the view was not too old.
    const clear = () =>
      told.flatMap(({ seen, now, atMs }, at) => {
        const tag = given[at]!;
        const isClear = !tag.isGuessed && tag.delayMs + atMs - tag.atMs < REWIND_MS;
        return isClear ? [{ shown: tag.x, seen, now }] : [];
      });
    const settledMs = performance.now() + 3_000;
    const endMs = performance.now() + 200_000;
    let direction = 1;
    let before = 0;
    while (clear().length < TRIES && performance.now() < endMs) {
      await frame();
      ada.frame(performance.now());
      ada.pose(ben.avatarId!, pose);
      const { x } = pose.position;
      // Ben runs to and fro; yaw −π/2 faces X.
      if (Math.abs(x) > 3.5 && Math.sign(x) === direction) direction = -direction;
      ben.input({ ...STILL, forward: 1, run: true, yaw: (-direction * Math.PI) / 2 });
      // Half of the tags are sent when he is in the middle, the others shortly before.
      const wanted = given.length % 2 === 0 ? 0 : -1.5 * direction;
      const isThere = (before - wanted) * direction < 0 && (x - wanted) * direction >= 0;
      before = x;
      if (!isThere || performance.now() < settledMs) continue;
      const { delayMs } = ada.display;
      const isGuessed = ada.display.ageMs(ben.avatarId!) > delayMs + 1;
      given.push({ x, delayMs, isGuessed, atMs: performance.now() });
      ada.act("tag");
    }
    const tags = clear();
    expect(tags.length).toBeGreaterThanOrEqual(TRIES);
    for (const { shown, seen, now } of tags) {
      expect(Math.abs(seen - shown), `shown at ${shown}, judged at ${seen}`).toBeLessThan(0.1);
      expect(Math.abs(now - shown), "he ran on meanwhile").toBeGreaterThan(0.5);
    }
    const hits = tags.filter(({ shown }) => Math.abs(shown) < REACH_M);
    expect(hits.length).toBeGreaterThan(TRIES / 4);
    expect(hits.filter(({ seen }) => Math.abs(seen) < REACH_M)).toEqual(hits);
    const misses = tags.filter(({ shown }) => Math.abs(shown) >= REACH_M);
    expect(misses.length).toBeGreaterThan(TRIES / 4);
    expect(misses.filter(({ seen }) => Math.abs(seen) < REACH_M)).toEqual([]);
  }, 240_000);

  it("an action finds the avatar at the position that its player saw", async () => {
    const { address, server } = await serveFarAway();
    const ada = await come(address, "Ada", 20);
    const told: { x: number; z: number }[] = [];
    ada.on("event:stopped", ({ payload }) => told.push(payload as { x: number; z: number }));
    const steps: number[] = [];
    const places: number[][] = [];
    const endMs = performance.now() + 120_000;
    // She runs all the time. If the server did not wait for her steps, it would never find her at the reported place.
    for (let frames = 0; told.length < TRIES && performance.now() < endMs; frames++) {
      await frame();
      const yaw = Math.floor(frames / 25) * 2;
      ada.input({ ...STILL, forward: 1, run: true, yaw });
      ada.frame(performance.now());
      const { prediction } = ada.display;
      if (prediction === undefined) continue;
      // The result of the nearer of two steps is known in the next frame.
      while (places.length < steps.length) {
        const place = [0, 0, 0];
        if (!prediction.predicted(steps[places.length]!, place)) break;
        places.push(place);
      }
      if (frames < 100 || frames % 20 !== 0) continue;
      steps.push(Math.round(prediction.moment));
      ada.act("stop");
    }
    expect(told.length).toBeGreaterThanOrEqual(TRIES);
    const exact = told.filter(({ x, z }, at) => Math.hypot(x - places[at]![0]!, z - places[at]![2]!) < 0.01);
    // The server does not wait for a client that stalls for a second.
    const givenUp = await server.metric('nowcast_prediction_total{outcome="given_up"}');
    expect(exact.length).toBeGreaterThanOrEqual(givenUp === 0 ? told.length : 5);
  }, 240_000);
});
