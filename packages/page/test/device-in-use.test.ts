/**
 * The device that a player used last, and the controls that texts name for it.
 *
 * @vitest-environment jsdom
 */
import { afterEach, beforeEach, expect, it } from "vitest";
import { type Binding, readBindings } from "../../nowcast/src/world/describe/binding.js";
import { KEYBOARD, keyHints, promptFor } from "../src/hud/key-hints.js";
import { fillStep } from "../src/hud/step-text.js";
import { type DeviceInUse, Devices } from "../src/input/devices.js";
import { InputCollector } from "../src/input/input-collector.js";

const pad = {
  ...{ index: 0, id: "pad", connected: true, mapping: "standard" },
  ...{ axes: [0, 0, 0, 0], buttons: Array.from({ length: 17 }, () => ({ pressed: false })) },
};

let devices: Devices;
let canvas: HTMLCanvasElement;
let seen: string[];

beforeEach(() => {
  seen = [];
  Object.assign(window, { matchMedia: () => ({ matches: false }) });
  Object.assign(navigator, { getGamepads: () => [] });
  pad.axes.fill(0);
  for (const button of pad.buttons) button.pressed = false;
  canvas = Object.assign(document.createElement("canvas"), { setPointerCapture: () => undefined });
  document.body.replaceChildren(canvas);
  create();
});
afterEach(() => devices.dispose());

function create(): void {
  const inputs = new InputCollector({
    ...{ press: () => false, release: () => undefined, cancel: () => undefined },
    command: (command) => seen.push(command),
  });
  devices = new Devices(canvas, inputs);
  devices.onChange = () => seen.push(devices.inUse);
}

function connect(): void {
  Object.assign(navigator, { getGamepads: () => [pad] });
  window.dispatchEvent(Object.assign(new Event("gamepadconnected"), { gamepad: pad }));
}

const press = (code: string, target: EventTarget = window): boolean =>
  target.dispatchEvent(new KeyboardEvent("keydown", { code, bubbles: true, composed: true }));
const point = (pointerType: string, target: EventTarget = canvas): boolean =>
  target.dispatchEvent(Object.assign(new Event("pointerdown", { bubbles: true }), { pointerType }));

it("is that of the last press, and a line of chat on a phone is not one", () => {
  expect(devices.inUse).toBe("keyboard");
  point("touch");
  const input = document.createElement("input");
  document.body.append(input);
  press("KeyG", input);
  point("touch");
  press("KeyG");
  point("mouse");
  connect();
  devices.poll(0);
  pad.buttons[0]!.pressed = true;
  devices.poll(0);
  point("mouse");
  expect(seen).toEqual(["touch", "keyboard", "gamepad", "keyboard"]);
});

it("is no gamepad whose stick rests beside its middle", () => {
  press("KeyW");
  connect();
  pad.axes[0] = 0.2;
  devices.poll(0);
  expect(devices.inUse).toBe("keyboard");
});

it("is a gamepad that is connected before the first key, also after a click beside the picture", () => {
  point("mouse", document.body);
  connect();
  point("mouse", document.body);
  expect(seen).toEqual(["gamepad"]);
  devices.dispose();
  create();
  expect(devices.inUse, "on a page that is opened after the gamepad was connected").toBe("gamepad");
  pad.buttons[1]!.pressed = true;
  devices.poll(0);
  expect(seen, "the first press on this page begins").toEqual(["gamepad", "begin"]);
});

it("a press of a gamepad in use begins, as a key does, unless the press connected it", () => {
  connect();
  for (const pressed of [true, true, false, true]) {
    pad.buttons[1]!.pressed = pressed;
    devices.poll(0);
  }
  expect(seen).toEqual(["gamepad", "begin"]);
});

it("is the main pointer's device after the last gamepad is unplugged", () => {
  connect();
  window.dispatchEvent(new Event("gamepaddisconnected"));
  expect(devices.inUse, "another gamepad is left").toBe("gamepad");
  Object.assign(navigator, { getGamepads: () => [null] });
  window.dispatchEvent(new Event("gamepaddisconnected"));
  Object.assign(window, { matchMedia: () => ({ matches: true }) });
  connect();
  Object.assign(navigator, { getGamepads: () => [null] });
  window.dispatchEvent(new Event("gamepaddisconnected"));
  expect(seen).toEqual(["gamepad", "keyboard", "gamepad", "touch"]);
});

it("gives its controls to sentences, prompts and the bar of keys", () => {
  const [grab] = readBindings([
    { name: "grab", arguments: [], hint: { key: ["e", "left"], label: "Grab" } },
  ]) as [Binding];
  const padTriggers = new Map([[2, "button grab"]]);
  const on = (device: DeviceInUse) => ({ ...KEYBOARD, bindings: [grab], padTriggers, device });
  const step = "Press {grab}, use {walk}, {run} or {jump}.";
  const texts = (["keyboard", "touch", "gamepad"] as const).map((device) => [
    fillStep(step, on(device)),
    promptFor([grab], on(device)),
    keyHints(on(device))
      .map(({ keys, what }) => `${keys.join("")} ${what}`)
      .join(", "),
  ]);
  expect(texts).toEqual([
    [
      "Press E or the mouse button, use W, Shift or Space.",
      "E / Click: Grab",
      "WASD walk, Shift run, Space jump, E / Click Grab, T gestures, Enter chat,  drag to look",
    ],
    ["Press “Grab”, use the stick, the stick at its rim or the button with the arrow.", "", ""],
    [
      "Press X, use the left stick, B or A.",
      "X: Grab",
      "Left stick walk, B run, A jump, X Grab, Right stick look",
    ],
  ]);
});
