/** The extrapolated motion of a body that carries an avatar. */
import { expect, it } from "vitest";
import { BodyMotion } from "../../src/world/prediction/body-motion.js";

const UPRIGHT = [0, 0, 0, 1];

/** A body at 21 m/s along x, whose pose after step 6 is known. */
function boat(): { motion: BodyMotion; x: (tick: number) => number } {
  const motion = new BodyMotion();
  for (const tick of [0, 3, 6]) motion.moved(tick, [(tick * 21) / 60, 1, 0], UPRIGHT);
  const x = (tick: number): number => {
    const position = [0, 0, 0];
    motion.at(tick, position, [0, 0, 0, 1]);
    return position[0]!;
  };
  return { motion, x };
}

it("a body keeps its motion when a pose arrives twice or late", () => {
  const { motion, x } = boat();
  motion.moved(6, [(6 * 21) / 60, 1, 0], UPRIGHT);
  motion.moved(3, [(3 * 21) / 60, 1, 0], UPRIGHT);
  expect(x(12)).toBeCloseTo((12 * 21) / 60);
  // The world went back to an earlier moment.
  motion.moved(-60, [5, 1, 0], UPRIGHT);
  expect(x(12)).toBe(5);
});

it("a body reaches as far as its extrapolated motion leads", () => {
  const { motion, x } = boat();
  expect(motion.leadM).toBeCloseTo(x(6 + 45) - x(6));
});
