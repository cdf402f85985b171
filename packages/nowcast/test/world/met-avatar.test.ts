/** The local avatar that runs into another player's avatar, compared with a recorded server. */
import { expect, it } from "vitest";
import { replay } from "./met-avatar.js";
import { percentile } from "./prediction-rig.js";

it("stays within three centimetres of the server while it pushes another player's avatar, and draws the pushed one there", () => {
  const { own, other } = replay();
  expect(own.length).toBeGreaterThan(350);
  expect(other.length).toBeGreaterThan(20);
  expect(percentile(own, 0.99)).toBeLessThan(0.03);
  expect(Math.max(...own)).toBeLessThan(0.04);
  expect(percentile(other, 0.5)).toBeLessThan(0.05);
});
