/** Flat ground of any make carries predicted bodies as one box does: `crates/world/tests/engine/flat_ground.rs`. */
import type { Kind } from "nowcast/world";
import { beforeAll, expect, it } from "vitest";
import { type BodyForm, formOf } from "../src/form.js";
import { Island, STRIDE } from "../src/island.js";
import { loadRapier, type Rapier } from "../src/rapier.js";
import { GAIT, kindOf } from "./entities.js";

const SPEED_MPS = 3;
const STEPS = 180;
const UPRIGHT = [0, 0, 0, 1];

let rapier: Rapier;
beforeAll(async () => {
  rapier = await loadRapier();
});

const fixed = (body: object) => kindOf("ground", { motion: "fixed", ...body });
const cells = Array.from({ length: 12 * 4 }, (_, at) => [at % 12, Math.floor(at / 12)] as const);
const corner = (x: number, z: number) => 1 + z * 13 + x;
const MESH = fixed({
  shape: "mesh",
  vertices: Array.from({ length: 13 * 5 }, (_, at) => [at % 13, 0, Math.floor(at / 13) - 2]),
  triangles: cells.flatMap(([x, z]) => [
    ...[corner(x, z), corner(x, z + 1), corner(x + 1, z)],
    ...[corner(x + 1, z), corner(x, z + 1), corner(x + 1, z + 1)],
  ]),
});
const HEIGHTS = fixed({ shape: "heights", heights: new Array(65).fill(0), columns: 13, size: [12, 1, 4] });
const GROUNDS: Record<string, [Kind, number[][]]> = {
  "one box": [fixed({ shape: "box", size: [12, 1, 4] }), [[6, -0.5, 0]]],
  tiles: [fixed({ shape: "box", size: [1, 1, 1] }), cells.map(([x, z]) => [x + 0.5, -0.5, z - 1.5])],
  mesh: [MESH, [[0, 0, 0]]],
  heights: [HEIGHTS, [[6, 0, 0]]],
};
const MOVERS: Record<string, [Kind, number]> = {
  ball: [kindOf("ball", { shape: "sphere", radius: 0.3, mass: 1, restitution: 0 }), 0.3],
  crate: [
    kindOf("crate", { shape: "box", size: [0.6, 0.6, 0.6], mass: 1, friction: 0, restitution: 0 }),
    0.3,
  ],
  person: [kindOf("person", undefined, {}), 0.9],
};

function build(kind: Kind): BodyForm {
  const form = formOf({ kind, scale: [1, 1, 1], owner: undefined });
  if (typeof form === "string") throw new Error(`${kind.name}: ${form}`);
  return form;
}

/** Lets a body go along X for three seconds. Returns its positions. */
function track([ground, places]: [Kind, number[][]], [mover, height]: [Kind, number]): number[][] {
  const island = new Island(rapier, GAIT, GAIT);
  island.putAvatar({ ...still(), py: 50 }, new Float64Array(3));
  for (const place of places) expect(island.addFixed(build(ground), [...place, ...UPRIGHT])).toBeDefined();
  const spin = mover.name === "ball" ? -SPEED_MPS / 0.3 : 0;
  // A person in the island floats, and rests on the ground with its weight only by a small speed.
  const state = [0.7, height, 0.13, ...UPRIGHT, SPEED_MPS, 0, 0, 0, 0, spin];
  const slot = island.add(build(mover), Float32Array.from(state));
  const found: number[][] = [];
  for (let step = 0; step < STEPS; step++) {
    if (mover.name === "person") island.setVelocity(slot, SPEED_MPS, -9.81 / 60, 0);
    island.step();
    found.push([...island.states.subarray(slot * STRIDE, slot * STRIDE + 3)]);
  }
  island.free();
  return found;
}

function still() {
  return {
    px: 0,
    py: 0,
    pz: 0,
    vx: 0,
    vy: 0,
    vz: 0,
    grounds: new Float64Array(12),
    groundCount: 0,
  } as never as Parameters<Island["putAvatar"]>[0];
}

for (const [name, mover] of Object.entries(MOVERS)) {
  it(`lets a ${name} go as far over tiles, a mesh and heights as over one box`, () => {
    const { "one box": box, ...others } = GROUNDS;
    const expected = track(box!, mover);
    expect(expected.at(-1)![0]).toBeGreaterThan(9);
    for (const [make, ground] of Object.entries(others)) {
      for (const [step, [x, y, z]] of track(ground, mover).entries()) {
        const [wanted, high, side] = expected[step]!;
        const what = `${name} over ${make}, step ${step}`;
        expect(Math.abs(x! - wanted!), what).toBeLessThan(0.01 * SPEED_MPS * (STEPS / 60));
        expect(Math.abs(y! - high!), what).toBeLessThan(0.001);
        expect(Math.abs(z! - side!), what).toBeLessThan(0.01);
      }
    }
  });
}
