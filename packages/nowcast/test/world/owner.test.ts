import { expect, it } from "vitest";
import { ownerRulesOf } from "../../src/world/describe/owner.js";

it("the rules of ownership are read once, with the defaults of the engine", () => {
  const owner = { by: "player" };
  const rules = ownerRulesOf({ owner });
  expect(rules).toEqual({
    by: "player",
    speedMax: 10,
    turnMax: 12,
    reachM: undefined,
    area: undefined,
    beyond: "clamp",
    attributes: new Set(),
    spawnsMax: 0,
    leave: "release",
  });
  expect(ownerRulesOf({ owner })).toBe(rules);
});

it("all rules of ownership arrive", () => {
  const area = { at: [0, 1, 0], size: [4, 2, 4] };
  const owner = {
    ...{ by: "anyone", speed: 3, turn: 1.5, reach: 2, area, beyond: "refuse" },
    ...{ attributes: ["text"], spawns: 3, leave: "despawn" },
  };
  expect(ownerRulesOf({ owner })).toEqual({
    by: "anyone",
    speedMax: 3,
    turnMax: 1.5,
    reachM: 2,
    area,
    beyond: "refuse",
    attributes: new Set(["text"]),
    spawnsMax: 3,
    leave: "despawn",
  });
});

it("a kind without rules, or with rules of no known clients, has no owners", () => {
  expect(ownerRulesOf({ owner: undefined })).toBeUndefined();
  expect(ownerRulesOf({ owner: {} })).toBeUndefined();
  expect(ownerRulesOf({ owner: { by: "gods", spawns: -1 } })).toBeUndefined();
  const wrong = { by: "player", speed: Number.NaN, reach: "far", area: { at: 3 }, attributes: [7] };
  expect(ownerRulesOf({ owner: wrong })).toMatchObject({ speedMax: 10, reachM: 0, area: undefined });
});
