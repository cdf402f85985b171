import type { CarrierKind } from "../../carrier/carrier.js";

/** What people call the carriers. */
export const CARRIER_NAMES: Readonly<Record<CarrierKind, "WebTransport" | "WebSocket">> = {
  webtransport: "WebTransport",
  websocket: "WebSocket",
};
