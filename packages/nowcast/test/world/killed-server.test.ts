/** A server that is killed and restarted: its clients reconnect by themselves as their earlier players. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { joinWorld, type World, type WorldEvents } from "../../src/world/index.js";
import { ServerProcess } from "../server-process.js";
import { waitFor } from "../wait-for.js";
import { mulberry32 } from "./random.js";

const SHOP = `--!strict
local world = require("@nowcast/world")
world.state { sold = {}, left = 0 }
local Person = world.kind("person", { walker = {}, attributes = { hat = "text" } })
world.kind("floor", { body = { motion = "fixed", shape = "box", size = vector.create(90, 1, 90) } })
local function show()
	local list = {}
	for what, count in world.state.sold do
		table.insert(list, \`{what}={count}\`)
	end
	world.show("sold", table.concat(list, " "))
	world.show("left", world.state.left)
end
world.on("join", function(player)
	player:spawn_avatar(Person, { at = vector.create(0, 1, 3) })
	show()
end)
world.on("leave", function()
	world.state.left += 1
	show()
end)
world.action("buy", { what = "text" }, function(player, arguments)
	world.state.sold[arguments.what] = (world.state.sold[arguments.what] or 0) + 1
	player.avatar.hat = arguments.what
	world.emit("sold", arguments.what)
	show()
end, { durable = true })
`;

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A shop in a folder that also stores its state. */
async function open(): Promise<(port?: number) => Promise<ServerProcess>> {
  const folder = await mkdtemp(join(tmpdir(), "nowcast-shop-"));
  cleanups.push(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "world.luau"), SHOP);
  const data = await mkdtemp(join(tmpdir(), "nowcast-data-"));
  cleanups.push(() => rm(data, { recursive: true }));
  return async (port = 0) => {
    const server = await ServerProcess.start(port, ["--world", `shop=${folder}`, "--data", data]);
    cleanups.push(() => server.kill());
    return server;
  };
}

function enter(url: string): World {
  const world = joinWorld(url, { name: "Ada" });
  cleanups.push(() => world.close());
  return world;
}

function soldOf(world: World): Map<string, number> {
  const text = String(world.screen.get("sold") ?? "");
  const pairs = text.split(" ").filter((pair) => pair !== "");
  return new Map(pairs.map((pair) => pair.split("=")).map(([what, count]) => [what!, Number(count)]));
}

describe("after a kill", () => {
  it("a client resumes its player, and its durable actions are done once", async () => {
    const start = await open();
    let server = await start();
    const ada = enter(`nowcast://127.0.0.1:${server.port}/shop`);
    await ada.ready;
    const { playerId } = ada;
    const events: WorldEvents["event"][] = [];
    ada.on("event", (event) => events.push(event));
    await ada.act("buy", { what: "hat" });
    expect(events).toEqual([{ name: "sold", payload: "hat" }]);
    await waitFor("the hat", () => ada.entities.get(ada.avatarId!)?.attributes["hat"] === "hat");
    const { avatarId } = ada;

    const random = mulberry32(server.port);
    const { port } = server;
    const bought: Promise<void>[] = [];
    const took: number[] = [];
    for (let kill = 0; kill < 4; kill++) {
      for (let at = 0; at < 3; at++) bought.push(ada.act("buy", { what: `shoe-${kill}-${at}` }));
      await new Promise((resolve) => setTimeout(resolve, random() * 150));
      const killedMs = performance.now();
      await server.kill();
      await waitFor("the loss", () => ada.status === "reconnecting");
      // Actions wait in the meantime.
      bought.push(ada.act("buy", { what: `glove-${kill}` }));
      const back = ada.once("welcome");
      server = await start(port);
      const startedMs = performance.now();
      expect(await back).toMatchObject({ playerId, isResumed: true });
      took.push(performance.now() - startedMs, performance.now() - killedMs);
    }
    console.log(`from start and from kill to welcome: ${took.map((ms) => ms.toFixed(0)).join(", ")} ms`);
    await Promise.all(bought);
    await waitFor("all of it", () => soldOf(ada).size === 1 + 4 * 4);
    expect([...soldOf(ada).values()].every((count) => count === 1)).toBe(true);
    expect(ada.avatarId).toBe(avatarId);
    expect(ada.players.size).toBe(1);
    expect(ada.screen.get("left")).toBe(0);
    expect(ada.players.get(playerId!)?.name).toBe("Ada");
  });
});
