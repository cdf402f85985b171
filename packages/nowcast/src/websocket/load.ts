import type { WebSocketConstructor } from "./websocket.js";

/** The caller's WebSocket, or the platform's, or, in a Node that has none, our own. */
export async function loadWebSocket(given: WebSocketConstructor | undefined): Promise<WebSocketConstructor> {
  if (given !== undefined) return given;
  if (typeof WebSocket === "function") return WebSocket;
  return (await import("./node-client.js")).loadNodeWebSocket();
}
