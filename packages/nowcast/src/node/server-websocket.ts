/** The server's side of a WebSocket as a carrier (RFC 6455 without extensions; `spec/CARRIERS.md`, section 4). */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type CarrierHandlers, type OpenCarrier, PROPERTIES } from "../carrier/carrier.js";
import { SUBPROTOCOL } from "../carrier/websocket.js";
import {
  closePayload,
  encodeFrame,
  FrameError,
  FrameParser,
  OPCODE,
  readClosePayload,
} from "../websocket/frames.js";
import { acceptKey } from "../websocket/handshake.js";
import { Refusal } from "./refusal.js";

const PACKET_BYTES_MAX = PROPERTIES.websocket.packetBytesMax;
const CLOSE_MS_MAX = 2_000;
export const WEBSOCKET_VERSION = "13";
export const UPGRADE_REQUIRED = 426;
/** 16 bytes in base64, whose last character has four bits that must be 0. */
const KEY = /^[A-Za-z0-9+/]{21}[AQgw]==$/;
/**
 * Maximum number of unsent bytes at which a ping is answered. If more bytes are unsent, the peer
 * does not read, so a ping closes the connection.
 */
const UNSENT_BYTES_MAX = 4 * PACKET_BYTES_MAX;

/**
 * Answers the upgrade. Throws a {@link Refusal} if the request is not an upgrade. Admission was
 * decided before.
 */
export function acceptUpgrade(request: IncomingMessage, socket: Duplex, head: Uint8Array): ServerWebSocket {
  const { headers } = request;
  const key = headers["sec-websocket-key"] ?? "";
  const offered = (headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
  const cure = "see section 4 of spec/CARRIERS.md";
  const isOurs =
    request.httpVersion === "1.1" &&
    headers.upgrade?.toLowerCase() === "websocket" &&
    headers["sec-websocket-version"] === WEBSOCKET_VERSION;
  if (!isOurs) {
    const cause = `this is not a request for a WebSocket of version ${WEBSOCKET_VERSION}`;
    throw new Refusal("bad_request", cause, cure, UPGRADE_REQUIRED);
  }
  if (request.method !== "GET" || !KEY.test(key)) {
    throw new Refusal("bad_request", "Sec-WebSocket-Key is not 16 bytes in base64", cure);
  }
  if (!offered.includes(SUBPROTOCOL)) {
    throw new Refusal("bad_request", `the subprotocol ${SUBPROTOCOL} is not asked for`, cure);
  }
  const answer = [
    "HTTP/1.1 101 Switching Protocols",
    "Upgrade: websocket",
    "Connection: Upgrade",
    `Sec-WebSocket-Accept: ${acceptKey(key, createHash("sha1"))}`,
    `Sec-WebSocket-Protocol: ${SUBPROTOCOL}`,
    "\r\n",
  ];
  socket.write(answer.join("\r\n"));
  return new ServerWebSocket(socket, head);
}

export class ServerWebSocket implements OpenCarrier {
  readonly kind = "websocket";
  readonly #socket: Duplex;
  readonly #parser = new FrameParser(PACKET_BYTES_MAX, "client");
  #handlers: CarrierHandlers | undefined;
  #state: "open" | "closing" | "ended" = "open";
  #wasFull = false;
  /** The time at which the current bytes were read from the socket, in milliseconds. */
  #chunkAtMs = 0;
  readonly #written = (): void => {
    if (!this.#wasFull || !this.hasRoom) return;
    this.#wasFull = false;
    this.#handlers?.room();
  };

  constructor(socket: Duplex, head: Uint8Array) {
    this.#socket = socket;
    this.#parser.push(head);
    socket.on("data", (chunk: Uint8Array) => this.#received(chunk));
    socket.on("error", (error) => this.#end(error.message));
    socket.on("end", () => this.#end("the connection was ended without a close frame"));
    socket.on("close", () => this.#end("the connection was cut"));
  }

  get hasRoom(): boolean {
    // Node writes at once as many bytes as the kernel accepts. So remaining bytes mean that the
    // kernel's buffer is full.
    const hasRoom = this.#state === "open" && this.#socket.writableLength === 0;
    this.#wasFull ||= !hasRoom;
    return hasRoom;
  }

  begin(handlers: CarrierHandlers): void {
    this.#handlers = handlers;
    // The bytes that arrived with the upgrade and since then.
    this.#received(new Uint8Array(0));
  }

  send(packet: Uint8Array): void {
    this.#write(OPCODE.binary, packet);
  }

  close(code: number, reason: string): void {
    if (this.#state !== "open") return;
    this.#state = "closing";
    this.#handlers = undefined;
    this.#write(OPCODE.close, closePayload(code, reason));
    this.#finish();
  }

  #received(chunk: Uint8Array): void {
    this.#chunkAtMs = performance.now();
    if (this.#state === "ended") return;
    this.#parser.push(chunk);
    try {
      // Without handlers, at most one message is stored, because the socket is then not read
      // further.
      if (this.#handlers === undefined && this.#state === "open") return void this.#socket.pause();
      this.#socket.resume();
      for (let next = this.#parser.next(); next !== undefined; next = this.#parser.next()) {
        this.#handle(next.opcode, next.payload);
        if (this.#isEnded()) return;
      }
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.#violation(error.closeCode, error.message);
    }
  }

  #isEnded(): boolean {
    return this.#state === "ended";
  }

  #handle(opcode: number, payload: Uint8Array): void {
    if (opcode === OPCODE.close) {
      const { code, reason } = readClosePayload(payload);
      if (this.#state === "open") this.#write(OPCODE.close, payload);
      this.#finish();
      this.#end(`the WebSocket closed (${code}${reason === "" ? "" : `: ${reason}`})`);
    } else if (this.#state === "closing" || opcode === OPCODE.pong) return;
    else if (opcode === OPCODE.binary) this.#handlers?.packet(payload, this.#chunkAtMs);
    else if (opcode === OPCODE.text) this.#violation(1002, "text messages are not allowed");
    else if (this.#socket.writableLength < UNSENT_BYTES_MAX) this.#write(OPCODE.pong, payload);
    else this.#violation(1002, "pings whose answers are not read");
  }

  #violation(code: number, reason: string): void {
    if (this.#state === "open") this.#write(OPCODE.close, closePayload(code, reason));
    this.#finish();
    this.#end(reason);
  }

  #write(opcode: number, payload: Uint8Array): void {
    if (this.#state !== "ended") this.#socket.write(encodeFrame(opcode, payload, undefined), this.#written);
  }

  /** The remaining bytes are still sent. A peer that does not read them is disconnected. */
  #finish(): void {
    this.#socket.end();
    setTimeout(() => this.#socket.destroy(), CLOSE_MS_MAX).unref();
  }

  #end(reason: string): void {
    if (this.#state === "ended") return;
    this.#state = "ended";
    const handlers = this.#handlers;
    this.#handlers = undefined;
    this.#finish();
    handlers?.ended(reason);
  }
}
