import { CLEAR_LINK, type LinkConditions } from "./emulated-link.js";

/** The link conditions in both directions. */
export interface PathConditions {
  /** From this program to the server. */
  readonly up: LinkConditions;
  /** From the server to this program. */
  readonly down: LinkConditions;
}

export type LinkPreset = "clear" | "wifi" | "4g" | "satellite" | "train";

function both(conditions: Partial<LinkConditions>): PathConditions {
  const link = { ...CLEAR_LINK, ...conditions };
  return { up: link, down: link };
}

const MOBILE = { delayMs: 25, jitterMs: 20, loss: 0.005, burst: 3 };

/** Typical links. */
export const LINK_PRESETS: Readonly<Record<LinkPreset, PathConditions>> = {
  clear: both({}),
  /** Wireless at home: short losses, and pauses while the channel is taken. */
  wifi: both({ delayMs: 4, jitterMs: 12, loss: 0.01, burst: 2, kilobitsPerSecond: 30_000 }),
  "4g": {
    up: { ...CLEAR_LINK, ...MOBILE, kilobitsPerSecond: 5_000 },
    down: { ...CLEAR_LINK, ...MOBILE, kilobitsPerSecond: 20_000 },
  },
  /** A geostationary satellite. */
  satellite: both({ delayMs: 290, jitterMs: 15, loss: 0.005, kilobitsPerSecond: 10_000 }),
  /** A train: mobile with long bursts, and a tunnel of 1.5 s every 20 s. */
  train: both({
    delayMs: 45,
    jitterMs: 60,
    loss: 0.03,
    burst: 8,
    kilobitsPerSecond: 4_000,
    outage: { everyMs: 20_000, lastsMs: 1_500 },
  }),
};
