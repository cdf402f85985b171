import { asNowcastError, NowcastError } from "../../errors/nowcast-error.js";
import { loadWebSocket } from "../../websocket/load.js";
import type { WebSocketConstructor, WebSocketLike } from "../../websocket/websocket.js";
import { backOffMs } from "../back-off.js";
import { CLOSED_ABNORMALLY, worldEnd } from "../end.js";

/**
 * A connection that receives nothing for this time counts as dead. A server sends a message at every snapshot, even if
 * nothing moves.
 */
const SILENCE_MS_MAX = 10_000;
const WATCH_INTERVAL_MS = 1000;

/**
 * Close codes after which the client does not reconnect, in order: message malformed, value out of bounds, message too
 * large, client joined on another connection, banned, kicked.
 */
const FINAL_CLOSE_CODES: ReadonlySet<number> = new Set([4000, 4001, 1009, 4014, 4015, 4017]);

/**
 * The close code by which the client announces that it reconnects at once (`spec/PLAIN.md`, section
 * 5).
 */
const COMES_BACK = 3000;

export interface ConnectionHandlers {
  message(data: string | Uint8Array): void;
  /** Called about once a second while connected. */
  tick(): void;
  /** `retryInMs` is `undefined` if there will be no further attempt. */
  lost(error: NowcastError, retryInMs: number | undefined): void;
}

export interface ConnectionOptions {
  /**
   * Returns the address. Called for every attempt, because name and rate may have changed. `isAgain` is false for the first
   * attempt.
   */
  readonly url: (isAgain: boolean) => Promise<string>;
  readonly reconnect: boolean;
  readonly WebSocket: WebSocketConstructor | undefined;
}

/** Opens one WebSocket after another to the same address. */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #handlers: ConnectionHandlers;
  #socket: WebSocketLike | undefined;
  #isOpen = false;
  #isClosed = false;
  #attempts = 0;
  #isAgain = false;
  #heardAtMs = 0;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  #watchTimer: ReturnType<typeof setInterval> | undefined;

  constructor(options: ConnectionOptions, handlers: ConnectionHandlers) {
    this.#options = options;
    this.#handlers = handlers;
    void this.#connect();
  }

  get backlogBytes(): number {
    return this.#socket?.bufferedAmount ?? 0;
  }

  /** Returns false if there is no open connection. */
  send(data: string | Uint8Array<ArrayBuffer>): boolean {
    if (!this.#isOpen || this.#socket === undefined) return false;
    this.#socket.send(data);
    return true;
  }

  /** Records that the connection worked. After the next loss, the first attempt follows soon. */
  proved(): void {
    this.#attempts = 0;
  }

  /** Treats the current socket as lost, and closes it with `code`. If `final` is true, no further attempt follows. */
  abandon(code: number, error: NowcastError, final: boolean): void {
    const socket = this.#socket;
    if (socket === undefined) return;
    this.#lost(socket, error, final);
    closeQuietly(socket, code, error.message);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stopTimers();
    if (this.#socket !== undefined) closeQuietly(this.#socket, 1000, "bye");
    this.#socket = undefined;
    this.#isOpen = false;
  }

  async #connect(): Promise<void> {
    let socket: WebSocketLike;
    try {
      const WebSocket = await loadWebSocket(this.#options.WebSocket);
      const url = await this.#options.url(this.#isAgain);
      this.#isAgain = true;
      if (this.#isClosed) return;
      socket = new WebSocket(url);
    } catch (error) {
      // If WebSocket rejects the address, further attempts would fail, too.
      this.#finish(asNowcastError(error));
      return;
    }
    this.#socket = socket;
    this.#heardAtMs = performance.now();
    this.#watchTimer = setInterval(() => this.#watch(), WATCH_INTERVAL_MS);
    socket.binaryType = "arraybuffer";
    socket.addEventListener("open", () => {
      if (this.#socket === socket) this.#isOpen = true;
    });
    socket.addEventListener("message", (event) => {
      if (this.#socket === socket) this.#received(event.data);
    });
    socket.addEventListener("close", ({ code, reason }) => {
      const wasOpen = this.#isOpen && this.#socket === socket;
      const error = code === CLOSED_ABNORMALLY && !wasOpen ? didNotOpen(reason) : worldEnd(code, reason);
      this.#lost(socket, error, FINAL_CLOSE_CODES.has(code));
    });
    // Errors are ignored here, because a close event with more details follows every error event.
    // Node's `ws` throws if there is no listener.
    socket.addEventListener("error", () => {});
  }

  #received(data: unknown): void {
    this.#heardAtMs = performance.now();
    if (typeof data === "string") this.#handlers.message(data);
    else if (data instanceof ArrayBuffer) this.#handlers.message(new Uint8Array(data));
  }

  #watch(): void {
    if (performance.now() - this.#heardAtMs > SILENCE_MS_MAX) {
      this.abandon(
        COMES_BACK,
        worldEnd(CLOSED_ABNORMALLY, `no message for ${SILENCE_MS_MAX / 1000} s`),
        false,
      );
    } else if (this.#isOpen) {
      this.#handlers.tick();
    }
  }

  #lost(socket: WebSocketLike, error: NowcastError, final: boolean): void {
    if (this.#socket !== socket) return;
    this.#socket = undefined;
    this.#isOpen = false;
    this.#stopTimers();
    if (final || !this.#options.reconnect) return this.#finish(error);
    const retryInMs = backOffMs(this.#attempts++, Math.random());
    this.#retryTimer = setTimeout(() => void this.#connect(), retryInMs);
    this.#handlers.lost(error, retryInMs);
  }

  #finish(error: NowcastError): void {
    this.#isClosed = true;
    this.#handlers.lost(error, undefined);
  }

  #stopTimers(): void {
    clearTimeout(this.#retryTimer);
    clearInterval(this.#watchTimer);
  }
}

function didNotOpen(reason: string): NowcastError {
  const cause = reason === "" ? "the WebSocket did not open" : reason;
  return new NowcastError("network", cause, { closeCode: CLOSED_ABNORMALLY });
}

function closeQuietly(socket: WebSocketLike, code: number, reason: string): void {
  try {
    // A close frame has room for 123 bytes of reason, and one UTF-16 unit takes at most three
    // bytes.
    socket.close(code, reason.slice(0, 41));
  } catch {
    // Closing a socket that never opened may throw. The socket is closed in either case.
  }
}
