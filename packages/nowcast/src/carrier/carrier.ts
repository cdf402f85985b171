/**
 * Carriers move packets (`spec/CARRIERS.md`). A driver uses every carrier through this interface.
 */
import { CARRIER_TRAITS, type CarrierTraits, type SessionConfig } from "../session/config.js";
import { DEFAULT_LIMITS } from "../session/limits.js";

export type CarrierKind = "webtransport" | "websocket";

/** The properties of the two kinds (`spec/CARRIERS.md`, sections 3 and 4). */
export const PROPERTIES: Record<CarrierKind, CarrierTraits> = {
  webtransport: CARRIER_TRAITS.datagrams,
  websocket: CARRIER_TRAITS.stream,
};

/** A session may move to any carrier later, so a session accepts the packet sizes of all carriers. */
export function forAnyCarrier(config: Partial<SessionConfig> = {}): Partial<SessionConfig> {
  const { packetBytesMax } = PROPERTIES.websocket;
  return { ...config, limits: { ...(config.limits ?? DEFAULT_LIMITS), packetBytesMax } };
}

/** The listener of a carrier. */
export interface CarrierHandlers {
  /**
   * `arrivedAtMs` is the time at which the carrier received the bytes, on the clock of
   * `performance.now()`.
   */
  packet(bytes: Uint8Array, arrivedAtMs: number): void;
  /** Called when the carrier has room again after it was full. */
  room(): void;
  /**
   * The carrier ended, but not by a call of `close`. Called at most once; no other handler is
   * called afterwards.
   */
  ended(reason: string): void;
}

/** A carrier that is ready to send. */
export interface OpenCarrier {
  readonly kind: CarrierKind;
  /**
   * Whether a packet that you send now leaves at once. If not, nothing may be sent, so that no packet waits in the
   * carrier.
   */
  readonly hasRoom: boolean;
  /** Sets the handlers. Packets that arrived before this call are delivered first. */
  begin(handlers: CarrierHandlers): void;
  send(packet: Uint8Array): void;
  /**
   * Ends the carrier without calling the handlers. `code` is a close code of section 4: 1000, 1001 or 1002.
   */
  close(code: number, reason: string): void;
}

/** Wraps each carrier of a session, for example to simulate a bad link (`nowcast/impair`). */
export interface CarrierWrapper {
  wrap(carrier: OpenCarrier): OpenCarrier;
}

/** Opens a carrier, or fails. Gives up when `signal` aborts. */
export type OpenCarrierKind = (kind: CarrierKind, signal: AbortSignal) => Promise<OpenCarrier>;
