import { createPredictor, type Entity, type EntityId, type Pose } from "nowcast/world";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { BodyPredictionError, type BodyPredictor, createBodyPredictor } from "../src/index.js";
import { loadRapier, type Rapier } from "../src/rapier.js";
import { hashScene, SCENE_HASH } from "../src/self-check.js";
import {
  AVATAR,
  BALL,
  BLOCK,
  entityOf,
  GROUND,
  kindOf,
  PERSON,
  type RigEntity,
  Source,
  STEP_MS,
  STILL,
  worldOf,
} from "./entities.js";
import { mulberry32 } from "./figures.js";

let rapier: Rapier;
/** The memory of Rapier's module. */
let memory: WebAssembly.Memory;
beforeAll(async () => {
  const instantiate = vi.spyOn(WebAssembly, "instantiate");
  rapier = await loadRapier();
  const made = (await instantiate.mock.results[0]!
    .value) as unknown as WebAssembly.WebAssemblyInstantiatedSource;
  memory = made.instance.exports["memory"] as WebAssembly.Memory;
  instantiate.mockRestore();
});

const person = () => entityOf(AVATAR, PERSON, [0, 0.9, 0]);
const ground = () => entityOf(100, GROUND, [0, -0.5, 0]);

/** Walks among the test's entities, with one frame every 1/60 s; `tell` may change them before each frame. */
async function walkAmong(
  entities: readonly RigEntity[],
  frames: number,
  tell: (source: Source, frame: number) => void = () => undefined,
): Promise<{ bodies: BodyPredictor; source: Source; shown: number[]; close: () => void }> {
  const source = new Source([person(), ...entities]);
  const world = worldOf(source);
  let nowMs = 0;
  const predictor = createPredictor(world, { nowMs: () => nowMs });
  const bodies = await createBodyPredictor(world, predictor);
  const shown: number[] = [];
  const pose: Pose = { position: [0, 0, 0], quaternion: [0, 0, 0, 1] };
  for (let frame = 0; frame < frames; frame++) {
    nowMs += STEP_MS;
    tell(source, frame);
    if (frame % 3 === 0) {
      const moved = [...source.entities.values()].filter(({ tick }) => tick === frame);
      const sequence = frame > 12 ? Math.max(1, predictor.step - 10) & 0xffff : 0;
      source.tell("snapshot", { tick: frame, ackedInputSequence: sequence, moved, receivedAtMs: nowMs });
    }
    predictor.input({ ...STILL, forward: 1, yaw: frame / 60 });
    predictor.sample(nowMs);
    bodies.sample(nowMs);
    if (predictor.pose(pose)) shown.push(pose.position[0]!, pose.position[1]!, pose.position[2]!);
    for (const id of source.entities.keys()) {
      for (let axis = 0; axis < 3; axis++) pose.position[axis] = 0;
      if (bodies.place(id, pose)) shown.push(...[0, 1, 2].map((axis) => pose.position[axis]!));
    }
  }
  const close = () => {
    bodies.close();
    predictor.close();
  };
  return { bodies, source, shown, close };
}

describe("the check at start", () => {
  it("gives the results of the server's release of Rapier", () => {
    expect(hashScene(rapier)).toBe(SCENE_HASH);
  });

  it("refuses a Rapier that calculates otherwise, by name", async () => {
    class Hasty extends rapier.World {
      override step(): void {
        super.step();
        super.step();
      }
    }
    const world = worldOf(new Source([person()]));
    const predictor = createPredictor(world);
    const other = { ...rapier, World: Hasty } as unknown as Rapier;
    const refused = createBodyPredictor(world, predictor, { load: () => Promise.resolve(other) });
    await expect(refused).rejects.toMatchObject({ name: "BodyPredictionError", code: "other_arithmetic" });
    predictor.close();
  });

  it("reports by name that Rapier cannot be loaded", async () => {
    const world = worldOf(new Source([person()]));
    const predictor = createPredictor(world);
    const load = () => Promise.reject(new BodyPredictionError("not_loaded", "refused by the page's policy"));
    await expect(createBodyPredictor(world, predictor, { load })).rejects.toMatchObject({
      code: "not_loaded",
    });
    predictor.close();
  });
});

