import { expect, it } from "vitest";
import { readWalker } from "../../src/world/describe/walker.js";
import { CollisionWorld } from "../../src/world/prediction/collision-world.js";
import { Mover } from "../../src/world/prediction/mover.js";
import type { Entity, EntityId, Input, Kind, World } from "../../src/world/world.js";

const entity = (id: number, body: Record<string, unknown>, position: readonly number[]): Entity =>
  ({
    id,
    kind: { body } as unknown as Kind,
    position,
    quaternion: [0, 0, 0, 1],
    scale: [1, 1, 1],
    tick: 0,
  }) as unknown as Entity;

function worldOf(...entities: Entity[]): CollisionWorld {
  const known = new Map(entities.map((one) => [one.id, one]));
  const world = new CollisionWorld({ on: () => () => undefined, entities: known } as unknown as World, 70);
  world.gather({ px: 0, py: 0, pz: 0 }, 5, 9 as EntityId, undefined);
  return world;
}

const BOX = { shape: "box", size: [2, 2, 2] };

it("finds ladders and water among the bodies, and no other sensors", () => {
  const bodies = [
    { ...BOX, motion: "fixed" },
    { ...BOX, motion: "fixed", role: "ladder" },
    { ...BOX, motion: "sensor", role: "water" },
    { ...BOX, motion: "sensor" },
    { ...BOX, motion: "sensor", role: "ladder" },
    { ...BOX, motion: "fixed", role: "water" },
    { ...BOX, motion: "kinematic", role: "ladder" },
  ];
  const world = worldOf(...bodies.map((body, index) => entity(index + 1, body, [0, 0, 0])));
  const roles = world.near.slice(0, world.count).map(({ role }) => role);
  expect(roles).toEqual(["obstacle", "ladder", "water", "obstacle", "obstacle"]);
});

it("holds a walker in the water of a pool, and stops it at the walls of the pool", () => {
  const pool = { shape: "box", size: [4, 4, 4], motion: "sensor", role: "water" };
  const wall = { shape: "box", size: [4, 4, 1], motion: "fixed" };
  const world = worldOf(entity(1, pool, [0, 0, 0]), entity(2, wall, [0, 0, -2]));
  const mover = new Mover();
  mover.restart(0, 0, 0);
  const ahead: Input = { forward: 1, right: 0, yaw: 0, run: false, jump: false };
  for (let step = 0; step < 120; step++) mover.step(readWalker({}), ahead, world.near, world.count);
  expect(mover.py).toBe(0);
  expect(mover.pz).toBeCloseTo(-1.5 + 0.35, 3);
});
