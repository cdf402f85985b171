/** The local avatar that runs into another player's avatar, with the server's physics in the page. */
import { expect, it } from "vitest";
import { replay } from "../../nowcast/test/world/met-avatar.js";
import { percentile } from "../../nowcast/test/world/prediction-rig.js";
import { createBodyPredictor } from "../src/index.js";

it("stays within five millimetres of the server while it pushes another player's avatar, which brakes", async () => {
  const { own } = await replay(createBodyPredictor);
  expect(own.length).toBeGreaterThan(350);
  expect(percentile(own, 0.99)).toBeLessThan(0.005);
});
