import { expect, it } from "vitest";
import { type Binding, readBindings } from "../../nowcast/src/world/describe/binding.js";
import { barActions, KEYBOARD, keyedActions, keyName, movementOf } from "../src/hud/key-hints.js";
import { keyHints, moveKey, promptFor, readKeymap } from "../src/index.js";
import { codeName, keyFor } from "../src/input/keymap.js";

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

it("actions on consecutive number keys become one hint", () => {
  const binding = (key: string | string[], label: string, charge = false): Binding => {
    const [found] = readBindings([{ name: label, arguments: [], hint: { key, label } }]);
    return charge ? { ...found!, charge: { argument: "charge", min: 0, max: 1 } } : found!;
  };
  const list = [
    binding("1", "Slot 1"),
    binding("2", "Slot 2"),
    binding("3", "Slot 3"),
    binding(["f", "left"], "Kick", true),
    binding("1", "Answer 1"),
    binding("3", "Answer 3"),
    binding("4", "Gate 4"),
  ];
  const apart = ["1: Answer 1", "3: Answer 3", "4: Gate 4"];
  expect(promptFor(list)).toBe(["1–3: Slot", "hold F / Click: Kick", ...apart].join(" · "));
  expect(promptFor(list, undefined, 2)).toBe("1–3: Slot · hold F / Click: Kick");
  const keymap = moveKey(new Map(), "Digit2", "KeyG");
  expect(keyedActions(list.slice(0, 3), { ...KEYBOARD, keymap })).toEqual([
    { key: "1", label: "Slot 1" },
    { key: "G", label: "Slot 2" },
    { key: "3", label: "Slot 3" },
  ]);
});

it("short bar lists possible actions and first steps, and each key once", () => {
  const list = readBindings(
    [
      ["door", "e"],
      ["switch", "e"],
      ["drive", "e"],
      ["pen", "c"],
      ["wipe", "x"],
    ].map(([name, key]) => ({
      ...{ name: name!, arguments: [], hint: { key: key!, label: name! } },
    })),
  );
  const listed = (possible: string[], steps: string[]) =>
    barActions(list, new Set(possible), steps).map(({ action }) => action);
  const steps = ["Press {door} or {switch}.", "Press {drive}."];
  expect(listed(["pen"], steps)).toEqual(["door", "pen"]);
  expect(listed(["drive", "pen"], steps)).toEqual(["drive", "pen"]);
  expect(listed([], [])).toEqual([]);
});

it("short bar lists an action by its free key if another action has its first key", () => {
  const list = readBindings([
    { name: "pick", arguments: [], hint: { key: "e" } },
    { name: "sell", arguments: [], hint: { key: "e" } },
    { name: "talk", arguments: [], hint: { key: ["e", "t"] } },
  ]);
  const listed = (possible: string[]) =>
    barActions(list, new Set(possible), []).map(({ action, keys }) => `${keys.join("/")} ${action}`);
  expect(listed(["sell", "talk"])).toEqual(["e sell", "t talk"]);
  expect(listed(["pick", "sell", "talk"])).toEqual(["e pick", "t talk"]);
  expect(listed(["talk"])).toEqual(["e/t talk"]);
});

it("hints name the moved keys", () => {
  const keymap = moveKey(moveKey(new Map(), "KeyW", "ArrowUp"), "KeyF", "Digit1");
  expect(keyHints({ ...KEYBOARD, keymap })[0]!.keys).toEqual(["Arrow Up", "A", "S", "D"]);
  expect(keyName("f", keymap)).toBe("1");
  expect([codeName("ShiftLeft"), codeName("Space"), codeName("Numpad5")]).toEqual([
    "Shift",
    "Space",
    "Numpad 5",
  ]);
});

it("promises no walk, jump or gesture in a world without walkers, and only keys that its steps name", () => {
  const ships = { definition: { kinds: [{}] } } as never;
  const effects = (steps: string[]) =>
    keyHints(KEYBOARD, movementOf(ships, steps)).map(({ keys, what }) => `${keys.join("")} ${what}`.trim());
  expect(effects([])).toEqual(["WASD move", "Enter chat", "drag to look"]);
  const steps = ["Lift your ship with {jump}.", "Fly faster with {run}."];
  expect(effects(steps).slice(0, 3)).toEqual(["WASD move", "Shift faster", "Space up"]);
});
