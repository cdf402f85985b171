/** Simulated bad links for your own connections: delay, jitter, loss in bursts, narrow links and outages, from a seed. */

export type { LinkConditions } from "./emulated-link.js";
export { Impairment } from "./impairment.js";
export { LINK_PRESETS } from "./presets.js";
