import { utf8LengthWellFormed } from "../../codec/msgpack.js";
import { NowcastError } from "../../errors/nowcast-error.js";
import { Emitter } from "../../events/emitter.js";
import { DISPOSE, Waiting, type WaitOptions } from "../../events/waiting.js";
import { worldUrl } from "../address.js";
import {
  bounded,
  boundedHz,
  boundedId,
  boundedText,
  LINE_CHARACTERS_MAX,
  NAME_CHARACTERS_MAX,
} from "../bounded.js";
import { EntityTable } from "../entity-table.js";
import { InputSender } from "../input-sender.js";
import { SnapshotClock } from "../interpolation/snapshot-clock.js";
import { RateMeter } from "../rate-meter.js";
import {
  ENCODINGS,
  type Encoding,
  type Entity,
  type EntityId,
  type Input,
  type JoinOptions,
  type World,
  type WorldEvents,
  type WorldStats,
  type WorldStatus,
} from "../world.js";
import { Connection } from "./connection.js";
import { PlainDecoder } from "./decode.js";
import { encodeClientMessage } from "./encode.js";
import type { ClientMessage, ServerMessage } from "./messages.js";

const DEFAULT_ENCODING: Encoding = "custom16";
const WAITING_CHAT_LINES_MAX = 16;
const MALFORMED = 4000;

/** A seat that the plain protocol of `spec/PLAIN.md` gives. */
export class PlainWorld implements World {
  status: WorldStatus = "connecting";
  avatarId: EntityId | undefined;

  private readonly encoding: Encoding;
  private readonly connection: Connection;
  private readonly emitter = new Emitter<WorldEvents>();
  private readonly waiting = new Waiting();
  private readonly table = new EntityTable();
  private readonly inputs: InputSender;
  private readonly meter = new RateMeter();
  private readonly clock = new SnapshotClock();
  private decoder: PlainDecoder;
  private readonly token: string | undefined;
  private name: string | undefined;
  private networkHz: number | undefined;
  private stepHz = 60;
  private tick = 0;
  private waitingChat: string[] = [];
  private pingMs: number | undefined;
  private welcomes = 0;
  private unknownMessages = 0;
  private unsentActions = 0;

  constructor(url: string | URL, options: JoinOptions) {
    this.encoding = options.encoding ?? DEFAULT_ENCODING;
    if (!ENCODINGS.includes(this.encoding)) {
      throw new NowcastError("misuse", `encoding "${this.encoding}" is none of ${ENCODINGS.join(", ")}`);
    }
    const { token, name, networkHz } = options;
    this.token = token;
    this.name = name === undefined ? undefined : boundedText(name, NAME_CHARACTERS_MAX, "name");
    this.networkHz = networkHz === undefined ? undefined : boundedHz(networkHz, "networkHz");
    this.decoder = new PlainDecoder(this.encoding);
    const base = worldUrl(url);
    this.connection = new Connection(
      { url: () => this.address(base), reconnect: options.reconnect ?? true, WebSocket: options.WebSocket },
      {
        message: (data) => this.received(data),
        tick: () => this.ping(),
        lost: (error, retryInMs) => this.lost(error, retryInMs),
      },
    );
    this.inputs = new InputSender({
      send: (input) => this.status === "open" && this.send({ type: "input", ...input }),
      backlogBytes: () => this.connection.backlogBytes,
    });
  }

  get entities(): ReadonlyMap<EntityId, Entity> {
    return this.table.entities;
  }

  get stats(): WorldStats {
    return {
      pingMs: this.pingMs,
      ...this.meter.rates(performance.now()),
      snapshots: this.clock.snapshots,
      snapshotIntervalMs: this.clock.intervalMs,
      jitterMs: this.clock.jitterMs,
      reconnects: Math.max(0, this.welcomes - 1),
      unknownMessages: this.unknownMessages,
      unknownEntities: this.table.unknownEntities,
      unsentActions: this.unsentActions,
    };
  }

  input(input: Input): void {
    this.inputs.set(input);
  }

  grab(block?: EntityId): void {
    this.act(block === undefined ? { type: "grab" } : { type: "grab", block: boundedId(block, "block") });
  }

  throw(power: number, pitch: number): void {
    this.act({
      type: "throw",
      power: bounded(power, 0, 1, "power"),
      pitch: bounded(pitch, -1.5, 1.5, "pitch"),
    });
  }

  chat(line: string): void {
    const text = boundedText(line, LINE_CHARACTERS_MAX, "text");
    if (this.send({ type: "chat", text })) return;
    if (this.status === "closed" || this.waitingChat.length >= WAITING_CHAT_LINES_MAX) this.unsentActions++;
    else this.waitingChat.push(text);
  }

  rename(name: string): void {
    this.name = boundedText(name, NAME_CHARACTERS_MAX, "name");
    this.send({ type: "name", name: this.name });
  }

  setRate(hz: number): void {
    this.networkHz = boundedHz(hz, "rate");
    this.send({ type: "rate", hz: this.networkHz });
  }

