import type { Channel } from "../../channel/channel.js";
import type { ChannelMessage } from "../../channel/message.js";
import { NowcastError } from "../../errors/nowcast-error.js";
import type { Action, ProtocolAdapter, ProtocolHandlers } from "../protocol.js";
import type { EntityId, Input, JoinOptions, WorldLink } from "../world.js";
import { CARRIER_NAMES } from "./carrier-names.js";
import type { FromWorld, ToWorld } from "./generated/messages.js";
import {
  readFromWorld,
  readMissed,
  readSaid,
  readThing,
  writeControls,
  writeLine,
  writeToWorld,
} from "./message-bytes.js";
import { SessionLink } from "./session-link.js";
import { Things } from "./things.js";

/** The version of `spec/WORLD.md` that this SDK speaks. */
const PROTOCOL = 1;
const WORLD_LANE = 0;
const CHAT_LANE = 1;
const CONTROLS_KEY = 1;
const MISSED_KEY = 1;
/** What cannot be understood any more is asked for as a whole, not more often than this. */
const FORGET_INTERVAL_MS = 1000;

/** The session's code for a peer that broke a rule of the world's protocol. */
const CLOSE_MALFORMED = 64;

/** A seat by a session (`spec/WORLD.md`). */
export class SessionAdapter implements ProtocolAdapter {
  /** A session keeps the newest input alone until there is room for it. */
  readonly backlogBytes = 0;
  readonly #handlers: ProtocolHandlers;
  readonly #link: SessionLink;
  readonly #things: Things;
  #isWelcome = false;
  #missedLines = 0;
  #forgottenAtMs = Number.NEGATIVE_INFINITY;

  constructor(url: string, options: JoinOptions, handlers: ProtocolHandlers) {
    this.#handlers = handlers;
    this.#things = new Things(handlers.table, handlers.emitter);
    this.#link = new SessionLink(url, options, {
      opened: (channel) => this.#opened(channel),
      interrupted: (isInterrupted) => {
        if (this.#isWelcome) handlers.interrupted(isInterrupted);
      },
      message: (message) => this.#received(message),
      lost: (error, retryInMs) => {
        this.#isWelcome = false;
        handlers.lost(error, retryInMs);
      },
    });
  }

  get pingMs(): number | undefined {
    return this.#link.channel?.status.rttMs;
  }

  get link(): WorldLink | undefined {
    const status = this.#link.channel?.status;
    if (status === undefined) return undefined;
    const { carrier, loss, freshnessMs, superseded, resent, resumed } = status;
    const name = carrier === undefined ? undefined : CARRIER_NAMES[carrier];
    return { carrier: name, loss, freshnessMs, superseded, resent, resumed };
  }

  input(input: Input): boolean {
    return this.#channel?.lane(WORLD_LANE).state(CONTROLS_KEY, writeControls(input)) ?? false;
  }

  act(action: Action): boolean {
    if (action.type === "grab") return this.#tell({ Grab: { block: action.block ?? null } });
    const { power, pitch } = action;
    return this.#tell({ Throw: { power, pitch } });
  }

  chat(text: string): boolean {
    return (this.#channel?.lane(CHAT_LANE).event(writeLine({ text })) ?? false) !== false;
  }

  rename(name: string): boolean {
    return this.#tell({ Rename: { name } });
  }

  setRate(networkHz: number): boolean {
    return this.#tell({ Rate: { network_hz: networkHz } });
  }

  close(): void {
    this.#isWelcome = false;
    this.#link.close();
  }

  /** What can be spoken over: there is none before the welcome. */
  get #channel(): Channel | undefined {
    return this.#isWelcome ? this.#link.channel : undefined;
  }

  #tell(message: ToWorld): boolean {
    return (this.#channel?.lane(WORLD_LANE).event(writeToWorld(message)) ?? false) !== false;
  }

  #opened(channel: Channel): void {
    const { name = "", networkHz = 0 } = this.#handlers;
    const join: ToWorld = { Join: { protocol: PROTOCOL, name, network_hz: networkHz } };
    channel.lane(WORLD_LANE).event(writeToWorld(join));
  }

  #received(message: ChannelMessage): void {
    const nowMs = performance.now();
    this.#handlers.received(nowMs, message.value.length);
    try {
      this.#handle(message, nowMs);
    } catch (error) {
      if (!(error instanceof NowcastError)) throw error;
      // What cannot be read now could not be read after another try either, if it is a matter of versions.
      this.#link.abandon(CLOSE_MALFORMED, error, error.fault === "peer-incompatible");
    }
  }

  #handle(message: ChannelMessage, nowMs: number): void {
    if (message.type === "replication") return this.#replicated(message.value, nowMs);
    const { emitter } = this.#handlers;
    if (message.lane === CHAT_LANE && message.type === "event") {
      const { from, name, text } = readSaid(message.value);
      return emitter.emit("chat", { from: from as EntityId, name, text });
    }
    if (message.lane === CHAT_LANE && message.type === "state" && Number(message.key) === MISSED_KEY) {
      return this.#missed(readMissed(message.value).lines);
    }
    if (message.lane === WORLD_LANE && message.type === "event") {
      return this.#event(readFromWorld(message.value));
    }
    if (message.lane === WORLD_LANE && message.type === "state") {
      const thing = message.value.length === 0 ? undefined : readThing(message.value);
      if (this.#things.describe(Number(message.key) as EntityId, thing)) return;
    }
    this.#handlers.unknownMessage();
  }

  /** `lines` counts from the beginning of the session, because a state may take the place of an earlier one. */
  #missed(lines: number): void {
    const missed = lines - this.#missedLines;
    this.#missedLines = lines;
    if (missed > 0) this.#handlers.emitter.emit("missed", { lines: missed });
  }

  #replicated(payload: Uint8Array, nowMs: number): void {
    if (!this.#isWelcome) return;
    const { moved, isNewer, missing } = this.#things.apply(payload);
    this.#handlers.moved(this.#things.tick, nowMs, moved, isNewer);
    if (missing > 0 && nowMs - this.#forgottenAtMs > FORGET_INTERVAL_MS) {
      this.#forgottenAtMs = nowMs;
      this.#tell("Forget");
    }
  }

  #event(event: FromWorld): void {
    const { emitter } = this.#handlers;
    if ("Welcome" in event) this.#welcomed(event.Welcome);
    else if ("Rate" in event) emitter.emit("rate", { networkHz: event.Rate.network_hz });
    else emitter.emit("notice", { text: event.Notice.text });
  }

  #welcomed(welcome: Extract<FromWorld, { Welcome: unknown }>["Welcome"]): void {
    if (welcome.protocol !== PROTOCOL) {
      const versions = `the server speaks version ${welcome.protocol} of the world's protocol, this SDK ${PROTOCOL}`;
      throw new NowcastError("peer-incompatible", versions);
    }
    const { room, step_hz: stepHz, network_hz: networkHz } = welcome;
    const tick = Number(welcome.tick);
    this.#things.restart(tick);
    this.#isWelcome = true;
    this.#missedLines = 0;
    this.#link.proved();
    this.#handlers.welcomed({ avatarId: welcome.id as EntityId, room, stepHz, networkHz, tick });
  }
}
