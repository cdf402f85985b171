import { expect, it } from "vitest";
import { codeName, keyFor, keyHints, keyName, moveKey, readKeymap } from "../src/index.js";

it("two keys swap their functions, and back", () => {
  const moved = moveKey(new Map(), "KeyF", "KeyG");
  expect([keyFor(moved, "KeyF"), keyFor(moved, "KeyG")]).toEqual(["KeyG", "KeyF"]);
  const again = moveKey(moved, "KeyF", "KeyH");
  expect([keyFor(again, "KeyF"), keyFor(again, "KeyG"), keyFor(again, "KeyH")]).toEqual([
    "KeyH",
    "KeyF",
    "KeyG",
  ]);
  expect(moveKey(moved, "KeyF", "KeyF").size).toBe(0);
});

it("every function keeps exactly one key", () => {
  let keymap = readKeymap({});
  const codes = ["KeyW", "KeyA", "KeyS", "KeyD", "Space", "KeyF"];
  for (let turn = 0; turn < 60; turn++) {
    keymap = moveKey(keymap, codes[turn % 6]!, codes[(turn * 5 + 1) % 6]!);
    expect(new Set(codes.map((code) => keyFor(keymap, code))).size).toBe(6);
  }
});

it("stored keys are read, and anything else is omitted", () => {
  const stored = { KeyF: "KeyG", KeyG: "KeyF", Enter: "KeyW", KeyH: 3, Escape: "KeyA" };
  expect([...readKeymap(stored)]).toEqual([
    ["KeyF", "KeyG"],
    ["KeyG", "KeyF"],
  ]);
  for (const none of [undefined, null, 3, "KeyF"]) expect(readKeymap(none).size).toBe(0);
});

it("hints name the moved keys", () => {
  const keymap = moveKey(moveKey(new Map(), "KeyW", "ArrowUp"), "KeyF", "Digit1");
  expect(keyHints([], keymap)[0]!.keys).toEqual(["Arrow Up", "A", "S", "D"]);
  expect(keyName("f", keymap)).toBe("1");
  expect([codeName("ShiftLeft"), codeName("Space"), codeName("Numpad5")]).toEqual([
    "Shift",
    "Space",
    "Numpad 5",
  ]);
});
