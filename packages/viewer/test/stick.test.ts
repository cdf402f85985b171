import { expect, it } from "vitest";
import { Controls, type ControlsListener } from "../src/input/controls.js";
import { shareOutButtons } from "../src/input/gamepad.js";
import { readStick } from "../src/input/stick.js";

const NOBODY: ControlsListener = {
  command: () => undefined,
  press: () => undefined,
  release: () => undefined,
  cancel: () => undefined,
};

const read = (dx: number, dy: number) => readStick(dx, dy, 50, { forward: 9, right: 9, run: true });

it("does not drift under a resting thumb", () => {
  expect(read(0, 0)).toEqual({ forward: 0, right: 0, run: false });
  expect(read(4, -4)).toEqual({ forward: 0, right: 0, run: false });
});

it("goes forward when pushed up the screen, and right when pushed right", () => {
  expect(read(0, -50).forward).toBeCloseTo(1);
  expect(read(50, 0).right).toBeCloseTo(1);
});

it("starts from nothing at the rim of the dead zone", () => {
  expect(read(0, -7.5).forward).toBeLessThan(0.05);
});

it("runs only when pushed to the rim, and never goes faster than full", () => {
  expect(read(0, -30).run).toBe(false);
  const far = read(300, -400);
  expect(far.run).toBe(true);
  expect(Math.hypot(far.forward, far.right)).toBeCloseTo(1);
});

it("adds up devices without getting faster on a diagonal", () => {
  const controls = new Controls(NOBODY);
  controls.keyboard.forward = 1;
  controls.keyboard.right = 1;
  controls.touch.forward = 1;
  const sum = controls.combine();
  expect(Math.hypot(sum.forward, sum.right)).toBeCloseTo(1);
  controls.release();
  expect(controls.combine()).toEqual({ forward: 0, right: 0, run: false, jump: false });
});

it("inverts looking up and down only when asked to", () => {
  const controls = new Controls(NOBODY);
  controls.look(10, 10, 0.01);
  expect(controls.lookYaw).toBeCloseTo(-0.1);
  expect(controls.lookPitch).toBeCloseTo(0.1);
  controls.consumeLook();
  controls.invertLook = true;
  controls.look(0, 10, 0.01);
  expect(controls.lookPitch).toBeCloseTo(-0.1);
});

it("gives a gamepad's triggers to what is charged, and its other buttons to the rest, as far as they go", () => {
  const actions = ["kick", "grab", "wave", "sit", "sing", "dance"].map((trigger) => ({
    trigger,
    isCharged: trigger === "kick",
  }));
  const buttons = shareOutButtons(actions);
  expect(buttons.get(7)).toBe("kick");
  expect([2, 3, 5, 4].map((button) => buttons.get(button))).toEqual(["grab", "wave", "sit", "sing"]);
  expect(buttons.size).toBe(5);
});
