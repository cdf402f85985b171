import type { CarrierKind } from "../../carrier/carrier.js";

/** Names of the carriers for people. */
export const CARRIER_NAMES: Readonly<Record<CarrierKind, "WebTransport" | "WebSocket">> = {
  webtransport: "WebTransport",
  websocket: "WebSocket",
};
