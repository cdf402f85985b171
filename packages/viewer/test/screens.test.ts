import fc from "fast-check";
import { expect, it } from "vitest";
import { clockText, readTold, sidesOf, textOf, wordOf } from "../../page/src/hud/screen-text.js";
import { readSound, timbreOf } from "../../page/src/sounds.js";
import { RunningVersion, readPlace } from "../src/hud/rules-console.js";

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
