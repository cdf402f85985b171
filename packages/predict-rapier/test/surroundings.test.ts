import type { EntityId, Input } from "nowcast/world";
import { beforeAll, expect, it } from "vitest";
import { loadRapier, type Rapier } from "../src/rapier.js";
import { AVATAR, BLOCK, entityOf, GROUND, kindOf, STILL } from "./entities.js";
import { errorsOf, mulberry32, percentile } from "./figures.js";
import { LINK, Rig } from "./rig.js";

const SEEDS = [1, 2, 3];
const PADDLE = 2 as EntityId;
/** Half of a box that is cut from the upper edge at −X to the lower edge at X. */
const WEDGE = [-1, 1].flatMap((z) => [
  [-3, -0.5, z * 2],
  [-3, 0.5, z * 2],
  [3, -0.5, z * 2],
]);
const PADDLES = kindOf("paddle", { motion: "kinematic", shape: "box", size: [0.4, 1.4, 3] });
/** The faces of the wedge, in the form in which servers send them. */
const FACES = [1, 2, 3, 4, 6, 5, 1, 3, 6, 1, 6, 4, 1, 4, 5, 1, 5, 2, 2, 5, 6, 2, 6, 3];
const RAMP = kindOf("ramp", {
  motion: "fixed",
  shape: "hull",
  points: WEDGE,
  triangles: FACES,
  friction: 1,
});

let rapier: Rapier;
beforeAll(async () => {
  rapier = await loadRapier();
});

const LADDER = kindOf("ladder", { motion: "fixed", role: "ladder", shape: "box", size: [2, 4, 0.2] });

/** The 99th percentile of the local avatar's error, in metres. */
async function measure(
  isPredicted: boolean,
  make: (seed: number) => Rig,
  controls: (nowMs: number) => Input,
) {
  const own: number[] = [];
  for (const seed of SEEDS) {
    const rig = make(seed);
    if (isPredicted) await rig.predictBodies();
    rig.run(12_000, controls);
    own.push(...errorsOf(rig, AVATAR));
    expect(rig.bodies?.failure).toBeUndefined();
    rig.close();
  }
  return percentile(own, 0.99);
}

async function compare(what: string, make: (seed: number) => Rig, controls: (nowMs: number) => Input) {
  const without = await measure(false, make, controls);
  const own = await measure(true, make, controls);
  const mm = [own, without].map((metres) => Math.round(metres * 1000));
  console.log(`${what}, seeds ${SEEDS}: own error p99 ${mm[0]} mm, without it ${mm[1]} mm`);
  expect(own).toBeLessThan(0.1);
  expect(own).toBeLessThan(without);
}

it("equals the server's position of the own avatar that a moving body sweeps aside", async () => {
  const make = (seed: number) => {
    const entities = [entityOf(100, GROUND, [0, -0.5, 0]), entityOf(PADDLE, PADDLES, [-2, 0.9, 0])];
    const rig = new Rig(rapier, LINK, mulberry32(seed), entities);
    rig.script = ({ served }) => served.get(PADDLE)!.setLinvel({ x: 0.6, y: 0, z: 0 }, true);
    return rig;
  };
  await compare("a paddle", make, (nowMs) => {
    const yaw = Math.floor(nowMs / 1_500) % 2 === 0 ? Math.PI / 2 : -Math.PI / 2;
    return nowMs % 3_000 < 700 ? { ...STILL, forward: 1, yaw } : { ...STILL, yaw };
  });
});

it("equals the server's position of the own avatar that walks up ramps, and pushes a block there", async () => {
  const make = (seed: number) => {
    const entities = [
      entityOf(100, GROUND, [0, -0.5, 0]),
      entityOf(3, RAMP, [-4, 0.5, 0]),
      entityOf(2, BLOCK, [2, 0.5, 0]),
    ];
    return new Rig(rapier, LINK, mulberry32(seed), entities);
  };
  await compare("a ramp", make, (nowMs) => {
    if (nowMs < 1_000) return STILL;
    const yaw = Math.floor(nowMs / 2_500) % 2 === 0 ? Math.PI / 2 : -Math.PI / 2;
    return { ...STILL, forward: nowMs % 2_500 < 2_200 ? 1 : 0, yaw };
  });
});

it("climbs a ladder beside a body that can move as the server does", async () => {
  for (const seed of SEEDS) {
    const entities = [
      entityOf(10 as EntityId, GROUND, [0, -0.5, 0]),
      entityOf(11 as EntityId, LADDER, [0, 2, -2]),
      entityOf(12 as EntityId, BLOCK, [1.12, 0.5, -1.4]),
    ];
    const rig = new Rig(rapier, LINK, mulberry32(seed), entities);
    await rig.predictBodies();
    rig.run(4_000, (nowMs) => (nowMs < 1_000 ? STILL : { ...STILL, forward: 1 }));
    expect(rig.bodies?.stats.steps).toBeGreaterThan(0);
    expect(percentile(errorsOf(rig, AVATAR), 0.99)).toBeLessThan(0.01);
    expect(Math.max(...rig.frames.map(({ own }) => own[1]!)), `seed ${seed}`).toBeGreaterThan(2);
    rig.close();
  }
});
