import { setOwn, utf8LengthWellFormed } from "../../codec/msgpack-reader.js";
import { readAddress } from "../../connect/address.js";
import { findEndpoint } from "../../connect/endpoints.js";
import { NowcastError } from "../../errors/nowcast-error.js";
import { sessionUrl } from "../address.js";
import { checkActionBytes } from "../bounded.js";
import { keyText } from "../client-key.js";
import type { SpawnedEntity } from "../entity-table.js";
import type { OwnerRequest, ProtocolAdapter, ProtocolHandlers, TargetPose } from "../protocol.js";
import type {
  Definition,
  Encoding,
  EntityId,
  Input,
  JoinOptions,
  Kind,
  WorldLink,
  WorldRecord,
} from "../world.js";
import { Connection } from "./connection.js";
import { PlainDecoder } from "./decode.js";
import { encodeClientMessage } from "./encode.js";
import { malformed } from "./fields.js";
import type { ClientMessage, ServerMessage, SpawnMessageEntity } from "./messages.js";

const DEFAULT_ENCODING: Encoding = "custom16";
const MALFORMED = 4000;
/** Maximum time in which the server that has the room is found. */
const FIND_MS_MAX = 2_000;
/** The newest round trip enters the smoothed one with a weight of 1 / `PING_WEIGHT`. */
const PING_WEIGHT = 4;

