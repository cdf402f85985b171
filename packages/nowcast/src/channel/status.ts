/** A channel's state, for programs and displays. */
import type { CarrierKind } from "../carrier/carrier.js";
import type { Driver } from "../carrier/driver.js";
import type { Closed } from "../session/fault.js";

export type ChannelPhase =
  /** Packets are exchanged. */
  | "open"
  /**
   * The carrier is lost, and messages wait. The channel continues over the next carrier, or ends
   * after the resume time-out.
   */
  | "interrupted"
  | "closed";

export interface ChannelStatus {
  readonly phase: ChannelPhase;
  /** The present carrier; undefined while there is none. */
  readonly carrier: CarrierKind | undefined;
  readonly isOpen: boolean;
  /** Smoothed round-trip time; `undefined` before the first sample. */
  readonly rttMs: number | undefined;
  /** Lost packets per packet sent, 0 to 1. */
  readonly loss: number;
  /** Average age of the peer's newest values on arrival, by the estimated clock offset. */
  readonly ageMs: number | undefined;
  /** Values that were never sent, because a newer one replaced them. */
  readonly superseded: number;
  /** Values and events that were sent again. */
  readonly resent: number;
  /** How often the channel continued over a new carrier. */
  readonly resumed: number;
  readonly bytesSent: number;
  readonly bytesReceived: number;
  /** The reason why the channel ended. */
  readonly closed: Closed | undefined;
}

/** Members for the channel alone. */
export interface ChannelHistory {
  readonly resumed: number;
  readonly closed: Closed | undefined;
}

export function readStatus({ session, carrierKind }: Driver, history: ChannelHistory): ChannelStatus {
  const { gauges, stats } = session;
  const phase = session.isClosed ? "closed" : session.isOpen ? "open" : "interrupted";
  const milliseconds = (us: number | undefined) => (us === undefined ? undefined : us / 1_000);
  return {
    phase,
    carrier: carrierKind,
    isOpen: phase === "open",
    rttMs: milliseconds(gauges.roundTripUs),
    loss: gauges.loss,
    ageMs: milliseconds(gauges.ageUs),
    superseded: gauges.superseded,
    resent: stats.resent,
    resumed: history.resumed,
    bytesSent: stats.bytesSent,
    bytesReceived: stats.bytesReceived,
    closed: history.closed,
  };
}
