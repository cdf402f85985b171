import { expect, it } from "vitest";
import { People } from "../src/people.js";

it("says who came and who is called otherwise now, and nothing of a new avatar", () => {
  const people = new People();
  expect(people.update({ id: 1, name: "Ada", avatarId: undefined })).toEqual({ what: "came", name: "Ada" });
  expect(people.update({ id: 1, name: "Ada", avatarId: 10 })).toBeUndefined();
  expect(people.nameOf(10)).toBe("Ada");
  expect(people.update({ id: 1, name: "Countess", avatarId: 10 })).toEqual({
    what: "renamed",
    before: "Ada",
    name: "Countess",
  });
  expect(people.nameOf(10)).toBe("Countess");
});

it("gives a name to the avatar that a player has now, and to no other", () => {
  const people = new People();
  people.update({ id: 1, name: "Ada", avatarId: 10 });
  people.update({ id: 1, name: "Ada", avatarId: 11 });
  expect(people.nameOf(10)).toBeUndefined();
  expect(people.nameOf(11)).toBe("Ada");
  expect(people.avatarOf(1)).toBe(11);
  people.remove(1);
  expect(people.nameOf(11)).toBeUndefined();
  expect(people.count).toBe(0);
});
