/** The local avatar and the entities on it, drawn by the plain protocol: turned at once, and otherwise interpolated. */
import { createPose, WorldScene, WorldView } from "@nowcast/three";
import { createPoses, ENCODINGS, joinWorld } from "nowcast/world";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { waitFor } from "../../nowcast/test/wait-for.js";
import { serveWorld, type WorldFolder } from "../../nowcast/test/world-folder.js";
import { AvatarPrediction } from "../src/avatar/avatar-prediction.js";

const RULES = `--!strict
local world = require("@nowcast/world")
local Person = world.kind("person", { walker = {} })
local Floor = world.kind("floor", { body = { motion = "fixed", shape = "box", size = vector.create(400, 1, 400) } })
local Flag = world.kind("flag", { body = { motion = "fixed", shape = "box", size = vector.create(0.1, 1, 0.1) } })
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
end)
`;

let folder: WorldFolder;
const cleanups: (() => void)[] = [];
beforeAll(async () => {
  folder = await serveWorld("carry", RULES);
});
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});
afterAll(() => folder?.stop());

it.each(
  ENCODINGS,
)("a flag on the own avatar is drawn on it while it runs and turns, by %s", async (encoding) => {
  const url = `ws://localhost:${folder.server.port}/ws/carry-${encoding}`;
  const world = joinWorld(url, { protocol: "plain", encoding });
  const scene = new WorldScene();
  const steering = {
    yawOf: (): number => Math.sin(performance.now() / 500) / 4,
    isHolding: false,
  };
  const prediction = new AvatarPrediction(world, scene, steering);
  const poses = createPoses(world, {
    adjustAvatar: (pose, isPredicted) => prediction.adjust(pose, isPredicted),
  });
  const view = new WorldView(world, { scene, poses });
  cleanups.push(
    () => view.dispose(),
    () => poses.close(),
    () => world.close(),
  );
  await waitFor("the avatar", () => world.entities.has(world.avatarId!));
  void world.act("take");
  const flag = await waitFor("the flag on the avatar", () => {
    view.update(performance.now(), 1 / 60);
    return [...world.entities.values()].find(({ parent }) => parent === world.avatarId);
  });
  const plain = { position: [0, 0, 0], quaternion: [0, 0, 0, 1] };
  const [own, carried] = [createPose(), createPose()];
  const startZ = world.entities.get(world.avatarId!)!.position[2];
  let [frames, turned, apart] = [0, 0, 0];
  await waitFor("a long way", () => {
    const input = { forward: 1, right: 0, yaw: steering.yawOf(), run: true, jump: false };
    poses.input(input);
    view.update(performance.now(), 1 / 60);
    const told = world.entities.get(world.avatarId!)!.position;
    // The first frames still show the flag on its way to the avatar, so they are skipped.
    if (told[2] > startZ - 4) return false;
    expect(view.pose(world.avatarId!, own) && view.pose(flag.id, carried)).toBe(true);
    expect(poses.interpolator.pose(world.avatarId!, plain)).toBe(true);
    const member = scene.crowd.get(world.avatarId!)!;
    expect([member.x, member.y, member.z, member.qy]).toEqual([own.x, own.y, own.z, own.qy]);
    frames += 1;
    expect([own.x, own.z]).toEqual([plain.position[0], plain.position[2]]);
    turned = Math.max(turned, Math.abs(own.qy - plain.quaternion[1]!));
    apart = Math.max(apart, Math.hypot(carried.x - own.x, carried.y - 1.4 - own.y, carried.z - own.z));
    return told[2] < startZ - 16;
  });
  console.log(
    `${frames} frames by ${encoding}: turned by ${turned.toFixed(3)}, the flag ${apart.toFixed(4)} m off`,
  );
  expect(frames).toBeGreaterThan(30);
  // The test is only meaningful if the avatar is drawn in another direction than its interpolated one.
  expect(turned).toBeGreaterThan(0.01);
  expect(apart).toBeLessThan(0.001);
});
