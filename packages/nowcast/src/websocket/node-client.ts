/**
 * A WebSocket client for Node versions without one (20 has none by default), so that the SDK needs no dependency. RFC
 * 6455 without extensions. Loaded only if needed: pages never fetch this module.
 */
import type { Socket } from "node:net";
import { NowcastError } from "../errors/nowcast-error.js";
import {
  closePayload,
  encodeFrame,
  type FramedMessage,
  FrameError,
  FrameParser,
  OPCODE,
  readClosePayload,
  readUtf8,
} from "./frames.js";
import { acceptKey, readHandshake, upgradeRequest } from "./handshake.js";
import type { WebSocketConstructor, WebSocketLike } from "./websocket.js";

/**
 * The largest message that is accepted: the maximum that a world may send in the plain protocol.
 */
const MESSAGE_BYTES_MAX = 4 * 1024 * 1024;
const HANDSHAKE_MS_MAX = 10_000;
const CLOSE_MS_MAX = 2000;
const NO_CLOSE_FRAME = 1006;

interface NodeModules {
  readonly net: typeof import("node:net");
  readonly tls: typeof import("node:tls");
  readonly crypto: typeof import("node:crypto");
}

/**
 * Loads Node's modules. The specifiers are computed, so that bundlers for pages do not try to
 * resolve the modules.
 */
export async function loadNodeWebSocket(): Promise<WebSocketConstructor> {
  const load = (name: string): Promise<unknown> =>
    import(/* @vite-ignore */ /* webpackIgnore: true */ `node:${name}`);
  const [net, tls, crypto] = await Promise.all([load("net"), load("tls"), load("crypto")]);
  const modules = { net, tls, crypto } as NodeModules;
  return class extends NodeWebSocket {
    constructor(url: string, protocol?: string) {
      super(url, protocol, modules);
    }
  };
}

interface Listeners {
  open: (() => void)[];
  message: ((event: { readonly data: string | ArrayBuffer }) => void)[];
  close: ((event: { readonly code: number; readonly reason: string }) => void)[];
  error: (() => void)[];
}

class NodeWebSocket implements WebSocketLike {
  /** Messages are always array buffers; setting another value has no effect. */
  binaryType = "arraybuffer";
  /** The subprotocol that the server chose; empty if none was requested. */
  readonly protocol: string;

  readonly #modules: NodeModules;
  readonly #socket: Socket;
  readonly #listeners: Listeners = { open: [], message: [], close: [], error: [] };
  readonly #parser = new FrameParser(MESSAGE_BYTES_MAX, "server");
  readonly #accept: string;
  #state: "handshake" | "open" | "closing" | "closed" = "handshake";
  #response = new Uint8Array(0);
  #timer: ReturnType<typeof setTimeout>;

