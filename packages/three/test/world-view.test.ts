import { type EntityId, joinWorld, type World } from "nowcast/world";
import { Object3D } from "three";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ServerProcess } from "../../nowcast/test/server-process.js";
import { waitFor } from "../../nowcast/test/wait-for.js";
import { startLoop } from "../src/loop.js";
import { createPose } from "../src/pose.js";
import { WorldView } from "../src/world-view.js";

let server: ServerProcess;
const worlds: World[] = [];
beforeAll(async () => {
  server = await ServerProcess.start();
});
afterAll(async () => {
  for (const world of worlds) world.close();
  await server?.stop();
});

function join(name: string): World {
  const world = joinWorld(`nowcast://localhost:${server.port}/playground-view`, { name });
  worlds.push(world);
  return world;
}

it("draws the entities of a world, including earlier ones, and moves them", async () => {
  const world = join("Ada");
  const early = new WorldView(world);
  const avatar = await waitFor("the avatar", () => early.scene.crowd.get(world.avatarId ?? 0));
  expect(avatar.body.player, "clothes are those of the player").toBe(world.playerId);
  const late = new WorldView(world);
  expect([...late.scene.all].length).toBe([...early.scene.all].length);
  expect(late.scene.crowd.members.length).toBe(early.scene.crowd.members.length);

  world.input({ forward: 1, right: 0, yaw: 0, run: true, jump: false });
  const startZ = world.entities.get(world.avatarId!)!.position[2];
  await waitFor("steps on the screen", () => {
    early.update(performance.now(), 0.016);
    return early.scene.crowd.get(world.avatarId!)!.position.z < startZ - 0.5;
  });

  early.dispose();
  expect([...early.scene.all]).toEqual([]);
  // Closing the first view does not affect another view of the same world.
  late.update(performance.now(), 0.016);
  expect(world.pose(world.avatarId!, createPose())).toBe(true);
  late.dispose();
});

it("fetches models from the world's own server, not from the page's", async () => {
  const world = joinWorld(`nowcast://localhost:${server.port}/gallery-view`);
  worlds.push(world);
  await world.ready;
  const view = new WorldView(world, { report: () => {} });
  const { assets } = view.scene;
  const model = assets.find("assets/door.glb")!;
  expect((await assets.get(model, 1 << 20)).byteLength).toBe(model.bytes);
  view.dispose();
});

it("an own object stands for each entity of its kind, moves with it, and leaves with it", async () => {
  const world = join("Bo");
  const made: EntityId[] = [];
  const view = new WorldView(world, {
    kinds: {
      person: ({ id }) => {
        made.push(id);
        return new Object3D();
      },
    },
  });
  const avatar = await world.joined;
  const object = await waitFor("the object", () =>
    view.group.children.find(({ userData }) => userData["kind"]),
  );
  expect(made.filter((id) => id === avatar.id)).toHaveLength(1);
  expect(view.scene.crowd.get(avatar.id)!.isModelled).toBe(true);
  const start = avatar.position[2];
  world.input({ forward: 1, right: 0, yaw: 0, run: true, jump: false });
  const objects = (): Object3D[] =>
    view.group.children.filter(({ userData }) => userData["kind"] === "person");
  await waitFor("steps on the screen", () => {
    view.update(performance.now(), 0.016);
    return objects().some(({ position }) => position.z < start - 0.5 && Math.abs(position.x) < 100);
  });
  const pose = createPose();
  view.update(performance.now(), 0.016);
  expect(world.pose(avatar.id, pose)).toBe(true);
  expect(objects().some(({ position }) => position.equals(pose.position))).toBe(true);
  view.dispose();
  expect(object.parent).toBeNull();
  expect(objects()).toEqual([]);
});

it("limits a frame to a tenth of a second, and ends on request", () => {
  let run: ((nowMs: number) => void) | null = null;
  const renderer = {
    setAnimationLoop: async (callback: typeof run) => {
      run = callback;
    },
  };
  const frames: number[] = [];
  const stop = startLoop(renderer as never, ({ seconds }) => frames.push(seconds));
  const startMs = performance.now() + 1_000;
  for (const nowMs of [startMs, startMs + 16, startMs + 60_000]) run!(nowMs);
  expect(frames.slice(1)).toEqual([expect.closeTo(0.016), 0.1]);
  stop();
  expect(run).toBeNull();
});
