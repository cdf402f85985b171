/** Carriers move packets (`spec/CARRIERS.md`): the one small interface that a driver knows. */
import { CARRIER_TRAITS, type CarrierTraits, type SessionConfig } from "../session/config.js";
import { DEFAULT_LIMITS } from "../session/limits.js";

export type CarrierKind = "webtransport" | "websocket";

/** The properties of the two kinds (`spec/CARRIERS.md`, sections 3 and 4). */
export const PROPERTIES: Record<CarrierKind, CarrierTraits> = {
  webtransport: CARRIER_TRAITS.datagrams,
  websocket: CARRIER_TRAITS.stream,
};

/** A session may go to any carrier later, so it accepts the packets of all. */
export function forAnyCarrier(config: Partial<SessionConfig> = {}): Partial<SessionConfig> {
  const { packetBytesMax } = PROPERTIES.websocket;
  return { ...config, limits: { ...(config.limits ?? DEFAULT_LIMITS), packetBytesMax } };
}

/** The listener of a carrier. */
export interface CarrierHandlers {
  /** `arrivedAtMs` is when the carrier received the bytes, as `performance.now()` counts. */
  packet(bytes: Uint8Array, arrivedAtMs: number): void;
  /** There is room again after there was none. */
  room(): void;
  /** The carrier ended, and we did not close it. Called at most once; no other handler is called afterwards. */
  ended(reason: string): void;
}

/** A carrier that is ready. */
export interface OpenCarrier {
  readonly kind: CarrierKind;
  /** Whether a packet that is sent now leaves at once. Without room nothing may be sent, so that nothing waits here. */
  readonly hasRoom: boolean;
  /** Sets the handlers. Packets that arrived before are delivered first. */
  begin(handlers: CarrierHandlers): void;
  send(packet: Uint8Array): void;
  /** Ends it without telling the handlers. `code` is of section 4: 1000, 1001 or 1002. */
  close(code: number, reason: string): void;
}

/** Opens a carrier, or fails. Gives up when `signal` aborts. */
export type OpenCarrierKind = (kind: CarrierKind, signal: AbortSignal) => Promise<OpenCarrier>;
