import { utf8LengthWellFormed } from "../../codec/msgpack.js";
import { NowcastError } from "../../errors/nowcast-error.js";
import type { Action, ProtocolAdapter, ProtocolHandlers } from "../protocol.js";
import type { Encoding, Input, JoinOptions, WorldLink } from "../world.js";
import { Connection } from "./connection.js";
import { PlainDecoder } from "./decode.js";
import { encodeClientMessage } from "./encode.js";
import type { ClientMessage, ServerMessage } from "./messages.js";

const DEFAULT_ENCODING: Encoding = "custom16";
const MALFORMED = 4000;
/** One part of the newest round trip that goes into the smoothed one. */
const PING_WEIGHT = 4;

/** A seat by the plain protocol of `spec/PLAIN.md`. */
export class PlainAdapter implements ProtocolAdapter {
  pingMs: number | undefined;
  readonly link: WorldLink | undefined = undefined;
  readonly #handlers: ProtocolHandlers;
  readonly #encoding: Encoding;
  readonly #decoder: PlainDecoder;
  readonly #connection: Connection;
  readonly #token: string | undefined;
  #isWelcome = false;
  #tick = 0;

  constructor(
    base: URL,
    { encoding = DEFAULT_ENCODING, token, reconnect = true, WebSocket }: JoinOptions,
    handlers: ProtocolHandlers,
  ) {
    this.#handlers = handlers;
    this.#encoding = encoding;
    this.#token = token;
    this.#decoder = new PlainDecoder(encoding);
    this.#connection = new Connection(
      { url: () => this.#address(base), reconnect, WebSocket },
      {
        message: (data) => this.#received(data),
        tick: () => this.#ping(),
        lost: (error, retryInMs) => this.#lost(error, retryInMs),
      },
    );
  }

  get backlogBytes(): number {
    return this.#connection.backlogBytes;
  }

  input(input: Input): boolean {
    return this.#send({ type: "input", ...input });
  }

  act(action: Action): boolean {
    return this.#send(action);
  }

  chat(text: string): boolean {
    return this.#send({ type: "chat", text });
  }

  rename(name: string): boolean {
    return this.#send({ type: "name", name });
  }

  setRate(hz: number): boolean {
    return this.#send({ type: "rate", hz });
  }

  close(): void {
    this.#isWelcome = false;
    this.#connection.close();
  }

  #address(base: URL): string {
    const { name, networkHz } = this.#handlers;
    const url = new URL(base);
    url.searchParams.set("encoding", this.#encoding);
    if (this.#token !== undefined) url.searchParams.set("token", this.#token);
    if (name !== undefined) url.searchParams.set("name", name);
    if (networkHz !== undefined) url.searchParams.set("hz", String(networkHz));
    return url.href;
  }

  #send(message: ClientMessage): boolean {
    return this.#isWelcome && this.#connection.send(encodeClientMessage(message, this.#encoding));
  }

  #ping(): void {
    this.#send({ type: "ping", time: performance.now() });
  }

  #received(data: string | Uint8Array): void {
    const nowMs = performance.now();
    this.#handlers.received(nowMs, typeof data === "string" ? utf8LengthWellFormed(data) : data.length);
    try {
      const message = this.#decoder.decode(data);
      if (message === undefined) this.#handlers.unknownMessage();
      else this.#handle(message, nowMs);
    } catch (error) {
      if (!(error instanceof NowcastError)) throw error;
      // What cannot be read now could not be read after another try either, if it is a matter of versions.
      this.#connection.abandon(MALFORMED, error, error.fault === "peer-incompatible");
    }
  }

  #handle(message: ServerMessage, nowMs: number): void {
    const { table, emitter } = this.#handlers;
    switch (message.type) {
      case "welcome":
        return this.#welcomed(message);
      case "spawn":
        return emitter.emit("spawn", { entities: table.spawn(message.entities, this.#tick) });
      case "despawn":
        return emitter.emit("despawn", { entities: table.despawn(message.ids) });
      case "move":
        this.#tick = message.tick;
        this.#connection.proved();
        return this.#handlers.moved(message.tick, nowMs, table.move(message), true);
      case "chat":
        return emitter.emit("chat", message);
      case "hold": {
        const held = table.hold(message.avatar, message.block);
        if (held !== undefined) emitter.emit("hold", held);
        return;
      }
      case "rename": {
        const entity = table.rename(message.id, message.name);
        if (entity !== undefined) emitter.emit("rename", { entity, name: message.name });
        return;
      }
      case "pong": {
        const roundTripMs = Math.max(0, nowMs - message.time);
        const { pingMs = roundTripMs } = this;
        this.pingMs = pingMs + (roundTripMs - pingMs) / PING_WEIGHT;
        return;
      }
      case "rate":
        return emitter.emit("rate", { networkHz: message.hz });
      case "notice":
        return emitter.emit("notice", { text: message.text });
      case "missed":
        return emitter.emit("missed", { lines: message.lines });
    }
  }

  #welcomed({ id: avatarId, room, stepHz, networkHz, tick }: ServerMessage & { type: "welcome" }): void {
    this.#tick = tick;
    this.#isWelcome = true;
    this.#handlers.welcomed({ avatarId, room, stepHz, networkHz, tick });
    this.#ping();
  }

  #lost(error: NowcastError, retryInMs: number | undefined): void {
    this.#isWelcome = false;
    this.pingMs = undefined;
    this.#handlers.lost(error, retryInMs);
  }
}
