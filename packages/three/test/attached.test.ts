/** Entities on the local avatar: attached or held ones are drawn with the drawn avatar, in every frame. */
import { type EntityId, joinWorld, type World } from "nowcast/world";
import { afterAll, beforeAll, expect, it } from "vitest";
import { waitFor } from "../../nowcast/test/wait-for.js";
import { serveWorld, type WorldFolder } from "../../nowcast/test/world-folder.js";
import { createPose, type Pose } from "../src/pose.js";
import { WorldView } from "../src/world-view.js";

const RULES = `--!strict
local world = require("@nowcast/world")
local Person = world.kind("person", { walker = {} })
local Floor = world.kind("floor", { body = { motion = "fixed", shape = "box", size = vector.create(400, 1, 400) } })
local Flag = world.kind("flag", {
	body = { motion = "fixed", shape = "box", size = vector.create(0.1, 1, 0.1) },
	attributes = { carrier = "entity?" },
})
world.on("start", function()
	Floor:spawn { at = vector.create(0, -0.5, 0) }
	Flag:spawn { at = vector.create(3, 0.5, 0) }
end)
world.on("join", function(player)
	player:spawn_avatar(Person, { at = vector.create(0, 1, 0) })
end)
world.action("take", {}, function(player)
	local flag = Flag:all()[1]
	flag.position = player.avatar.position + vector.create(0, 1.4, 0)
	flag.parent = player.avatar
	flag.carrier = player.avatar
end)
`;
const AHEAD = { forward: 1, right: 0, yaw: 0, run: true, jump: false };

let folder: WorldFolder;
const cleanups: (() => void)[] = [];
beforeAll(async () => {
  folder = await serveWorld("carry", RULES);
});
afterAll(async () => {
  for (const cleanup of cleanups) cleanup();
  await folder?.stop();
});

async function joined(name: string): Promise<{ world: World; flag: EntityId }> {
  const world = joinWorld(`nowcast://localhost:${folder.server.port}/carry-${name}`, { name });
  cleanups.push(() => world.close());
  await waitFor("the avatar", () => world.entities.has(world.avatarId!));
  const isFlag = ({ kind }: { kind: { name: string } }): boolean => kind.name === "flag";
  const flag = await waitFor("the flag", () => [...world.entities.values()].find(isFlag));
  return { world, flag: flag.id };
}

/** The distance of a flag from its place above a person, in metres. */
function apartM(flag: Pose, person: Pose): number {
  return flag.position
    .clone()
    .setY(flag.position.y - 1.4)
    .distanceTo(person.position);
}

/** Draws frames until `isDone`. */
async function draw(view: WorldView, what: string, isDone: () => boolean): Promise<void> {
  await waitFor(what, () => {
    view.update(performance.now(), 1 / 60);
    return isDone();
  });
}

it("an entity whose parent and attribute change in one step is drawn on its parent", async () => {
  const { world, flag } = await joined("ada");
  const view = new WorldView(world);
  cleanups.push(() => view.dispose());
  await draw(view, "the flag on the ground", () => view.scene.get(flag)?.position.x === 3);
  void world.act("take");
  const person = view.scene.crowd;
  await draw(view, "the flag on the avatar", () => {
    const [prop, member] = [view.scene.get(flag)!, person.get(world.avatarId!)!];
    return apartM(prop, member) < 0.05;
  });
});

it("a pose that is read between frame and place is the one that the frame draws", async () => {
  const { world } = await joined("cy");
  const view = new WorldView(world);
  cleanups.push(() => view.dispose());
  const own = createPose();
  let frames = 0;
  await waitFor("frames of a walk", () => {
    world.input(AHEAD);
    const nowMs = performance.now();
    world.frame(nowMs);
    if (!world.pose(world.avatarId!, own)) return false;
    view.place(1 / 60);
    const member = view.scene.crowd.get(world.avatarId!)!;
    expect(member.position.toArray()).toEqual(own.position.toArray());
    frames += own.position.z < -1 ? 1 : 0;
    return frames > 10;
  });
});

it("an entity attached to the predicted avatar is drawn without lag while the avatar runs and turns", async () => {
  const { world, flag } = await joined("ben");
  const view = new WorldView(world);
  cleanups.push(() => view.dispose());
  void world.act("take");
  await draw(view, "the flag on the avatar", () => world.entities.get(flag)!.parent === world.avatarId);
  await draw(view, "the prediction", () => world.display.isPredicted);
  const [own, carried] = [createPose(), createPose()];
  const startZ = world.entities.get(world.avatarId!)!.position[2];
  let lead = 0;
  let apart = 0;
  await draw(view, "a long way", () => {
    world.input({ ...AHEAD, yaw: Math.sin(performance.now() / 500) / 4 });
    if (!world.pose(world.avatarId!, own) || !world.pose(flag, carried) || !world.display.isPredicted)
      return false;
    const told = world.entities.get(world.avatarId!)!.position;
    // The first frames still show the flag on its way to the avatar, so they are skipped.
    if (told[2] > startZ - 4) return false;
    lead = Math.max(lead, Math.hypot(own.position.x - told[0], own.position.z - told[2]));
    apart = Math.max(apart, apartM(carried, own));
    return told[2] < startZ - 16;
  });
  // The test is only meaningful if the prediction is ahead of the server's data.
  expect(lead).toBeGreaterThan(0.3);
  expect(apart).toBeLessThan(0.001);
});
