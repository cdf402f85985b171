import { clockText, readSound, readTold, sidesOf, textOf, timbreOf, wordOf } from "@nowcast/page";
import fc from "fast-check";
import { expect, it } from "vitest";
import { RunningVersion, readPlace } from "../src/hud/rules-console.js";
import { readPlayers, readWorlds } from "../src/start/worlds.js";

it("writes a score by its sides, in the same order for all players", () => {
  expect(sidesOf({ red: 2, blue: 0 })).toEqual([
    { name: "blue", value: "0" },
    { name: "red", value: "2" },
  ]);
  expect(sidesOf(7)).toEqual([{ name: "", value: "7" }]);
  expect(sidesOf(null)).toEqual([]);
});

it("writes a clock in minutes and seconds", () => {
  expect(clockText(180)).toBe("3:00");
  expect(clockText(9.2)).toBe("0:10");
  expect(clockText(-3)).toBe("0:00");
  expect(clockText("half time")).toBe("half time");
});

it("writes values of any kind as one line", () => {
  expect(textOf(true)).toBe("yes");
  expect(textOf(0.5)).toBe("0.50");
  expect(textOf(["Ada", "Ben"])).toBe("Ada, Ben");
  expect(textOf({ wave: 3, lives: 20 })).toBe("lives 20 · wave 3");
  expect(wordOf("time_left")).toBe("time left");
});

it("reads the line of an event that tells one player something", () => {
  expect(readTold({ text: "Bo has 3 apples" })).toBe("Bo has 3 apples");
  expect(readTold({ text: "x".repeat(500) })).toHaveLength(400);
  for (const odd of [undefined, "x", {}, { text: 3 }, { text: "" }]) expect(readTold(odd)).toBeUndefined();
});

it("stays short for any text of a world", () => {
  fc.assert(
    fc.property(fc.anything(), (value) => {
      expect(textOf(value).length).toBeLessThanOrEqual(160);
      expect(sidesOf(value).length).toBeLessThanOrEqual(12);
      clockText(value);
    }),
  );
});

it("finds file and line in a report", () => {
  expect(readPlace("world.luau:12: attempt to index nil\nstack")).toEqual({
    file: "world.luau",
    line: 12,
    cause: "attempt to index nil\nstack",
  });
  expect(readPlace("lib/teams.luau:3:7: unknown name")).toMatchObject({ file: "lib/teams.luau", line: 3 });
  expect(readPlace("the world has no world.luau")).toBeUndefined();
});

it("parses sounds, and knows the words in their names", () => {
  expect(readSound({ file: "assets/whistle.ogg", at: [1, 2, 3], volume: 5 })).toEqual({
    file: "assets/whistle.ogg",
    at: [1, 2, 3],
    volume: 1,
  });
  expect(readSound({ file: "a", at: [1, 2], volume: Number.NaN })).toMatchObject({
    at: undefined,
    volume: 1,
  });
  expect(readSound({ file: 3 })).toBeUndefined();
  expect(timbreOf("assets/Final-Whistle.ogg").trillHz).toBeGreaterThan(0);
  expect(timbreOf("assets/big_explosion.ogg").wave).toBe("noise");
  expect(timbreOf("assets/whistles/nothing-known.ogg")).toEqual(timbreOf("x"));
});

const HASH = "0123456789abcdef".repeat(4);

it("lists the worlds of a server, and nothing that is none", () => {
  const answer = {
    worlds: [
      { name: "football", version: 3, hash: "ab", rooms: ["football", "football-2", 7] },
      { name: "playground", goal: "Pile up blocks", how: ["Grab one", 7], picture: `/assets/${HASH}` },
      { name: "shop", goal: 3, how: "no", picture: "https://elsewhere/x.jpg" },
      { name: "<b>NO</b>" },
      null,
    ],
  };
  expect(readWorlds(answer)).toEqual([
    { name: "football", rooms: ["football", "football-2"], goal: "", how: [], picture: undefined },
    {
      name: "playground",
      rooms: [],
      goal: "Pile up blocks",
      how: ["Grab one"],
      picture: `/assets/${HASH}`,
    },
    { name: "shop", rooms: [], goal: "", how: [], picture: undefined },
  ]);
  for (const none of [undefined, "no", { worlds: 3 }, 404]) expect(readWorlds(none)).toEqual([]);
});

it("version_taken_back_gives_way_to_the_version_before_it", () => {
  const version = new RunningVersion();
  version.take({ outcome: "runs", version: 1 });
  version.take({ outcome: "runs", version: 2 });
  version.take({ outcome: "refused", version: 3 });
  expect(version.current).toBe(2);
  version.take({ outcome: "rolled_back", version: 2 });
  expect(version.current).toBe(1);
  version.clear();
  version.take({ outcome: "rolled_back", version: 9 });
  expect(version.current).toBeUndefined();
});

it("the players of all rooms of a world are counted together, and invalid rooms are omitted", () => {
  const rooms = [
    { name: "plaza", world: "plaza", players: 2 },
    { name: "plaza-2", world: "plaza", players: 1 },
    { name: "arena", world: "arena", players: 0 },
    { name: "odd", world: "arena", players: -1 },
    { name: "other", world: 3, players: 1 },
    null,
  ];
  expect([...readPlayers({ rooms })]).toEqual([
    ["plaza", 3],
    ["arena", 0],
  ]);
  for (const none of [undefined, "no", { rooms: 3 }, 404]) expect(readPlayers(none).size).toBe(0);
});
