/** What a second client shows of entities that the rules of a real world put elsewhere. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { Impairment } from "../../src/impair/index.js";
import { type EntityId, joinWorld, type World } from "../../src/world/index.js";
import { waitFor } from "../wait-for.js";
import { serveWorld, type WorldFolder } from "../world-folder.js";

const RULES = `--!strict
local world = require("@nowcast/world")
local Floor = world.kind("floor", { body = { motion = "fixed", shape = "box", size = vector.create(200, 1, 200) } })
local Person = world.kind("person", { walker = {} })
local Mark = world.kind("mark", { body = { motion = "kinematic", shape = "sphere", radius = 0.2 } })
local Ball = world.kind("ball", { body = { shape = "sphere", radius = 0.3, gravity_scale = 0 } })
world.on("start", function()
	Floor:spawn { at = vector.create(0, -0.5, 0) }
	Mark:spawn { at = vector.create(0, 2, -10) }
	Ball:spawn { at = vector.create(0, 4, -20) }
end)
world.on("join", function(player) player:spawn_avatar(Person, { at = vector.create(0, 1, 3 + player.id) }) end)
world.timer("hair", function(data)
	local what = data.what
	what.position = what.position + vector.create(0, 0, 0.001)
	if data.left > 0 then world.after(1 / 60, "hair", { what = what, left = data.left - 1 }) end
end)
world.action("jump", { what = "entity", d = { "f32", min = -100, max = 100 }, hair = "bool" }, function(player, given)
	local what = given.what
	what.position = what.position + vector.create(given.d, 0, 0)
	if given.hair then world.after(1 / 60, "hair", { what = what, left = 10 }) end
end)
`;
const FRAME_MS = 8;
/** Precision of a shown pose, in metres. */
const NEAR_M = 0.02;

let folder: WorldFolder;
beforeAll(async () => {
  folder = await serveWorld("jumps", RULES);
});
afterAll(async () => {
  await folder?.stop();
});

/** A client that shows the world, and the places where it showed an entity. */
class Viewer {
  readonly world: World;
  shown: number[] = [];
  watched: EntityId | undefined;
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(networkHz: number, loss: number) {
    const link = { delayMs: 10, jitterMs: 5, loss, burst: 1, kilobitsPerSecond: Number.POSITIVE_INFINITY };
    const impair = new Impairment({ conditions: { up: link, down: link }, seed: 5 });
    this.world = joinWorld(`nowcast://127.0.0.1:${folder.server.port}/jumps`, {
      name: "Eve",
      networkHz,
      impair,
    });
    this.#timer = setInterval(() => this.#frame(), FRAME_MS);
  }

  #frame(): void {
    this.world.frame(performance.now());
    const pose = { position: { x: 0, y: 0, z: 0 }, quaternion: { x: 0, y: 0, z: 0, w: 1 } };
    if (this.watched !== undefined && this.world.pose(this.watched, pose)) this.shown.push(pose.position.x);
  }

  close(): void {
    clearInterval(this.#timer);
    this.world.close();
  }
}

it.each([
  { networkHz: 5, loss: 0 },
  { networkHz: 20, loss: 0.05 },
])("a second client shows no place between those of a jump (%o)", async ({ networkHz, loss }) => {
  const first = joinWorld(`nowcast://127.0.0.1:${folder.server.port}/jumps`, { name: "Ada" });
  const viewer = new Viewer(networkHz, loss);
  await Promise.all([first.joined, viewer.world.joined]);
  const things = ["mark", "ball"].map((kind) => [...first.entitiesOf(kind)][0]!.id);
  for (const [what, hair] of [...things, first.avatarId!].flatMap(
    (id) =>
      [
        [id, false],
        [id, true],
      ] as const,
  )) {
    for (const d of [0.5, -0.5, 3.9, -3.9, 15, -15]) {
      await waitFor("the entity", () => viewer.world.entities.has(what));
      const from = viewer.world.entities.get(what)!.position[0];
      viewer.watched = what;
      viewer.shown = [];
      await first.act("jump", { what, d, hair });
      await waitFor("the jump", () => Math.abs((viewer.shown.at(-1) ?? from) - from - d) < NEAR_M);
      const between = viewer.shown.filter(
        (x) => Math.abs(x - from) > NEAR_M && Math.abs(x - from - d) > NEAR_M,
      );
      expect(between, `${viewer.world.entities.get(what)!.kind.name}, ${d} m`).toEqual([]);
    }
  }
  viewer.close();
  first.close();
});