describe("the end", () => {
  it("frees every world of Rapier, and leaves no listeners", async () => {
    const freed = vi.spyOn(rapier.World.prototype, "free");
    const blocks = () => Array.from({ length: 20 }, (_, at) => entityOf(at + 2, BLOCK, [at - 10, 0.5, -2]));
    await (await walkAmong([ground(), ...blocks()], 30)).close();
    freed.mockClear();
    const before = memory.buffer.byteLength;
    for (let round = 0; round < 40; round++) {
      const { source, bodies, close } = await walkAmong([ground(), ...blocks()], 30);
      expect(bodies.stats.bodies).toBeGreaterThan(0);
      close();
      close();
      expect(source.listenerCount).toBe(0);
      expect(bodies.stats.bodies).toBe(0);
      expect(bodies.place(2 as EntityId, { position: [0, 0, 0], quaternion: [0, 0, 0, 1] })).toBe(false);
    }
    // Each iteration frees twice: once for the check at the start, and once for the island.
    expect(freed).toHaveBeenCalledTimes(80);
    expect(memory.buffer.byteLength).toBe(before);
    freed.mockRestore();
  });
});

const BAD_NUMBERS = [Number.NaN, Number.POSITIVE_INFINITY, -1e300, 1e30, -0, 5e-324, "7", null, [], {}];

const BAD_BODIES: readonly Record<string, unknown>[] = [
  {
    shape: "hull",
    points: [
      [0, 0, 0],
      [0, 0, 0],
      [0, 0, 0],
      [0, 0, 0],
    ],
  },
  {
    shape: "hull",
    points: [
      [0, 0, 0],
      [1, 0, 0],
      [2, 0, 0],
      [3, 0, 0],
    ],
  },
  {
    shape: "hull",
    points: [
      [0, 0, 0],
      [1, 0, 0],
      [0, 0, 1],
      [1, 0, 1],
    ],
  },
  { shape: "hull", points: Array.from({ length: 100_000 }, () => [0, 0, 0]) },
  {
    shape: "mesh",
    motion: "fixed",
    vertices: [
      [0, 0, 0],
      [0, 0, 0],
      [0, 0, 0],
    ],
    triangles: [1, 1, 1],
  },
  { shape: "mesh", motion: "fixed", vertices: [[0, 0, 0]], triangles: [1, 2, 99] },
  { shape: "heights", motion: "fixed", heights: [0, 0, 0, Number.NaN], columns: 2, size: [4, 0, 4] },
  { shape: "heights", motion: "fixed", heights: [0, 1, 2, 3], columns: 2, size: [4, 0, 4] },
  { shape: "heights", columns: 400, size: [4, 0, 4] },
  { shape: "compound", parts: [{ shape: "compound", parts: [] }] },
  { shape: "compound", parts: [{ shape: "box", size: [1, 1, 1], at: [0, 1, 0], rotation: [9, 9, 9, 9] }] },
  { shape: "compound", parts: [{ shape: "box", size: [1, 1, 1], at: [0, 1, 0] }] },
  { shape: "cone", radius: 0.001, height: 10_000 },
  { shape: "capsule", radius: 1, height: 0.5 },
  { shape: "sphere", radius: -1 },
  { shape: "box", size: [1, 1] },
  { shape: "box", size: [1, 1, 1], mass: -5, friction: Number.NaN, restitution: 1e9, gravity_scale: 1e9 },
  { shape: "box", size: [0.001, 0.001, 0.001], density: 1e300 },
  { shape: "teapot" },
  { motion: "sideways", shape: "box", size: [1, 1, 1] },
  ...BAD_NUMBERS.map((size) => ({ shape: "box", size: [1, size, 1] })),
  ...BAD_NUMBERS.map((radius) => ({ shape: "sphere", radius, mass: radius, density: radius })),
];

