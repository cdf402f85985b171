// Functions that `motion.mjs` calls in a page.
import { course } from "./motion-course.mjs";
import { football } from "./motion-football.mjs";
import { hands } from "./motion-hands.mjs";
import { walk } from "./motion-walk.mjs";

/** @typedef {Omit<Parameters<typeof walk>[0], "nextFrame">} PlanInPage */

const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));

/** @typedef {Record<string, (plan: PlanInPage) => Promise<object>>} Games */

/** @type {Games} */
const games = {
  walk: (plan) => walk({ ...plan, nextFrame }),
  football: (plan) => football({ ...plan, nextFrame }),
  hands: (plan) => hands({ ...plan, nextFrame }),
  course: (plan) => course({ ...plan, nextFrame }),
};
Object.assign(globalThis, { games });
