import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { Emitter } from "../../src/events/emitter.js";
import type { PlayerId, WorldEvents } from "../../src/world/index.js";
import { WorldState } from "../../src/world/world-state.js";

const SPEC = readFileSync(new URL("../../../../spec/WORLD.md", import.meta.url), "utf8");

it("has as many people and programs as a server may admit, and refuses one more", () => {
  const [, people, programs] = /\| people in a world, programs in a world \| ([\d,]+), ([\d,]+) \|/.exec(
    SPEC,
  )!;
  const count = [people, programs].reduce((sum, text) => sum + Number(text!.replace(",", "")), 0);
  expect(count).toBeGreaterThan(0);
  const state = new WorldState(new Emitter<WorldEvents>());
  const join = (id: number): void =>
    state.setPlayer({ id: id as PlayerId, name: `p${id}`, avatarId: undefined, isProgram: id % 2 === 0 });
  for (let id = 1; id <= count; id++) join(id);
  expect(state.players.size).toBe(count);
  expect(() => join(count + 1)).toThrow(expect.objectContaining({ code: "limit_exceeded" }));
});
