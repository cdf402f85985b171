/**
 * Keys that are converted to movement and triggers, or turn the camera without a mouse.
 *
 * @vitest-environment jsdom
 */
import { afterEach, beforeEach, expect, it } from "vitest";
import { InputCollector } from "../src/input/input-collector.js";
import { Keyboard } from "../src/input/keyboard.js";

let keyboard: Keyboard;
let inputs: InputCollector;
let events: string[];
beforeEach(() => {
  events = [];
  inputs = new InputCollector({
    command: (command) => events.push(command),
    press: (trigger) => {
      events.push(`+${trigger}`);
      return false;
    },
    release: (trigger) => events.push(`-${trigger}`),
    cancel: () => undefined,
  });
  keyboard = new Keyboard(inputs);
});
afterEach(() => keyboard.dispose());

function key(type: "keydown" | "keyup", code: string): void {
  window.dispatchEvent(new KeyboardEvent(type, { code, bubbles: true }));
}

it("x and c do the actions of the mouse unless the world has the keys", () => {
  inputs.claimed = new Set(["left", "c"]);
  for (const code of ["KeyX", "KeyC"]) {
    key("keydown", code);
    key("keyup", code);
  }
  expect(events).toEqual(["+left", "-left", "+c", "-c"]);
});

it("the keyboard turns and tilts in a world that has the letters for turning", () => {
  inputs.claimed = new Set(["q", "r"]);
  key("keydown", "KeyQ");
  expect(keyboard.turning).toBe(0);
  key("keydown", "Comma");
  expect(keyboard.turning).toBe(1);
  key("keydown", "PageUp");
  expect(keyboard.tilting).toBe(1);
  key("keyup", "PageUp");
  key("keydown", "PageDown");
  expect(keyboard.tilting).toBe(-1);
});

it("a disposed keyboard does nothing", () => {
  keyboard.dispose();
  inputs.claimed = new Set(["f"]);
  key("keydown", "KeyF");
  key("keydown", "KeyW");
  expect(events).toEqual([]);
  expect(inputs.combine().forward).toBe(0);
});

it("a world that has x and c has other keys for the buttons of the mouse", () => {
  inputs.claimed = new Set(["left", "x", "c"]);
  for (const code of ["KeyV", "KeyX"]) {
    key("keydown", code);
    key("keyup", code);
  }
  expect(events).toEqual(["+left", "-left", "+x", "-x"]);
});

it("digits of the number pad are the digits of the keyboard", () => {
  inputs.claimed = new Set(["1"]);
  key("keydown", "Numpad1");
  key("keyup", "Numpad1");
  expect(events).toEqual(["+1", "-1"]);
});

it("a moved key has the function of another key", () => {
  inputs.claimed = new Set(["f"]);
  inputs.keymap = new Map([
    ["KeyI", "KeyW"],
    ["KeyG", "KeyF"],
  ]);
  key("keydown", "KeyI");
  expect(inputs.keyboard.forward).toBe(1);
  key("keyup", "KeyI");
  expect(inputs.keyboard.forward).toBe(0);
  key("keydown", "KeyG");
  expect(events).toEqual(["+f"]);
});
