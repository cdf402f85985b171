import type { WebSocketConstructor } from "./websocket.js";

/**
 * Returns the caller's WebSocket, or else the platform's, or, in a Node without one, the SDK's own.
 */
export async function loadWebSocket(given: WebSocketConstructor | undefined): Promise<WebSocketConstructor> {
  if (given !== undefined) return given;
  if (typeof WebSocket === "function") return WebSocket;
  return (await import("./node-client.js")).loadNodeWebSocket();
}
