/** Bad links for one's own connections: delay, jitter, loss in bursts, narrow links and outages, by a seed. */

export {
  CLEAR_LINK,
  EmulatedLink,
  type LinkConditions,
  type LinkType,
  QUEUE_BYTES_MAX,
} from "./emulated-link.js";
export {
  type DirectionFigures,
  Impairment,
  type ImpairOptions,
  type ImpairTiming,
} from "./impairment.js";
export { LINK_PRESETS, type LinkPreset, type PathConditions } from "./presets.js";
export { createRandom } from "./random.js";
