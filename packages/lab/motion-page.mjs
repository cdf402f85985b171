// Functions that `motion.mjs` calls in a page.
import { football } from "./motion-football.mjs";
import { hands } from "./motion-hands.mjs";
import { walk } from "./motion-walk.mjs";

const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));

globalThis.games = {
  walk: (plan) => walk({ ...plan, nextFrame }),
  football: (plan) => football({ ...plan, nextFrame }),
  hands: (plan) => hands({ ...plan, nextFrame }),
};
