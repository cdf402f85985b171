import type { Channel } from "../../channel/channel.js";
import type { ChannelMessage } from "../../channel/message.js";
import { NowcastError } from "../../errors/nowcast-error.js";
import { Emitter } from "../../events/emitter.js";
import { DISPOSE, Waiting, type WaitOptions } from "../../events/waiting.js";
import { sessionUrl } from "../address.js";
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
import type {
  Entity,
  EntityId,
  Input,
  JoinOptions,
  World,
  WorldEvents,
  WorldLink,
  WorldStats,
  WorldStatus,
} from "../world.js";
import { CARRIER_NAMES } from "./carrier-names.js";
import {
  controlsCodec,
  type FromWorld,
  fromWorldCodec,
  lineCodec,
  missedCodec,
  saidCodec,
  type ToWorld,
  thingCodec,
  toWorldCodec,
} from "./generated/messages.js";
import { SessionLink } from "./session-link.js";
import { Things } from "./things.js";

/** The version of `spec/WORLD.md` that this SDK speaks. */
const PROTOCOL = 1;
const WORLD_LANE = 0;
const CHAT_LANE = 1;
const CONTROLS_KEY = 1;
const MISSED_KEY = 1;
const WAITING_CHAT_LINES_MAX = 16;
/** What cannot be understood any more is asked for as a whole, not more often than this. */
const FORGET_INTERVAL_MS = 1000;

/** The session's code for a peer that broke a rule of the world's protocol. */
const CLOSE_MALFORMED = 64;

/** A seat that a session gives (`spec/WORLD.md`). */
export class SessionWorld implements World {
  status: WorldStatus = "connecting";
  avatarId: EntityId | undefined;

  private readonly link: SessionLink;
  private readonly emitter = new Emitter<WorldEvents>();
  private readonly waiting = new Waiting();
  private readonly table = new EntityTable();
  private readonly things = new Things(this.table, this.emitter);
  private readonly inputs: InputSender;
  private readonly meter = new RateMeter();
  private readonly clock = new SnapshotClock();
  private name: string;
  private networkHz: number;
  private stepHz = 60;
  private waitingChat: string[] = [];
  private welcomes = 0;
  private isWelcome = false;
  private unknownMessages = 0;
  private missedLines = 0;
  private unsentActions = 0;
  private forgottenAtMs = Number.NEGATIVE_INFINITY;

  constructor(url: string | URL, options: JoinOptions) {
    const { name = "", networkHz } = options;
    this.name = boundedText(name, NAME_CHARACTERS_MAX, "name");
    this.networkHz = networkHz === undefined ? 0 : boundedHz(networkHz, "networkHz");
    this.link = new SessionLink(sessionUrl(url), options, {
      opened: (channel) => this.opened(channel),
      interrupted: (isInterrupted) => this.interrupted(isInterrupted),
      message: (message) => this.received(message),
      lost: (error, retryInMs) => this.lost(error, retryInMs),
    });
    this.inputs = new InputSender({
      send: (input) => this.sendInput(input),
      // A session keeps the newest input alone until there is room for it.
      backlogBytes: () => 0,
    });
  }

  get entities(): ReadonlyMap<EntityId, Entity> {
    return this.table.entities;
  }

  get stats(): WorldStats {
    return {
      pingMs: this.link.channel?.status.rttMs,
      ...this.meter.rates(performance.now()),
      snapshots: this.clock.snapshots,
      snapshotIntervalMs: this.clock.intervalMs,
      jitterMs: this.clock.jitterMs,
      reconnects: Math.max(0, this.welcomes - 1),
      unknownMessages: this.unknownMessages,
      unknownEntities: this.table.unknownEntities,
      unsentActions: this.unsentActions,
      link: this.linkStats,
    };
  }

  input(input: Input): void {
    this.inputs.set(input);
  }

  grab(block?: EntityId): void {
    this.act({ Grab: { block: block === undefined ? null : boundedId(block, "block") } });
  }

  throw(power: number, pitch: number): void {
    this.act({ Throw: { power: bounded(power, 0, 1, "power"), pitch: bounded(pitch, -1.5, 1.5, "pitch") } });
  }

  chat(line: string): void {
    const text = boundedText(line, LINE_CHARACTERS_MAX, "text");
    if (this.say(text)) return;
    if (this.status === "closed" || this.waitingChat.length >= WAITING_CHAT_LINES_MAX) this.unsentActions++;
    else this.waitingChat.push(text);
  }

  rename(name: string): void {
    this.name = boundedText(name, NAME_CHARACTERS_MAX, "name");
    this.tell({ Rename: { name: this.name } });
  }

  setRate(hz: number): void {
    this.networkHz = boundedHz(hz, "rate");
    this.tell({ Rate: { network_hz: this.networkHz } });
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
    this.link.close();
    this.ended();
    this.emitter.end();
    this.waiting.end(new NowcastError("misuse", "the world was closed", { code: "closed_here" }));
  }

  /** Nothing will be sent any more: what waits is given up. */
  private ended(): void {
    this.isWelcome = false;
    this.inputs.stop();
    this.unsentActions += this.waitingChat.splice(0).length;
    this.changeStatus("closed");
  }

