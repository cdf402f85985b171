import { describe, expect, it } from "vitest";
import { CollisionWorld } from "../../src/world/prediction/collision-world.js";
import { DEFAULT_LAYERS, layersOf, pass } from "../../src/world/prediction/layers.js";
import type { Entity, EntityId, Kind, World } from "../../src/world/world.js";

const kindOf = (layers: Record<string, unknown>): Kind =>
  ({ body: { motion: "fixed", shape: "box", size: [1, 1, 1], ...layers } }) as unknown as Kind;

const wall = (id: number, layers: Record<string, unknown>): Entity =>
  ({
    id,
    kind: kindOf(layers),
    position: [0, 0, 0],
    quaternion: [0, 0, 0, 1],
    scale: [1, 1, 1],
    tick: 0,
  }) as unknown as Entity;

describe("collision layers", () => {
  it("are read from the walker, or from the body of a kind without a walker", () => {
    expect(layersOf(kindOf({ layer: 3, ignores: 5 }))).toEqual({ layer: 3, ignores: 5 });
    const walker = { layer: 2, ignores: 1 };
    expect(layersOf({ ...kindOf({ layer: 3 }), walker } as unknown as Kind)).toEqual(walker);
    for (const layer of [16, -1, 0.5, "1", null, undefined, Number.NaN]) {
      expect(layersOf(kindOf({ layer, ignores: 0x1_0000 }))).toEqual(DEFAULT_LAYERS);
    }
    expect(layersOf({ body: undefined, walker: undefined } as unknown as Kind)).toEqual(DEFAULT_LAYERS);
  });

  it("let two bodies pass if one ignores the layer of the other", () => {
    const ghost = { layer: 1, ignores: 0b1 };
    expect(pass(ghost, DEFAULT_LAYERS)).toBe(true);
    expect(pass(DEFAULT_LAYERS, ghost)).toBe(true);
    expect(pass(ghost, ghost)).toBe(false);
    expect(pass(ghost, { layer: 2, ignores: 0 })).toBe(false);
    expect(pass({ layer: 15, ignores: 0 }, { layer: 0, ignores: 0x8000 })).toBe(true);
  });

  it("keep walls out of the world in which the walker that passes them is predicted", () => {
    const walls = [wall(1, {}), wall(2, { layer: 1 }), wall(3, { ignores: 0b100 })];
    const world = new CollisionWorld(
      {
        on: () => () => undefined,
        entities: new Map(walls.map((entity) => [entity.id, entity])),
      } as unknown as World,
      70,
    );
    const near = (): number => {
      world.gather({ px: 0, py: 0, pz: 0 }, 5, 9 as EntityId, undefined);
      return world.count;
    };
    expect(near()).toBe(3);
    world.setWalker(70, { layer: 2, ignores: 0b10 });
    expect(near()).toBe(1);
    world.setWalker(70, { layer: 0, ignores: 0b10 });
    expect(near()).toBe(2);
  });
});
