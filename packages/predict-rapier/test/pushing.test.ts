import { setImmediate } from "node:timers/promises";
import type { Input } from "nowcast/world";
import { beforeAll, expect, it } from "vitest";
import { isLong } from "../../nowcast/test/long.js";
import { loadRapier, type Rapier } from "../src/rapier.js";
import { AVATAR, BLOCK, entityOf, GROUND, kindOf, STILL } from "./entities.js";
import { errorsOf, jumpsOf, mulberry32, percentile } from "./figures.js";
import { LINK, Rig } from "./rig.js";

const SEEDS = isLong ? [1, 2, 3, 4, 5, 6] : [1, 2, 3];
const MS = 15_000;
/** A body that moves by less than this has not been pushed. */
const MOVED_M = 0.002;

let rapier: Rapier;
beforeAll(async () => {
  rapier = await loadRapier();
});

/**
 * Walks or runs at one of the blocks for a while, then at another one, and sometimes jumps, like a player who pushes
 * blocks.
 */
function shover(seed: number): (nowMs: number, rig: Rig) => Input {
  const random = mulberry32(seed);
  let [input, untilMs] = [STILL, 1_000];
  return (nowMs, rig) => {
    if (nowMs < untilMs) return input;
    untilMs = nowMs + 300 + random() * 900;
    const blocks = [...rig.served.values()].map((body) => body.translation());
    const at = blocks[Math.floor(random() * blocks.length)]!;
    const yaw = Math.atan2(rig.mover.px - at.x, rig.mover.pz - at.z) + (random() - 0.5) * 0.4;
    input = random() < 0.1 ? STILL : { forward: 1, right: 0, yaw, run: random() < 0.4, jump: random() < 0.1 };
    return input;
  };
}

const FOUR = [2, 3, 4, 5].map((id) => ({ id, kind: BLOCK, at: [(id - 3.5) * 2, 0.5, -3] }));
const CUBE = kindOf("cube", { shape: "box", size: [0.5, 0.5, 0.5], density: 60, friction: 0.8 });
/** A wall of forty cubes: two deep, five wide and four high. */
const WALL = Array.from({ length: 40 }, (_, n) => {
  const [x, y, z] = [n % 5, Math.floor(n / 5) % 4, Math.floor(n / 20)];
  return { id: n + 2, kind: CUBE, at: [(x - 2) * 0.51, 0.25 + 0.5 * y, -3 - 0.51 * z] };
});

/** The 99th percentiles over all seeds, in metres. For blocks, only frames in which they move count. */
async function measure(isPredicted: boolean, among: typeof FOUR) {
  const found = {
    own: [] as number[],
    body: [] as number[],
    ownGlide: [] as number[],
    bodyGlide: [] as number[],
  };
  const [beside, costUs]: [number[], number[]] = [[], []];
  for (const seed of SEEDS) {
    const blocks = among.map(({ id, kind, at }) => entityOf(id, kind, at));
    const rig = new Rig(rapier, LINK, mulberry32(seed), [entityOf(0, GROUND, [0, -0.5, 0]), ...blocks]);
    if (isPredicted) await rig.predictBodies();
    rig.run(MS, shover(seed));
    found.own.push(...errorsOf(rig, AVATAR));
    found.ownGlide.push(...rig.ownGlides);
    found.bodyGlide.push(...rig.bodyGlides);
    for (const id of rig.served.keys()) {
      found.body.push(...errorsOf(rig, id).filter((metres) => metres > MOVED_M));
      beside.push(...jumpsOf(rig, id).filter((metres) => metres > MOVED_M));
    }
    costUs.push(...rig.costUs);
    expect(rig.bodies?.failure).toBeUndefined();
    rig.close();
    // The pause is needed, because the test runner assumes that a worker without a pause for a minute is dead.
    await setImmediate();
  }
  const [own, body, ownGlide, bodyGlide] = Object.values(found).map((values) => percentile(values, 0.99));
  const mm = [own, body, ownGlide, bodyGlide, percentile(beside, 0.99)].map((m) => Math.round(1000 * m!));
  const us = [0.5, 0.99].map((share) => Math.round(percentile(costUs, share)));
  console.log(
    `${among.length} blocks, ${isPredicted ? "with" : "without"} it, seeds ${SEEDS}, p99 in mm: own error ${mm[0]}, blocks ${mm[1]}, glide a frame of one's own ${mm[2]}, of blocks ${mm[3]}, beside the server's way ${mm[4]}; µs a frame p50 ${us[0]}, p99 ${us[1]}`,
  );
  return { own: own!, body: body!, ownGlide: ownGlide!, bodyGlide: bodyGlide! };
}

it("equals the server's positions of pushed blocks and their pusher, at 100 ms and 5 % lost", async () => {
  const without = await measure(false, FOUR);
  const figures = await measure(true, FOUR);
  expect(figures.own).toBeLessThan(0.1);
  expect(figures.body).toBeLessThan(0.1);
  expect(figures.ownGlide).toBeLessThan(0.0101);
  expect(figures.bodyGlide).toBeLessThan(0.0101);
  expect(figures.own).toBeLessThan(without.own / 4);
  expect(figures.body).toBeLessThan(without.body / 4);
});

it("keeps the own avatar near the server's position while it knocks down a wall of forty blocks", async () => {
  const without = await measure(false, WALL);
  const figures = await measure(true, WALL);
  expect(figures.own).toBeLessThan(0.5);
  expect(figures.body).toBeLessThan(0.5);
  expect(figures.own).toBeLessThan(without.own / 2);
  expect(figures.body).toBeLessThan(without.body / 2);
});