  on<K extends keyof WorldEvents>(
    type: K,
    listener: (event: WorldEvents[K]) => void,
    options?: WaitOptions,
  ): () => void {
    return this.emitter.on(type, listener, options);
  }

  once<K extends keyof WorldEvents>(type: K, { signal }: WaitOptions = {}): Promise<WorldEvents[K]> {
    return this.waiting.wait(signal, (resolve) => this.emitter.on(type, resolve));
  }

  [DISPOSE](): void {
    this.close();
  }

  close(): void {
    if (this.status === "closed") return;
    this.connection.close();
    this.ended();
    this.emitter.end();
    this.waiting.end(new NowcastError("misuse", "the world was closed", { code: "closed_here" }));
  }

  /** Nothing will be sent any more: what waits is given up. */
  private ended(): void {
    this.inputs.stop();
    this.unsentActions += this.waitingChat.splice(0).length;
    this.changeStatus("closed");
  }

  private address(base: URL): string {
    const url = new URL(base);
    url.searchParams.set("encoding", this.encoding);
    if (this.token !== undefined) url.searchParams.set("token", this.token);
    if (this.name !== undefined) url.searchParams.set("name", this.name);
    if (this.networkHz !== undefined) url.searchParams.set("hz", String(this.networkHz));
    return url.href;
  }

  private act(message: ClientMessage): void {
    if (!this.send(message)) this.unsentActions++;
  }

  /** False when the world is not open. */
  private send(message: ClientMessage): boolean {
    return this.status === "open" && this.connection.send(encodeClientMessage(message, this.encoding));
  }

  private ping(): void {
    this.send({ type: "ping", time: performance.now() });
  }

  private received(data: string | Uint8Array): void {
    const nowMs = performance.now();
    this.meter.record(nowMs, typeof data === "string" ? utf8LengthWellFormed(data) : data.length);
    try {
      const message = this.decoder.decode(data);
      if (message === undefined) this.unknownMessages++;
      else this.handle(message, nowMs);
    } catch (error) {
      if (!(error instanceof NowcastError)) throw error;
      // What cannot be read now could not be read after another try either, if it is a matter of versions.
      this.connection.abandon(MALFORMED, error, error.fault === "peer-incompatible");
    }
  }

  private handle(message: ServerMessage, nowMs: number): void {
    switch (message.type) {
      case "welcome":
        return this.welcomed(message);
      case "spawn":
        return this.emitter.emit("spawn", { entities: this.table.spawn(message.entities, this.tick) });
      case "despawn":
        return this.emitter.emit("despawn", { entities: this.table.despawn(message.ids) });
      case "move":
        this.tick = message.tick;
        this.clock.record(message.tick, nowMs, this.stepHz);
        this.connection.proved();
        return this.emitter.emit("snapshot", {
          tick: message.tick,
          receivedAtMs: nowMs,
          moved: this.table.move(message),
        });
      case "chat":
        return this.emitter.emit("chat", message);
      case "hold": {
        const held = this.table.hold(message.avatar, message.block);
        if (held !== undefined) this.emitter.emit("hold", held);
        return;
      }
      case "rename": {
        const entity = this.table.rename(message.id, message.name);
        if (entity !== undefined) this.emitter.emit("rename", { entity, name: message.name });
        return;
      }
      case "pong": {
        const roundTripMs = Math.max(0, nowMs - message.time);
        this.pingMs = this.pingMs === undefined ? roundTripMs : this.pingMs + (roundTripMs - this.pingMs) / 4;
        return;
      }
      case "rate":
        return this.emitter.emit("rate", { networkHz: message.hz });
      case "notice":
        return this.emitter.emit("notice", { text: message.text });
      case "missed":
        return this.emitter.emit("missed", { lines: message.lines });
    }
  }

  private welcomed(message: ServerMessage & { type: "welcome" }): void {
    const before = this.table.clear();
    if (before.length > 0) this.emitter.emit("despawn", { entities: before });
    this.welcomes++;
    this.avatarId = message.id;
    this.tick = message.tick;
    this.stepHz = message.stepHz;
    this.clock.restart();
    this.changeStatus("open");
    const { room, stepHz, networkHz, tick } = message;
    this.emitter.emit("welcome", { avatarId: message.id, room, stepHz, networkHz, tick });
    this.inputs.connected();
    this.ping();
    for (const text of this.waitingChat.splice(0)) this.chat(text);
  }

  private lost(error: NowcastError, retryInMs: number | undefined): void {
    this.pingMs = undefined;
    if (retryInMs === undefined) this.ended();
    else if (this.welcomes > 0) this.changeStatus("reconnecting");
    this.emitter.emit("error", { error, retryInMs });
    if (retryInMs !== undefined) return;
    this.emitter.end();
    this.waiting.end(error);
  }

  private changeStatus(status: WorldStatus): void {
    // A listener may leave in the middle of a welcome; that is for good.
    if (this.status === status || this.status === "closed") return;
    this.status = status;
    this.emitter.emit("status", { status });
  }
}
