/** A world whose rules are replaced while players are in it. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { type Entity, joinWorld, type World, type WorldEvents } from "../../src/world/index.js";
import { ServerProcess } from "../server-process.js";
import { waitFor } from "../wait-for.js";

const FIRST = `--!strict
local world = require("@nowcast/world")
local Person = world.kind("person", { walker = {} })
local Lamp = world.kind("lamp", { body = { motion = "fixed", shape = "sphere", radius = 1 }, look = { color = "#111111" } })
world.on("start", function()
	Lamp:spawn { at = vector.create(0, 5, 0) }
end)
world.on("join", function(player)
	player:spawn_avatar(Person, { at = vector.create(0, 1, 3) })
end)
world.action("light", { on = "bool" }, function() end)
`;
/** The second version adds a kind before the lamp. The lamp has another look and an additional attribute. */
const SECOND = FIRST.replace("local Lamp", 'local Moth = world.kind("moth", {})\nlocal Lamp')
  .replace("#111111", "#eeeeee")
  .replace('"#eeeeee" } })', '"#eeeeee" }, attributes = { bright = "u8" } })')
  .replace(
    '"light", { on = "bool" }, function() end',
    '"dim", { by = "f32" }, function() Lamp:all()[1].bright += 7 end',
  );
const BROKEN = `${FIRST}\nlocal = 3\n`;

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function serveFolder(
  rules: string,
): Promise<{ server: ServerProcess; save(text: string): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "nowcast-live-"));
  cleanups.push(() => rm(folder, { recursive: true }));
  const save = (text: string) => writeFile(join(folder, "world.luau"), text);
  await save(rules);
  const server = await ServerProcess.start(0, ["--world", `lamps=${folder}`]);
  cleanups.push(() => server.stop());
  return { server, save };
}

function collect<K extends keyof WorldEvents>(world: World, type: K): WorldEvents[K][] {
  const events: WorldEvents[K][] = [];
  world.on(type, (event) => events.push(event));
  return events;
}

function lampOf(world: World): Entity | undefined {
  return [...world.entities.values()].find(({ kind }) => kind.name === "lamp");
}

describe("rules that are replaced", () => {
  it("send a new definition, and keep entities whose form did not change", async () => {
    const { server, save } = await serveFolder(FIRST);
    const world = joinWorld(`nowcast://127.0.0.1:${server.port}/lamps`, { name: "Ada" });
    cleanups.push(() => world.close());
    await world.ready;
    const lamp = await waitFor("the lamp", () => lampOf(world));
    const avatar = await waitFor("the avatar", () => world.entities.get(world.avatarId!));
    const [changes, gone, reports] = [
      collect(world, "change"),
      collect(world, "despawn"),
      collect(world, "report"),
    ];
    await save(SECOND);
    await waitFor("the lamp's attribute", () => lamp.attributes["bright"] === 0);
    expect(world.definition!.kinds.map(({ name }) => name)).toEqual(["person", "moth", "lamp"]);
    expect([lamp.kind, avatar.kind]).toEqual([world.definition!.kinds[2], world.definition!.kinds[0]]);
    expect(lamp.kind.look).toEqual({ color: "#eeeeee" });
    expect(changes).toMatchObject([{ entity: { id: lamp.id }, names: ["bright"] }]);
    expect(gone).toEqual([]);
    expect(() => world.act("light", { on: true })).toThrow('the world has no action "light": it has dim');
    world.act("dim", { by: 0.5 });
    await waitFor("the light", () => lamp.attributes["bright"] === 7);

    await save(BROKEN);
    await waitFor("the report", () => reports.some(({ outcome }) => outcome === "refused"));
    expect(reports.at(-1)!.text).toContain("world.luau");
    expect(world.definition!.actions.map(({ name }) => name)).toEqual(["dim"]);
    expect(world.status).toBe("open");
  });
});
