/**
 * Gamepads that come, go, and are used in turn.
 *
 * @vitest-environment jsdom
 */
import { afterEach, beforeEach, expect, it } from "vitest";
import { GamepadInput, shareOutButtons } from "../src/input/gamepad.js";
import { InputCollector } from "../src/input/input-collector.js";

const TRIGGER = 7;

interface Pad {
  index: number;
  id: string;
  connected: boolean;
  mapping: string;
  axes: number[];
  buttons: { pressed: boolean }[];
}

let pads: (Pad | null)[];
let events: string[];
let unknown: string[];
let inputs: InputCollector;
let gamepad: GamepadInput;
let abort: AbortController;

beforeEach(() => {
  [pads, events, unknown] = [[], [], []];
  abort = new AbortController();
  Object.assign(navigator, { getGamepads: () => pads });
  inputs = new InputCollector({
    command: () => undefined,
    press: (trigger) => {
      events.push(`+${trigger}`);
      return false;
    },
    release: (trigger) => events.push(`-${trigger}`),
    cancel: () => undefined,
  });
  inputs.padTriggers = new Map([[TRIGGER, "f"]]);
  gamepad = new GamepadInput(inputs, abort.signal, {
    unknown: (name) => unknown.push(name),
    connected: () => undefined,
    disconnected: () => undefined,
    used: () => undefined,
  });
});
afterEach(() => abort.abort());

function connect(mapping = "standard"): Pad {
  const buttons = Array.from({ length: 17 }, () => ({ pressed: false }));
  const pad = {
    index: pads.length,
    id: `pad ${pads.length}`,
    connected: true,
    mapping,
    axes: [0, 0, 0, 0],
    buttons,
  };
  pads.push(pad);
  window.dispatchEvent(Object.assign(new Event("gamepadconnected"), { gamepad: pad }));
  return pad;
}

it("releases a trigger that is held when the gamepad is unplugged, once", () => {
  const pad = connect();
  pad.buttons[TRIGGER]!.pressed = true;
  pad.axes[1] = -1;
  gamepad.poll(0.016);
  expect([events, inputs.gamepad.forward]).toEqual([["+f"], 1]);
  pads[0] = null;
  gamepad.poll(0.016);
  gamepad.poll(0.016);
  expect([events, inputs.gamepad.forward]).toEqual([["+f", "-f"], 0]);
});

it("follows the gamepad that is used", () => {
  const [first, second] = [connect(), connect()];
  second.axes[1] = -1;
  gamepad.poll(0.016);
  expect(inputs.gamepad.forward).toBe(1);
  second.axes[1] = 0;
  first.buttons[TRIGGER]!.pressed = true;
  gamepad.poll(0.016);
  expect([inputs.gamepad.forward, ...events]).toEqual([-0, "+f"]);
});

it("releases a trigger when the world gives its button to another action", () => {
  const pad = connect();
  pad.buttons[TRIGGER]!.pressed = true;
  gamepad.poll(0.016);
  inputs.padTriggers = new Map([[TRIGGER, "e"]]);
  gamepad.poll(0.016);
  expect(events).toEqual(["+f", "-f", "+e"]);
});

it("names a gamepad whose buttons are not known, and does not use it", () => {
  const pad = connect("");
  pad.axes[1] = -1;
  gamepad.poll(0.016);
  expect([unknown, inputs.gamepad.forward]).toEqual([["pad 0"], 0]);
});

it("gives triggers to charged actions, the cross to slots, and the first free button to every other action", () => {
  const slots = [1, 2, 3, 4, 5].map((number) => `button slot_${number}`);
  const names = [...slots, "throw", "grab", "wave", "sit", "sing", "dance"];
  const shared = shareOutButtons(names.map((trigger) => ({ trigger, isCharged: trigger === "throw" })));
  const others = ["grab", "wave", "sit", "sing", "dance"];
  expect(shared.get(7)).toBe("throw");
  expect([2, 3, 5, 4, 6].map((button) => shared.get(button))).toEqual(others);
  expect([12, 15, 13, 14].map((button) => shared.get(button))).toEqual(slots.slice(0, 4));
  expect(shared.size).toBe(10);
  const alone = shareOutButtons(slots.map((trigger) => ({ trigger, isCharged: false })));
  expect([...alone.values()], "without other actions, every slot has a button").toEqual(slots);
});