  constructor(href: string, protocol: string | undefined, modules: NodeModules) {
    const url = new URL(href);
    if (url.protocol !== "ws:" && url.protocol !== "wss:") {
      throw new NowcastError("misuse", `"${href}" is not a ws: or wss: address`);
    }
    this.#modules = modules;
    this.protocol = protocol ?? "";
    const key = modules.crypto.randomBytes(16).toString("base64");
    this.#accept = acceptKey(key, modules.crypto.createHash("sha1"));
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const secure = url.protocol === "wss:";
    const port = Number(url.port || (secure ? 443 : 80));
    this.#socket = secure
      ? modules.tls.connect({ host, port, servername: modules.net.isIP(host) === 0 ? host : "" })
      : modules.net.connect({ host, port });
    this.#socket.setNoDelay(true);
    this.#timer = setTimeout(
      () => this.#finish(NO_CLOSE_FRAME, `no answer within ${HANDSHAKE_MS_MAX / 1000} s`),
      HANDSHAKE_MS_MAX,
    );
    this.#socket.on(secure ? "secureConnect" : "connect", () =>
      this.#socket.write(upgradeRequest(url, key, this.protocol)),
    );
    this.#socket.on("data", (chunk) => this.#received(chunk));
    this.#socket.on("error", (error) => this.#finish(NO_CLOSE_FRAME, error.message || String(error)));
    this.#socket.on("close", () => this.#finish(NO_CLOSE_FRAME, "the connection was cut"));
  }

  get bufferedAmount(): number {
    return this.#socket.writableLength;
  }

  send(data: string | Uint8Array<ArrayBuffer>): void {
    if (this.#state === "handshake") throw new NowcastError("misuse", "send before the WebSocket is open");
    // As in browsers, data sent to a closing WebSocket is dropped.
    if (this.#state !== "open") return;
    if (typeof data === "string") this.#write(OPCODE.text, new TextEncoder().encode(data));
    else this.#write(OPCODE.binary, data);
  }

  close(code = 1000, reason = ""): void {
    if (this.#state === "handshake") return this.#finish(NO_CLOSE_FRAME, "closed before it was open");
    if (this.#state !== "open") return;
    this.#state = "closing";
    this.#write(OPCODE.close, closePayload(code, reason));
    this.#timer = setTimeout(
      () => this.#finish(NO_CLOSE_FRAME, "the closing was not answered"),
      CLOSE_MS_MAX,
    );
  }

  addEventListener<K extends keyof Listeners>(type: K, listener: Listeners[K][number]): void {
    (this.#listeners[type] as (typeof listener)[]).push(listener);
  }

  #received(chunk: Uint8Array): void {
    try {
      let rest = chunk;
      if (this.#state === "handshake") {
        const joined = new Uint8Array(this.#response.length + chunk.length);
        joined.set(this.#response);
        joined.set(chunk, this.#response.length);
        this.#response = joined;
        const bodyAt = readHandshake(joined, this.#accept, this.protocol);
        if (bodyAt === undefined) return;
        rest = joined.subarray(bodyAt);
        this.#opened();
      }
      this.#parser.push(rest);
      let message = this.#parser.next();
      while (message !== undefined && this.#state !== "closed") {
        this.#handle(message);
        message = this.#parser.next();
      }
    } catch (error) {
      if (!(error instanceof NowcastError)) throw error;
      const code = error instanceof FrameError ? error.closeCode : NO_CLOSE_FRAME;
      if (error instanceof FrameError && this.#state !== "handshake") {
        this.#write(OPCODE.close, closePayload(code, error.message));
      }
      this.#finish(code, error.message);
    }
  }

  #opened(): void {
    clearTimeout(this.#timer);
    this.#state = "open";
    this.#response = new Uint8Array(0);
    for (const listener of this.#listeners.open) listener();
  }

  #handle({ opcode, payload }: FramedMessage): void {
    if (opcode === OPCODE.ping) {
      if (this.#state === "open") this.#write(OPCODE.pong, payload);
    } else if (opcode === OPCODE.close) {
      const { code, reason } = readClosePayload(payload);
      if (this.#state === "open") this.#write(OPCODE.close, payload);
      this.#finish(code, reason);
    } else if (opcode !== OPCODE.pong && this.#state === "open") {
      const data = opcode === OPCODE.text ? readUtf8(payload) : payload.buffer;
      for (const listener of this.#listeners.message) listener({ data });
    }
  }

  #write(opcode: number, payload: Uint8Array): void {
    this.#socket.write(encodeFrame(opcode, payload, this.#modules.crypto.randomBytes(4)));
  }

  #finish(code: number, reason: string): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    clearTimeout(this.#timer);
    // The remaining bytes, which may be a close frame, are still sent. A peer that does not read
    // them is disconnected.
    this.#socket.end();
    setTimeout(() => this.#socket.destroy(), CLOSE_MS_MAX).unref();
    if (code === NO_CLOSE_FRAME) for (const listener of this.#listeners.error) listener();
    for (const listener of this.#listeners.close) listener({ code, reason });
  }
}
