/** Present measurements for a display of the connection. */

import type { Lanes } from "./lanes.js";
import type { Recovery } from "./recovery.js";
import type { SessionStats } from "./stats.js";

export interface Gauges {
  /** Smoothed round-trip time; `undefined` before the first sample. */
  readonly roundTripUs: number | undefined;
  readonly roundTripVariationUs: number | undefined;
  /** The share of lost packets among all packets that are either acknowledged or lost, 0 to 1. */
  readonly loss: number;
  /** Average age of the newest states on arrival, by the clock estimate. */
  readonly ageUs: number | undefined;
  /** The sender's own limits. */
  readonly bytesPerSecond: number;
  readonly inFlightBytes: number;
  /** Messages that wait to be sent. */
  readonly waiting: number;
  /** Values that a newer value replaced before they left. */
  readonly superseded: number;
}

export function readGauges(stats: SessionStats, recovery: Recovery, lanes: Lanes): Gauges {
  const { rtt } = recovery;
  const isMeasured = rtt.latestUs !== undefined;
  const known = stats.packetsAcknowledged + stats.packetsLost;
  const { entries, superseded } = lanes.waiting;
  return {
    roundTripUs: isMeasured ? rtt.smoothedUs : undefined,
    roundTripVariationUs: isMeasured ? rtt.variationUs : undefined,
    loss: known === 0 ? 0 : stats.packetsLost / known,
    ageUs: lanes.ageUs,
    bytesPerSecond: recovery.bytesPerSecond,
    inFlightBytes: recovery.inFlightBytes,
    waiting: entries,
    superseded,
  };
}
