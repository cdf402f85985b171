import { expect, expectTypeOf, test } from "vitest";
import { joinWorld, type World, type WorldOf } from "../../src/world/index.js";

/** The output of `nowcast gen`. */
type Football = {
  kinds: { ball: { last: number | null }; footballer: { team: string } };
  actions: { kick: { power: number }; wave: Record<string, never> };
  events: { goal: { team: number } };
};

const NOWHERE = "nowcast://127.0.0.1:1/football";

test("a world with known types has typed actions, attributes and events", () => {
  const world = joinWorld<Football>(NOWHERE, { reconnect: false });
  expectTypeOf<Awaited<typeof world>>().toEqualTypeOf<WorldOf<Football>>();
  world.on("event:goal", ({ payload }) => expectTypeOf(payload).toEqualTypeOf<Readonly<{ team: number }>>());
  // @ts-expect-error: the world has no such event
  world.on("event:goall", () => {});
  // @ts-expect-error: the world has no such event
  world.once("event:goall").catch(() => {});
  world.once("chat").catch(() => {});
  world.on("chat", ({ text }) => expectTypeOf(text).toBeString());
  expectTypeOf(world).toExtend<World>();
  world.act("kick", { power: 1 });
  world.act("wave");
  // @ts-expect-error: the world has no such action
  world.act("dance");
  // @ts-expect-error: power is a number
  world.act("kick", { power: "hard" });
  for (const ball of world.entitiesOf("ball"))
    expectTypeOf(ball.attributes.last).toEqualTypeOf<number | null>();
  world.close();
  expect(world.status).toBe("closed");
});

test("a world with unknown types accepts any action and emits any event", () => {
  const world = joinWorld(NOWHERE, { reconnect: false });
  world.on("event:goal", ({ payload }) => expectTypeOf(payload).toBeUnknown());
  world.act("anything", { at: 1 });
  expect([...world.entitiesOf("ball")]).toEqual([]);
  expect(world.stats.unsentActions).toBe(1);
  world.close();
});
