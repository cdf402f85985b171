// The walk in a page: `motion.mjs` calls it there.
import { walk } from "./motion-walk.mjs";

globalThis.walk = (plan) =>
  walk({ ...plan, nextFrame: () => new Promise((resolve) => requestAnimationFrame(resolve)) });
