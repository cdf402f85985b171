import { DEFAULT_LIMITS, type Limits } from "./limits.js";

/**
 * The properties of a carrier (`spec/SESSION.md`, section 3). Both ends must assume the same
 * properties. On every carrier, a packet arrives unchanged or not at all.
 */
export interface CarrierTraits {
  /** Packets arrive in order and are never lost while the carrier exists. */
  readonly isReliable: boolean;
  /** The largest packet that the carrier moves, in bytes; at least 1,200. */
  readonly packetBytesMax: number;
}

export const CARRIER_TRAITS = {
  /** Encrypted datagrams, as in WebTransport. */
  datagrams: { isReliable: false, packetBytesMax: 1_200 },
  /** A reliable, ordered stream of messages, such as WebSocket. */
  stream: { isReliable: true, packetBytesMax: 16_384 },
} as const satisfies Record<string, CarrierTraits>;

export interface SessionConfig {
  /** The limits that the peer must respect. */
  readonly limits: Limits;
  /** Each lane's class: 0 has priority over 1, and so on. Lanes that are not listed have class 0. */
  readonly laneClasses: readonly number[];
  /** Bounds for a lane's unsent messages. */
  readonly entriesMax: number;
  readonly bytesMax: number;
  /** The budget for repeating events before any loss is known. */
  readonly redundancyBitsPerSecond: number;
  readonly bytesPerSecondMax: number;
  readonly handshakeTimeoutMs: number;
}

export const DEFAULT_CONFIG: SessionConfig = {
  limits: DEFAULT_LIMITS,
  laneClasses: [],
  entriesMax: 65_536,
  bytesMax: 16 * 1_048_576,
  redundancyBitsPerSecond: 64_000,
  bytesPerSecondMax: 4e9,
  handshakeTimeoutMs: 10_000,
};