/** The adapter for the plain protocol of `spec/PLAIN.md`. */
export class PlainAdapter implements ProtocolAdapter {
  pingMs: number | undefined;
  readonly link: WorldLink | undefined = undefined;
  /** Always 0: the plain protocol does not number inputs. */
  readonly lastInputSequence = 0;
  readonly #handlers: ProtocolHandlers;
  readonly #encoding: Encoding;
  readonly #decoder: PlainDecoder;
  readonly #connection: Connection;
  readonly #token: string | undefined;
  /** Kinds of the newest definition, by name. */
  readonly #kinds = new Map<string, Kind>();
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
      { url: (isAgain) => this.#find(base, isAgain), reconnect, WebSocket },
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

  act(action: string, args: WorldRecord, number?: number): boolean {
    return this.#send(this.#actionMessage(action, args, number));
  }

  checkAction(action: string, args: WorldRecord, number: number): void {
    this.#actionMessage(action, args, number);
  }

  owner(request: OwnerRequest): boolean {
    return this.#send(request);
  }

  move(entity: EntityId, { position, rotation, velocity }: TargetPose): boolean {
    const moving = velocity === undefined ? {} : { velocity: velocity.linear, spin: velocity.angular };
    return this.#send({ type: "move", entity, position, rotation, ...moving });
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

  /**
   * Returns the address of the room. A server of a cluster answers with a redirect if another one has the room, and a WebSocket
   * does not follow it. So the second and later attempts ask for the server that has the room.
   */
  async #find(base: URL, isAgain: boolean): Promise<string> {
    if (!isAgain) return this.#address(base);
    const given = readAddress(sessionUrl(base));
    // If no server answers in time, the given one is tried.
    const found = await findEndpoint(given, given, {}, AbortSignal.timeout(FIND_MS_MAX)).catch(
      () => undefined,
    );
    const at = new URL(this.#address(base));
    if (found !== undefined && found.address !== given) {
      const { host, port, isEncrypted } = found.address;
      at.protocol = isEncrypted ? "wss:" : "ws:";
      at.host = `${host}:${port}`;
    }
    return at.href;
  }

  #address(base: URL): string {
    const { name, networkHz, key } = this.#handlers;
    const url = new URL(base);
    url.searchParams.set("encoding", this.#encoding);
    if (this.#token !== undefined) url.searchParams.set("token", this.#token);
    if (name !== undefined) url.searchParams.set("name", name);
    if (this.#handlers.isProgram) url.searchParams.set("role", "program");
    if (networkHz !== undefined) url.searchParams.set("hz", String(networkHz));
    url.searchParams.set("key", keyText(key));
    return url.href;
  }

  /** Throws a misuse for an action that no server would accept. */
  #actionMessage(action: string, args: WorldRecord, number: number | undefined): ClientMessage {
    const message: ClientMessage = {
      type: "act",
      action,
      arguments: args,
      ...(number === undefined ? {} : { number }),
    };
    checkActionBytes(action, bytesOf(encodeClientMessage(message, this.#encoding)));
    return message;
  }

  #send(message: ClientMessage): boolean {
    return this.#isWelcome && this.#connection.send(encodeClientMessage(message, this.#encoding));
  }

  #ping(): void {
    this.#send({ type: "ping", time: performance.now() });
  }

  #received(data: string | Uint8Array): void {
    const nowMs = performance.now();
    this.#handlers.received(nowMs, bytesOf(data));
    try {
      const message = this.#decoder.decode(data);
      if (message === undefined) this.#handlers.unknownMessage();
      else this.#handle(message, nowMs);
    } catch (error) {
      if (!(error instanceof NowcastError)) throw error;
      // If the peer's version is the cause, messages on a new connection would be unreadable, too.
      this.#connection.abandon(MALFORMED, error, error.fault === "peer-incompatible");
    }
  }

  #handle(message: ServerMessage, nowMs: number): void {
    const { state, emitter } = this.#handlers;
    switch (message.type) {
      case "welcome":
        return this.#welcomed(message);
      case "define":
        return this.#define(message.definition);
      case "spawn":
        return state.spawn(
          message.entities.map((entity) => this.#described(entity)),
          this.#tick,
        );
      case "attributes": {
        const known = state.entities.get(message.id);
        const set = known === undefined ? {} : declared(message.set, known.kind, undefined);
        return state.setAttributes(message.id, set);
      }
      case "despawn":
        return state.despawn(message.ids);
      case "player":
        return state.setPlayer(message.id, message.name, message.avatar);
      case "left":
        return state.removePlayer(message.id);
      case "screen":
        return state.show(`${message.personal} ${message.place}`, message);
      case "event":
        return state.dispatchEvent(message.name, message.payload);
      case "refused":
        return this.#handlers.refused(message.action, message.reason, message.number);
      case "done":
        return this.#handlers.done(message.number);
      case "granted":
        return this.#handlers.granted(message.entity, message.number);
      case "denied":
        return this.#handlers.denied(message.request, message.entity, message.number, message.reason);
      case "report": {
        const { outcome, version, text } = message;
        return emitter.emit("report", { outcome, version, text });
      }
      case "move": {
        this.#tick = message.tick;
        this.#connection.proved();
        const { tick } = message;
        return this.#handlers.moved({
          tick,
          nowMs,
          moved: state.move(message),
          isNewest: true,
          ackedInputSequence: 0,
        });
      }
      case "chat": {
        const { from, name, text } = message;
        return emitter.emit("chat", { from, name, text });
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
      case "unsaid":
        return emitter.emit("unsaid", { text: message.text, reason: message.reason });
      case "missed":
        return emitter.emit("missed", { lines: message.lines });
    }
  }

  #define(definition: Definition): void {
    this.#kinds.clear();
    for (const kind of definition.kinds) this.#kinds.set(kind.name, kind);
    this.#handlers.state.define(definition);
  }

  #described({ kind: name, attributes, ...rest }: SpawnMessageEntity): SpawnedEntity {
    const kind = this.#kinds.get(name);
    if (kind === undefined) throw malformed("spawn.kind", `a kind of the definition, not "${name}"`);
    return { ...rest, kind, attributes: declared(attributes, kind, null) };
  }

  #welcomed({ player: playerId, resumed: isResumed, ...rest }: ServerMessage & { type: "welcome" }): void {
    const { room, world, stepHz, networkHz, tick } = rest;
    this.#tick = tick;
    this.#isWelcome = true;
    this.#kinds.clear();
    this.#handlers.welcomed({ playerId, isResumed, room, world, stepHz, networkHz, tick });
    this.#ping();
  }

  #lost(error: NowcastError, retryInMs: number | undefined): void {
    this.#isWelcome = false;
    this.pingMs = undefined;
    this.#handlers.lost(error, retryInMs);
  }
}

function bytesOf(data: string | Uint8Array): number {
  return typeof data === "string" ? utf8LengthWellFormed(data) : data.length;
}

/**
 * Returns the values that the kind declares. `missing` replaces absent values, unless it is
 * `undefined`.
 */
function declared(values: WorldRecord, kind: Kind, missing: null | undefined): WorldRecord {
  const known: Record<string, unknown> = {};
  for (const { name } of kind.attributes) {
    const value = Object.hasOwn(values, name) ? values[name] : missing;
    if (value !== undefined) setOwn(known, name, value);
  }
  return known;
}
