import { expect, it } from "vitest";
import { People } from "../src/people.js";

it("reports joins and new names, and not a new avatar", () => {
  const people = new People();
  expect(people.update({ id: 1, name: "Ada", avatarId: undefined })).toEqual({ what: "came", name: "Ada" });
  expect(people.update({ id: 1, name: "Ada", avatarId: 10 })).toBeUndefined();
  expect(people.update({ id: 1, name: "Countess", avatarId: 10 })).toEqual({
    what: "renamed",
    before: "Ada",
    name: "Countess",
  });
});

it("knows a player's current avatar, and no player who left", () => {
  const people = new People();
  people.update({ id: 1, name: "Ada", avatarId: 10 });
  people.update({ id: 1, name: "Ada", avatarId: 11 });
  expect(people.avatarOf(1)).toBe(11);
  people.remove(1);
  expect(people.avatarOf(1)).toBeUndefined();
  expect(people.count).toBe(0);
});
