/**
 * Packets as binary messages of a WebSocket: the browser's, Node's, or the SDK's own (`spec/CARRIERS.md`, section 4).
 */
import { NowcastError } from "../errors/nowcast-error.js";
import { loadWebSocket } from "../websocket/load.js";
import type { WebSocketConstructor, WebSocketLike } from "../websocket/websocket.js";
import { type CarrierHandlers, type OpenCarrier, PROPERTIES } from "./carrier.js";

export const SUBPROTOCOL = "nowcast.1";
const PACKET_BYTES_MAX = PROPERTIES.websocket.packetBytesMax;
/** WebSockets emit no event when a backlog has been sent. So a backlog is polled at this interval. */
const DRAIN_LOOK_MS = 4;

/** Opens a WebSocket and waits until packets can be sent. */
export async function openWebSocket(
  url: string,
  given: WebSocketConstructor | undefined,
  signal: AbortSignal,
): Promise<OpenCarrier> {
  const WebSocket = await loadWebSocket(given);
  signal.throwIfAborted();
  const socket = new WebSocket(url, SUBPROTOCOL);
  socket.binaryType = "arraybuffer";
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => {
      signal.removeEventListener("abort", abort);
      reject(error);
    };
    const abort = (): void => {
      fail(signal.reason);
      closeQuietly(socket, 1000, "another carrier was ready first");
    };
    signal.addEventListener("abort", abort);
    socket.addEventListener("open", () => {
      if (signal.aborted) return;
      signal.removeEventListener("abort", abort);
      resolve(carrier);
    });
    // Errors are ignored here, because a close event with more details follows every error event.
    // Node's `ws` throws if there is no listener.
    socket.addEventListener("error", () => {});
    socket.addEventListener("close", ({ code, reason }) => {
      fail(
        new NowcastError(
          "network",
          `the WebSocket did not open (${code}${reason === "" ? "" : `: ${reason}`})`,
        ),
      );
    });
    const carrier = new WebSocketCarrier(socket);
  });
}

class WebSocketCarrier implements OpenCarrier {
  readonly kind = "websocket";
  readonly #socket: WebSocketLike;
  #handlers: CarrierHandlers | undefined;
  #ended: string | undefined;
  #drainTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(socket: WebSocketLike) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#received(data));
    socket.addEventListener("close", ({ code, reason }) => {
      this.#end(`the WebSocket closed (${code}${reason === "" ? "" : `: ${reason}`})`);
    });
  }

  get hasRoom(): boolean {
    if (this.#ended !== undefined) return false;
    if (this.#socket.bufferedAmount < PACKET_BYTES_MAX) return true;
    this.#drainTimer ??= setTimeout(() => this.#look(), DRAIN_LOOK_MS);
    return false;
  }

  begin(handlers: CarrierHandlers): void {
    this.#handlers = handlers;
    if (this.#ended !== undefined) handlers.ended(this.#ended);
  }

  send(packet: Uint8Array): void {
    this.#socket.send(packet as Uint8Array<ArrayBuffer>);
  }

  close(code: number, reason: string): void {
    if (this.#ended !== undefined) return;
    this.#handlers = undefined;
    this.#end(reason);
    closeQuietly(this.#socket, code, reason);
  }

  #look(): void {
    this.#drainTimer = undefined;
    if (this.hasRoom) this.#handlers?.room();
  }

  #received(data: unknown): void {
    const arrivedAtMs = performance.now();
    if (this.#ended !== undefined) return;
    if (data instanceof ArrayBuffer && data.byteLength <= PACKET_BYTES_MAX) {
      this.#handlers?.packet(new Uint8Array(data), arrivedAtMs);
      return;
    }
    const what = data instanceof ArrayBuffer ? `a message of ${data.byteLength} bytes` : "a text message";
    closeQuietly(this.#socket, 1002, what);
    this.#end(`the peer sent ${what}, which spec/CARRIERS.md does not allow`);
  }

  #end(reason: string): void {
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    clearTimeout(this.#drainTimer);
    this.#handlers?.ended(reason);
  }
}

function closeQuietly(socket: WebSocketLike, code: number, reason: string): void {
  try {
    // Pages may send only the code 1000 and codes from 3000 on. A frame has room for 123 bytes of
    // reason.
    const isOurs = code === 1000 || !("onopen" in socket);
    socket.close(isOurs ? code : 1000, reason.slice(0, 41));
  } catch {
    // Closing a socket that never opened may throw. The socket is closed in either case.
  }
}
