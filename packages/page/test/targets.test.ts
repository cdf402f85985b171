import { Vector3 } from "three";
import { expect, it } from "vitest";
import type { TargetRule } from "../../nowcast/src/world/describe/binding.js";
import type { Form } from "../../nowcast/src/world/describe/shape.js";
import { type DrawnKind, describeBody } from "../../three/src/look/body.js";
import type { Member } from "../../three/src/people/crowd.js";
import { createPose } from "../../three/src/pose.js";
import { Obstacles } from "../../three/src/scene/obstacles.js";
import { createProp, type Prop } from "../../three/src/scene/prop.js";
import { type Actor, type Aim, findPlace, findTarget } from "../src/targets.js";

const BOX: Form = { shape: "box", size: [0.5, 0.5, 0.5] };
const RULE: TargetRule = { argument: "block", isOptional: true, of: new Set(["block"]), reachM: 2 };
/** An aim over the shoulder, above all obstacles of this test. */
const UP: Aim = { origin: new Vector3(0, 2, 3), direction: new Vector3(0, 1, 0) };

function prop(id: number, x: number, z: number, kind = "block"): Prop {
  const facts: DrawnKind = {
    name: kind,
    body: { shape: "box", size: [0.5, 0.5, 0.5] },
    walker: undefined,
    look: undefined,
  };
  const body = describeBody({ id, kind: facts, scale: [1, 1, 1], parent: undefined, attributes: {} });
  return createProp(body, BOX, createPose(x, 0.25, z));
}

function actor(holding?: number): Actor {
  const facts: DrawnKind = { name: "person", body: undefined, walker: {}, look: undefined };
  const attributes = { holding };
  const body = describeBody({ id: 1, kind: facts, scale: [1, 1, 1], parent: undefined, attributes });
  return { id: 1, body, halfHeight: 0.9, ...createPose(0, 0.9) };
}

it("is the nearest in front that arms reach", () => {
  const props = [prop(2, 0, -3), prop(3, 0.2, -1.8), prop(4, 0, -1.5), prop(5, 0, 1)];
  expect(findTarget(actor(), UP, RULE, props, [])?.id).toBe(4);
  expect(findTarget(actor(), UP, RULE, [prop(2, 0, -3), prop(5, 0, 1)], [])?.id).toBeUndefined();
});

it("is the entity in view, even if another is nearer", () => {
  const props = [prop(3, 1.2, -1), prop(4, 0, -1)];
  const aim = { origin: new Vector3(2.4, 0.25, -1), direction: new Vector3(-1, 0, 0) };
  expect(findTarget(actor(), UP, RULE, props, [])?.id).toBe(4);
  expect(findTarget(actor(), aim, RULE, props, [])?.id).toBe(3);
});

it("is a character, but no player, at the side or behind if nothing is in front", () => {
  const member = (id: number, x: number, z: number, player?: number) =>
    ({
      ...createPose(x, 0.9, z),
      id,
      body: { ...actor().body, id, player },
      size: 1,
      halfHeight: 0.9,
    }) as unknown as Member;
  const rule = { ...RULE, of: undefined };
  const people = [member(7, 1.4, 0), member(8, 0, 1.8)];
  expect(findTarget(actor(), UP, rule, [], people)?.id).toBe(7);
  expect(findTarget(actor(), UP, rule, [], people.slice(1))?.id).toBe(8);
  expect(findTarget(actor(), UP, rule, [prop(3, 0, -1.9)], people)?.id).toBe(3);
  expect(findTarget(actor(), UP, rule, [], [member(9, 0, 3)])).toBeUndefined();
  expect(findTarget(actor(), UP, rule, [], [member(7, 0, 1.4, 2)])).toBeUndefined();
  expect(findTarget(actor(), UP, rule, [], [member(7, 0, -1.4, 2)])?.id).toBe(7);
});

it("has a kind that the action allows, and is not the held item", () => {
  const props = [prop(2, 0, -1, "lamp"), prop(3, 0, -1.2)];
  expect(findTarget(actor(), UP, RULE, props, [])?.id).toBe(3);
  expect(findTarget(actor(3), UP, RULE, props, [])?.id).toBeUndefined();
  expect(findTarget(actor(), UP, { ...RULE, of: undefined }, props, [])?.id).toBe(2);
});

it("is within the declared reach", () => {
  const props = [prop(2, 0, -2.6)];
  expect(findTarget(actor(), UP, RULE, props, [])?.id).toBeUndefined();
  expect(findTarget(actor(), UP, { ...RULE, reachM: 2.5 }, props, [])?.id).toBe(2);
});

it("is the thing under the feet, wherever on it the player stands and looks", () => {
  const platform = Object.assign(prop(2, 0, 0.9), { halfX: 1.2, halfY: 0.1, halfZ: 1.2, y: -0.1 });
  expect(findTarget(actor(), UP, RULE, [platform], [])?.id).toBe(2);
});

it("a place is where the pointer's ray meets the world, or the free cell before it, and within reach", () => {
  const obstacles = new Obstacles();
  obstacles.add(prop(2, 0.25, -2.25));
  const rule = { argument: "at", isOptional: false, reachM: 4, gridM: 0 };
  const aim = { origin: new Vector3(0.25, 0.25, 3), direction: new Vector3(0, 0, -1) };
  expect(findPlace(actor(), aim, rule, obstacles)).toEqual([0.25, 0.25, -2]);
  expect(findPlace(actor(), aim, { ...rule, gridM: 0.5 }, obstacles)).toEqual([0.25, 0.25, -1.75]);
  expect(findPlace(actor(), aim, { ...rule, reachM: 2 }, obstacles)).toBeUndefined();
  expect(findPlace(actor(), UP, rule, obstacles)).toBeUndefined();
});