  private get linkStats(): WorldLink | undefined {
    const status = this.link.channel?.status;
    if (status === undefined) return undefined;
    const { carrier, loss, freshnessMs, superseded, resent, resumed } = status;
    const name = carrier === undefined ? undefined : CARRIER_NAMES[carrier];
    return { carrier: name, loss, freshnessMs, superseded, resent, resumed };
  }

  private act(message: ToWorld): void {
    if (!this.tell(message)) this.unsentActions++;
  }

  /** False when there is no welcome yet, or no more room for what waits. */
  private tell(message: ToWorld): boolean {
    const { channel } = this.link;
    if (!this.isWelcome || channel === undefined) return false;
    return channel.lane(WORLD_LANE).event(toWorldCodec.encode(message)) !== false;
  }

  /** False when there is no welcome yet, or no more room for what waits. */
  private say(text: string): boolean {
    const { channel } = this.link;
    if (!this.isWelcome || channel === undefined) return false;
    return channel.lane(CHAT_LANE).event(lineCodec.encode({ text })) !== false;
  }

  private sendInput({ forward, right, yaw, run, jump }: Input): boolean {
    const { channel } = this.link;
    if (!this.isWelcome || channel === undefined) return false;
    const controls = controlsCodec.encode({ forward, right, yaw, run, jump });
    return channel.lane(WORLD_LANE).state(CONTROLS_KEY, controls);
  }

  private opened(channel: Channel): void {
    const join: ToWorld = { Join: { protocol: PROTOCOL, name: this.name, network_hz: this.networkHz } };
    channel.lane(WORLD_LANE).event(toWorldCodec.encode(join));
  }

  private received(message: ChannelMessage): void {
    const nowMs = performance.now();
    this.meter.record(nowMs, message.value.length);
    try {
      this.handle(message, nowMs);
    } catch (error) {
      if (!(error instanceof NowcastError)) throw error;
      // What cannot be read now could not be read after another try either, if it is a matter of versions.
      this.link.abandon(CLOSE_MALFORMED, error, error.fault === "peer-incompatible");
    }
  }

  private handle(message: ChannelMessage, nowMs: number): void {
    if (message.type === "replication") return this.replicated(message.value, nowMs);
    if (message.lane === CHAT_LANE && message.type === "event") {
      const { from, name, text } = saidCodec.decode(message.value);
      return this.emitter.emit("chat", { from: from as EntityId, name, text });
    }
    if (message.lane === CHAT_LANE && message.type === "state" && Number(message.key) === MISSED_KEY) {
      return this.missed(missedCodec.decode(message.value).lines);
    }
    if (message.lane === WORLD_LANE && message.type === "event") {
      return this.event(fromWorldCodec.decode(message.value));
    }
    if (message.lane === WORLD_LANE && message.type === "state") {
      const thing = message.value.length === 0 ? undefined : thingCodec.decode(message.value);
      if (!this.things.describe(Number(message.key) as EntityId, thing)) this.unknownMessages++;
      return;
    }
    this.unknownMessages++;
  }

  /** `lines` counts from the beginning of the session, because a state may take the place of an earlier one. */
  private missed(lines: number): void {
    const missed = lines - this.missedLines;
    this.missedLines = lines;
    if (missed > 0) this.emitter.emit("missed", { lines: missed });
  }

  private replicated(payload: Uint8Array, nowMs: number): void {
    if (!this.isWelcome) return;
    const { moved, isNewer, missing } = this.things.apply(payload);
    const { tick } = this.things;
    if (isNewer) this.clock.record(tick, nowMs, this.stepHz);
    if (isNewer || moved.length > 0) this.emitter.emit("snapshot", { tick, receivedAtMs: nowMs, moved });
    if (missing > 0 && nowMs - this.forgottenAtMs > FORGET_INTERVAL_MS) {
      this.forgottenAtMs = nowMs;
      this.tell("Forget");
    }
  }

  private event(event: FromWorld): void {
    if ("Welcome" in event) this.welcomed(event.Welcome);
    else if ("Rate" in event) this.emitter.emit("rate", { networkHz: event.Rate.network_hz });
    else this.emitter.emit("notice", { text: event.Notice.text });
  }

  private welcomed(welcome: Extract<FromWorld, { Welcome: unknown }>["Welcome"]): void {
    if (welcome.protocol !== PROTOCOL) {
      const versions = `the server speaks version ${welcome.protocol} of the world's protocol, this SDK ${PROTOCOL}`;
      throw new NowcastError("peer-incompatible", versions);
    }
    const tick = Number(welcome.tick);
    this.things.restart(tick);
    this.welcomes++;
    this.isWelcome = true;
    this.missedLines = 0;
    this.avatarId = welcome.id as EntityId;
    this.stepHz = welcome.step_hz;
    this.clock.restart();
    this.link.proved();
    this.changeStatus("open");
    const { room, step_hz: stepHz, network_hz: networkHz } = welcome;
    this.emitter.emit("welcome", { avatarId: this.avatarId, room, stepHz, networkHz, tick });
    this.inputs.connected();
    for (const text of this.waitingChat.splice(0)) this.chat(text);
  }

  private interrupted(isInterrupted: boolean): void {
    if (!this.isWelcome) return;
    this.changeStatus(isInterrupted ? "reconnecting" : "open");
  }

  private lost(error: NowcastError, retryInMs: number | undefined): void {
    this.isWelcome = false;
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
