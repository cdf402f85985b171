import { expect, it } from "vitest";
import { InputCollector, type InputListener } from "../src/input/input-collector.js";
import { readStick } from "../src/input/stick.js";

const NOBODY: InputListener = {
  command: () => undefined,
  press: () => false,
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
  const inputs = new InputCollector(NOBODY);
  inputs.keyboard.forward = 1;
  inputs.keyboard.right = 1;
  inputs.touch.forward = 1;
  const sum = inputs.combine();
  expect(Math.hypot(sum.forward, sum.right)).toBeCloseTo(1);
  inputs.release();
  expect(inputs.combine()).toEqual({ forward: 0, right: 0, run: false, jump: false });
});

it("inverts looking up and down only if set", () => {
  const inputs = new InputCollector(NOBODY);
  inputs.look(10, 10, 0.01);
  expect(inputs.lookYaw).toBeCloseTo(-0.1);
  expect(inputs.lookPitch).toBeCloseTo(0.1);
  inputs.consumeLook();
  inputs.invertLook = true;
  inputs.look(0, 10, 0.01);
  expect(inputs.lookPitch).toBeCloseTo(-0.1);
});
