/** Listeners of the entities of one kind, of one entity, and of one attribute. */
import { expect, it } from "vitest";
import { Emitter } from "../../src/events/emitter.js";
import { watchAttribute, watchEntities } from "../../src/world/watch.js";
import type { Entity, EntityId, World, WorldEvents } from "../../src/world/world.js";
import { entityOf, kind } from "./prediction-rig.js";

const [BALL, SHEEP] = [kind("ball", [1, 1, 1]), kind("sheep", [1, 1, 1])];

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

class FakeWorld {
  readonly emitter = new Emitter<WorldEvents>();
  readonly entities = new Map<EntityId, Mutable<Entity>>();

  readonly on = <K extends keyof WorldEvents>(type: K, listener: (event: WorldEvents[K]) => void) =>
    this.emitter.on(type, listener);

  spawn(id: number, of: typeof BALL, attributes: Record<string, unknown> = {}): void {
    const entity = { ...entityOf(id, of, [0, 0, 0]), attributes };
    this.entities.set(entity.id, entity);
    this.emitter.emit("spawn", { entity });
  }

  despawn(id: number): void {
    const entity = this.entities.get(id as EntityId)!;
    this.entities.delete(entity.id);
    this.emitter.emit("despawn", { entity, reason: "gone" });
  }

  get asWorld(): World {
    return this as unknown as World;
  }

  change(id: number, changes: Partial<Mutable<Entity>>): void {
    const entity = this.entities.get(id as EntityId)!;
    const names = Object.keys(changes.attributes ?? {});
    Object.assign(entity, changes);
    this.emitter.emit("change", { entity, names, parts: changes.kind === undefined ? [] : ["kind"] });
  }
}

it("a listener of a kind sees present and later entities, and their leaving", () => {
  const world = new FakeWorld();
  world.spawn(1, BALL);
  world.spawn(2, SHEEP);
  const seen: string[] = [];
  const stop = watchEntities(world.asWorld, "ball", ({ id }) => {
    seen.push(`+${id}`);
    return () => seen.push(`-${id}`);
  });
  world.spawn(3, BALL);
  world.despawn(1);
  world.change(2, { kind: BALL });
  world.change(3, { kind: SHEEP });
  expect(seen).toEqual(["+1", "+3", "-1", "+2", "-3"]);
  stop();
  world.spawn(4, BALL);
  expect(seen).toEqual(["+1", "+3", "-1", "+2", "-3", "-2"]);
});

it("a listener of one entity ends with its signal and with the world", () => {
  const world = new FakeWorld();
  const seen: string[] = [];
  const abort = new AbortController();
  const note = (name: string) => (): (() => void) => {
    seen.push(`+${name}`);
    return () => {
      seen.push(`-${name}`);
    };
  };
  watchEntities(world.asWorld, 7 as EntityId, note("a"), { signal: abort.signal });
  watchEntities(world.asWorld, 7 as EntityId, note("b"));
  world.spawn(6, BALL);
  world.spawn(7, BALL);
  abort.abort();
  world.emitter.emit("status", { status: "closed" });
  world.spawn(7, BALL);
  expect(seen).toEqual(["+a", "+b", "-a", "-b"]);
});

it("a listener of an attribute receives its present value and each change", () => {
  const world = new FakeWorld();
  world.spawn(1, SHEEP, { wool: 1 });
  const seen: unknown[] = [];
  const stop = watchAttribute(world.asWorld, "sheep", "wool", (wool, { id }) => seen.push([id, wool]));
  world.spawn(2, SHEEP);
  world.change(1, { attributes: { wool: 0.5 } });
  world.change(1, { attributes: { name: "Dolly" } });
  expect(seen).toEqual([
    [1, 1],
    [2, undefined],
    [1, 0.5],
  ]);
  stop();
  world.change(2, { attributes: { wool: 1 } });
  expect(seen.length).toBe(3);
});
