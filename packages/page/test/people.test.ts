import type { Player, PlayerId } from "nowcast/world";
import { expect, it } from "vitest";
import { peopleIn } from "../src/people.js";

it("programs are not people", () => {
  const player = (id: number, name: string, isProgram: boolean): [PlayerId, Player] => [
    id as PlayerId,
    { id: id as PlayerId, name, avatarId: undefined, isProgram },
  ];
  const players = new Map([player(1, "Ada", false), player(2, "Studio", true), player(5, "Ben", false)]);
  expect(peopleIn({ players }).map(({ name }) => name)).toEqual(["Ada", "Ben"]);
  expect(peopleIn(undefined)).toEqual([]);
});
