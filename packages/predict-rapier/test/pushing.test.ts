import type { EntityId, Input } from "nowcast/world";
import { beforeAll, describe, expect, it } from "vitest";
import { loadRapier, type Rapier } from "../src/rapier.js";
import { AVATAR, BLOCK, entityOf, errorsOf, GROUND, jumpsOf, LINK, mulberry32, percentile, Rig, STILL } from "./rig.js";

const SEEDS = [1, 2, 3];
const MS = 20_000;

let rapier: Rapier;
beforeAll(async () => {
  rapier = await loadRapier();
});

/** Walks at the nearest block, for a while, then elsewhere and back, as people do who shove things about. */
function shover(seed: number): (nowMs: number, rig: Rig) => Input {
  const random = mulberry32(seed);
  let [input, untilMs] = [STILL, 1_000];
  return (nowMs, rig) => {
    const { px, pz } = rig.mover;
    if (nowMs < untilMs) return input;
    untilMs = nowMs + 300 + random() * 900;
    const blocks = [...rig.served.values()].map((body) => body.translation());
    const at = blocks[Math.floor(random() * blocks.length)]!;
    const yaw = random() < 0.75 ? Math.atan2(px - at.x, pz - at.z) : random() * 6 - 3;
    input = random() < 0.15 ? STILL : { forward: 1, right: 0, yaw, run: random() < 0.4, jump: random() < 0.1 };
    return input;
  };
}

async function shove(seed: number, isPredicted: boolean): Promise<Rig> {
  const blocks = [2, 3, 4, 5].map((id) => entityOf(id, BLOCK, [(id - 3.5) * 2, 0.5, -3]));
  const rig = new Rig(rapier, LINK, mulberry32(seed), [entityOf(10, GROUND, [0, -0.5, 0]), ...blocks]);
  if (isPredicted) await rig.predictBodies();
  rig.run(MS, shover(seed));
  return rig;
}

interface Figures {
  readonly own: number;
  readonly body: number;
  readonly ownJump: number;
  readonly bodyJump: number;
}

/** The 99th percentiles of all seeds together, of blocks while they move. */
async function measure(isPredicted: boolean): Promise<Figures> {
  const [own, body, ownJump, bodyJump]: number[][] = [[], [], [], []];
  for (const seed of SEEDS) {
    const rig = await shove(seed, isPredicted);
    own!.push(...errorsOf(rig, AVATAR, 1_000));
    ownJump!.push(...rig.ownGlides);
    for (const id of rig.served.keys()) {
      body!.push(...errorsOf(rig, id, 1_000).filter((metres) => metres > 0.002));
      bodyJump!.push(...jumpsOf(rig, id, 1_000).filter((metres) => metres > 0.0005));
    }
    console.log(seed, rig.waits, rig.bodies?.stats, rig.predictor.corrections, 'cost us p50/p99', percentile(rig.costUs, .5), percentile(rig.costUs, .99), rig.bodies?.failure);
    expect(rig.bodies?.failure).toBeUndefined();
    rig.close();
  }
  const p99 = (values: readonly number[]) => percentile(values, 0.99);
  return { own: p99(own!), body: p99(body!), ownJump: p99(ownJump!), bodyJump: p99(bodyJump!) };
}

describe("blocks that are pushed", () => {
  it("are where the server has them, and so is who pushes them", async () => {
    const without = await measure(false);
    const figures = await measure(true);
    console.log(`seeds ${SEEDS}: with ${JSON.stringify(figures)}, without ${JSON.stringify(without)}`);
    void (2 as EntityId);
    expect(figures.own).toBeLessThan(0.1);
    expect(figures.body).toBeLessThan(0.1);
  });
});