describe("messages of a hostile server", () => {
  it("of forms is limited: forms that cannot be built are left out, and the others continue", async () => {
    const entities = BAD_BODIES.map((body, at) =>
      entityOf(at + 2, kindOf(`k${at}`, body), [at % 3, 0.5, -2]),
    );
    const { bodies, shown, close } = await walkAmong([ground(), ...entities], 240);
    expect(shown.length).toBeGreaterThan(500);
    expect(shown.every(Number.isFinite)).toBe(true);
    expect(bodies.failure?.code ?? "broken").toBe("broken");
    close();
  });

  it("of scales and places is bounded, and no such number comes near physics", async () => {
    for (const seed of [1, 2, 3]) {
      const random = mulberry32(seed);
      const draw = () => {
        const bad = BAD_NUMBERS[Math.floor(random() * 6)] as number;
        return random() < 0.3 ? bad : (random() - 0.5) * 10 ** Math.floor(random() * 6);
      };
      const entities = Array.from({ length: 60 }, (_, at) => {
        const entity = entityOf(at + 2, at % 2 === 0 ? BLOCK : BALL, [
          random() * 4 - 2,
          0.5,
          random() * 4 - 2,
        ]);
        if (random() < 0.4) entity.scale = [draw(), draw(), draw()];
        return entity;
      });
      const { bodies, shown, close } = await walkAmong([ground(), ...entities], 300, (source, frame) => {
        for (const entity of source.entities.values()) {
          if (entity.id === AVATAR || entity.kind === GROUND || random() > 0.05) continue;
          entity.position = [draw(), draw(), draw()];
          entity.rotation = [draw(), draw(), draw(), draw()];
          entity.tick = frame;
        }
      });
      console.log(`seed ${seed}: ${JSON.stringify(bodies.stats)}`);
      expect(bodies.failure).toBeUndefined();
      expect(shown.every((part) => Math.abs(part) < 1e6)).toBe(true);
      close();
    }
  });

  it("of hundreds of bodies in one place simulates only as many as there is room for", async () => {
    const heap = Array.from({ length: 700 }, (_, at) => {
      return entityOf(at + 2, BALL, [(at % 9) * 0.1 - 0.4, 0.3 + 0.1 * (at % 7), -1]);
    });
    const walls = Array.from({ length: 500 }, (_, at) => entityOf(at + 1_000, GROUND, [0, -0.5 - at, 0]));
    const { bodies, shown, close } = await walkAmong([ground(), ...heap, ...walls], 60);
    expect(bodies.stats.bodies).toBeLessThanOrEqual(64);
    expect(bodies.stats.fixed).toBeLessThanOrEqual(128);
    expect(shown.every(Number.isFinite)).toBe(true);
    close();
  });

  it("of bodies that come and go, and change, leaves none behind", async () => {
    const random = mulberry32(7);
    const { bodies, source, close } = await walkAmong([ground()], 400, (told, frame) => {
      const id = 2 + Math.floor(random() * 40);
      const known = told.entities.get(id as EntityId);
      if (known === undefined) {
        const entity = entityOf(id, random() < 0.5 ? BLOCK : BALL, [random() * 4 - 2, 0.6, random() * 4 - 2]);
        entity.tick = frame;
        told.entities.set(entity.id, entity);
        told.tell("spawn", { entities: [entity as Entity] });
      } else if (random() < 0.5) {
        told.entities.delete(known.id);
        told.tell("despawn", { entities: [known as Entity], reason: "gone" });
      } else {
        known.scale = [1 + random(), 1, 1];
        told.tell("change", { entity: known as Entity, names: [], parts: ["kind"] });
      }
      if (frame % 100 === 99) told.tell("define", {});
    });
    expect(bodies.failure).toBeUndefined();
    for (const entity of [...source.entities.values()]) {
      if (entity.id === AVATAR) continue;
      source.entities.delete(entity.id);
      source.tell("despawn", { entities: [entity as Entity], reason: "gone" });
    }
    expect(bodies.stats).toMatchObject({ bodies: 0, fixed: 0 });
    close();
  });
});
