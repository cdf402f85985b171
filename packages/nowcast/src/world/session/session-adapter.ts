import type { Channel } from "../../channel/channel.js";
import type { ChannelMessage } from "../../channel/message.js";
import type { WireValue } from "../../codec/value.js";
import { NowcastError } from "../../errors/nowcast-error.js";
import { type Identity, identityText } from "../../identity/identity.js";
import { checkActionBytes } from "../bounded.js";
import { MOVE_EVENT, readMove } from "../describe/move.js";
import type { InputChange } from "../posed-world.js";
import type { OwnerRequest, ProtocolHandlers, TargetPose } from "../protocol.js";
import type {
  EntityId,
  Input,
  JoinOptions,
  PlayerId,
  ReportOutcome,
  WorldLink,
  WorldRecord,
} from "../world.js";
import type { ConnectAttempt } from "./connect-session.js";
import {
  controlsCodec,
  type FromWorld,
  fromWorldCodec,
  lineCodec,
  type Moving,
  missedCodec,
  type Outcome,
  ownedCodec,
  type Place,
  type Said,
  saidCodec,
  stepsCodec,
  type ToWorld,
  toWorldCodec,
  viewCodec,
} from "./generated/messages.js";
import { ReplicationState } from "./replication-state.js";
import { SessionLink, type SessionLinkHandlers } from "./session-link.js";

/** An event that is neither the welcome nor a definition. */
type Occurrence = Exclude<FromWorld, { Welcome: unknown } | { Define: unknown }>;

/** The version of `spec/WORLD.md` that this SDK speaks. */
const PROTOCOL = 8;
const WORLD_LANE = 0;
const CHAT_LANE = 1;
/** The number that is added to an entity's id to get the key of its target pose. */
const OWNED_KEYS = 2 ** 32;
const CONTROLS_KEY = 1;
const STEPS_KEY = 2;
const VIEW_KEY = 3;
const MISSED_KEY = 1;
/** Minimum interval between two requests to send all movement again. A request is made if records cannot be decoded. */
const FORGET_INTERVAL_MS = 1000;

/** The close code for a peer that broke a rule of the world's protocol. */
const CLOSE_MALFORMED = 64;

/** Numbers of inputs start again after the greatest 16-bit number. */
const CONTROLS_NUMBER_MAX = 2 ** 16 - 1;

/** Names of the carriers for people. */
const CARRIER_NAMES = { webtransport: "WebTransport", websocket: "WebSocket" } as const;

const OUTCOMES: Readonly<Record<Outcome, ReportOutcome>> = {
  Runs: "runs",
  Refused: "refused",
  RolledBack: "rolled_back",
  Failed: "failed",
  Printed: "printed",
};

/**
 * A world's protocol over sessions (`spec/WORLD.md`). The arguments of its methods are validated and clamped. A method
 * returns `false` if it cannot send, because there was no welcome yet or the send queue is full.
 */
export class SessionAdapter implements SessionLinkHandlers {
  /** The number of the last sent input; 0 for none. */
  lastInputSequence = 0;
  readonly #handlers: ProtocolHandlers;
  readonly #link: SessionLink;
  readonly #replication: ReplicationState;
  readonly #identity: Identity | undefined;
  readonly #url: string;
  readonly #host: string;
  #isWelcome = false;
  /** Whether movement was lost because it arrived before the welcome. Replication can overtake events. */
  #isMovementLost = false;
  #missedLines = 0;
  /** The messages that wait for the last ones of the server from which the room has moved. */
  #held: (() => void)[] | undefined;
  #forgottenAtMs = Number.NEGATIVE_INFINITY;

  /** `first` is the first session, which is being opened. */
  constructor(url: string, options: JoinOptions, handlers: ProtocolHandlers, first: ConnectAttempt) {
    this.#handlers = handlers;
    this.#identity = options.identity;
    this.#url = url;
    this.#host = new URL(url).hostname.toLowerCase();
    this.#replication = new ReplicationState(handlers.state);
    this.#link = new SessionLink(url, options, this, first);
  }

  get pingMs(): number | undefined {
    return this.#link.channel?.status.rttMs;
  }

  get link(): WorldLink | undefined {
    const status = this.#link.channel?.status;
    if (status === undefined) return undefined;
    const { carrier, loss, ageMs, superseded, resent, resumed } = status;
    const name = carrier === undefined ? undefined : CARRIER_NAMES[carrier];
    return { carrier: name, loss, ageMs, superseded, resent, resumed };
  }

  /** Sends controls that differ from the last ones, or the first controls since the welcome. */
  input(input: Input): boolean {
    // Numbers skip 0, which means that there is no input.
    const number = (this.lastInputSequence % CONTROLS_NUMBER_MAX) + 1;
    const controls = controlsCodec.encodeShared({ number, ...input });
    const isSent = this.#channel?.lane(WORLD_LANE).state(CONTROLS_KEY, controls) ?? false;
    if (isSent) this.lastInputSequence = number;
    return isSent;
  }

  inputAtStep(number: number, changes: readonly InputChange[]): boolean {
    const steps = stepsCodec.encodeShared({ number, steps: changes as InputChange[] });
    return this.#channel?.lane(WORLD_LANE).state(STEPS_KEY, steps) ?? false;
  }

  /** Sends the delay of the display, in whole milliseconds. */
  viewDelay(delayMs: number): boolean {
    const view = viewCodec.encodeShared({ delay_ms: delayMs });
    return this.#channel?.lane(WORLD_LANE).state(VIEW_KEY, view) ?? false;
  }

  /**
   * Sends an action. The answer repeats its number. `step` is the client's step at the action, if the client counts
   * steps.
   */
  act(action: string, args: WorldRecord, number: number, step?: number, shown?: number): boolean {
    return this.#send(actionMessage(action, args, number, step, shown));
  }

  /** Throws a misuse for an action that cannot be encoded. */
  checkAction(action: string, args: WorldRecord): void {
    actionMessage(action, args, 1, 0, 0);
  }

  owner(request: OwnerRequest): boolean {
    return this.#send(phrase(request));
  }

  /** Sends a target for an entity. A newer target replaces an older one. */
  move(entity: EntityId, { position, rotation, velocity }: TargetPose): boolean {
    const moving =
      velocity === undefined ? null : { linear: [...velocity.linear], angular: [...velocity.angular] };
    const owned = ownedCodec.encodeShared({
      position: [...position],
      rotation: [...rotation],
      velocity: moving as Moving | null,
    });
    return this.#channel?.lane(WORLD_LANE).state(OWNED_KEYS + entity, owned) ?? false;
  }

  chat(text: string): boolean {
    return (this.#channel?.lane(CHAT_LANE).event(lineCodec.encodeShared({ text })) ?? false) !== false;
  }

  rename(name: string): boolean {
    return this.#send({ Rename: { name } });
  }

  setRate(networkHz: number): boolean {
    return this.#send({ Rate: { network_hz: networkHz } });
  }

  /** Leaves the world. No handler is called afterwards. */
  close(): void {
    this.#isWelcome = false;
    this.#link.close();
  }

  /** Returns the channel for messages; `undefined` before the welcome. */
  get #channel(): Channel | undefined {
    return this.#isWelcome ? this.#link.channel : undefined;
  }

  #send(message: ToWorld): boolean {
    return (this.#channel?.lane(WORLD_LANE).event(toWorldCodec.encodeShared(message)) ?? false) !== false;
  }

  began(): void {
    this.#isWelcome = false;
    this.#missedLines = 0;
    this.#isMovementLost = false;
    this.#held = this.#link.hasFormer ? [] : undefined;
  }

  opened(channel: Channel): void {
    if (this.#identity === undefined) this.#join(channel);
    else void this.#joinWithIdentity(channel, this.#identity);
  }

  /** Proves the identity, and joins. If there can be no proof, the client joins as a guest. */
  async #joinWithIdentity(channel: Channel, identity: Identity): Promise<void> {
    const { sessionId } = channel;
    const text = sessionId === undefined ? undefined : identityText(sessionId);
    const proof =
      text === undefined ? undefined : await identity.sign(this.#host, text).catch(() => undefined);
    if (!this.#link.has(channel)) return;
    if (proof !== undefined) {
      channel.lane(WORLD_LANE).event(toWorldCodec.encodeShared({ Identify: proof }));
    }
    this.#join(channel);
  }

  #join(channel: Channel): void {
    const { name = "", networkHz = 0, key } = this.#handlers;
    const who = { protocol: PROTOCOL, name, network_hz: networkHz, key };
    const join: ToWorld = this.#handlers.isProgram ? { JoinProgram: who } : { Join: who };
    channel.lane(WORLD_LANE).event(toWorldCodec.encodeShared(join));
  }

  interrupted(isInterrupted: boolean): void {
    if (this.#isWelcome) this.#handlers.interrupted(isInterrupted);
  }

  lost(error: NowcastError, retryInMs: number | undefined): void {
    this.#isWelcome = false;
    this.#handlers.lost(error, retryInMs);
  }

  message(message: ChannelMessage): void {
    this.#handlers.received(performance.now(), message.value.length);
    try {
      this.#handle(message);
    } catch (error) {
      this.#abandon(error);
    }
  }

  /** Handles a message of the server from which the room has moved. Its states are old, and its grants are void. */
  formerMessage({ lane, type, value }: ChannelMessage): void {
    if (type !== "event") return;
    try {
      if (lane === CHAT_LANE) return this.#said(saidCodec.decode(value));
      const event = fromWorldCodec.decode(value);
      const isOld = "Welcome" in event || "Define" in event || "Granted" in event || "Denied" in event;
      if (!isOld && !("Rate" in event) && !isMove(event)) this.#occurred(event);
    } catch (error) {
      if (!(error instanceof NowcastError)) throw error;
      this.#link.endFormer();
    }
  }

  formerEnded(): void {
    const held = this.#held;
    this.#held = undefined;
    for (const handle of held ?? []) handle();
  }

  /** Handles an event now, or after the last ones of the server from which the room has moved. */
  #inOrder(handle: () => void): void {
    if (this.#held === undefined) handle();
    else this.#held.push(handle);
  }

  /** Gives up the session after a message that could not be handled. */
  #abandon(error: unknown): void {
    if (!(error instanceof NowcastError)) throw error;
    // If the peer's version is the cause, messages on a new connection would be unreadable, too.
    this.#link.abandon(CLOSE_MALFORMED, error, error.fault === "peer-incompatible");
  }

  #handle(message: ChannelMessage): void {
    const { lane, type, value } = message;
    if (lane === WORLD_LANE && type === "state") {
      // States are ignored before the welcome, because they belong to no world yet.
      if (this.#isWelcome && this.#replication.put(Number(message.key), value)) return;
    } else if (lane === WORLD_LANE && type === "event") {
      return this.#event(fromWorldCodec.decode(value));
    } else if (lane === CHAT_LANE && type === "event") {
      const said = saidCodec.decode(value);
      return this.#inOrder(() => this.#said(said));
    } else if (lane === CHAT_LANE && type === "state" && Number(message.key) === MISSED_KEY) {
      return this.#missed(missedCodec.decode(value).lines);
    }
    this.#handlers.unknownMessage();
  }

  #said({ from, name, text }: Said): void {
    this.#handlers.emitter.emit("chat", { from: from as PlayerId, name, text });
  }

  /** `lines` is the total since the session began, because a newer value of this state may replace an unread one. */
  #missed(lines: number): void {
    const missed = lines - this.#missedLines;
    this.#missedLines = lines;
    if (missed > 0) this.#handlers.emitter.emit("missed", { lines: missed });
  }

  replicated(payload: Uint8Array, arrivedAtMs: number): void {
    const nowMs = performance.now();
    this.#handlers.received(nowMs, payload.length);
    if (!this.#isWelcome) {
      this.#isMovementLost = true;
      return;
    }
    let missing = 0;
    try {
      const applied = this.#replication.apply(payload);
      missing = applied.missing;
      const { tick, ackedInputSequence } = this.#replication;
      this.#handlers.moved({ ...applied, tick, nowMs: arrivedAtMs, ackedInputSequence });
    } catch (error) {
      return this.#abandon(error);
    }
    if (missing > 0 && nowMs - this.#forgottenAtMs > FORGET_INTERVAL_MS) {
      this.#forgottenAtMs = nowMs;
      this.#send("Forget");
    }
  }

  #event(event: FromWorld): void {
    if ("Welcome" in event) this.#welcomed(event.Welcome);
    else if (!this.#isWelcome) throw new NowcastError("peer-misbehaved", "an event before the welcome");
    else if ("Define" in event) this.#replication.define(event.Define.definition);
    else if (isMove(event)) {
      const moved = readMove(event.Happened.payload, this.#url);
      if (moved !== undefined) this.#link.prepare(moved);
    } else this.#inOrder(() => this.#occurred(event));
  }

  #occurred(event: Occurrence): void {
    const { emitter, state } = this.#handlers;
    if ("Happened" in event) state.dispatchEvent(event.Happened.event, event.Happened.payload);
    else if ("Refused" in event) {
      const { action, reason, number } = event.Refused;
      this.#handlers.refused(action, reason, number ?? undefined);
    } else if ("Done" in event) this.#handlers.done(event.Done.number);
    else if ("Granted" in event) {
      this.#handlers.granted(event.Granted.entity as EntityId, event.Granted.number);
    } else if ("Denied" in event) {
      const { request, entity, number, reason } = event.Denied;
      this.#handlers.denied(request, entity, number, reason);
    } else if ("Rate" in event) emitter.emit("rate", { networkHz: event.Rate.network_hz });
    else if ("Notice" in event) emitter.emit("notice", { text: event.Notice.text });
    else if ("Unsaid" in event) emitter.emit("unsaid", event.Unsaid);
    else {
      const { outcome, version, text } = event.Report;
      emitter.emit("report", { outcome: OUTCOMES[outcome], version: Number(version), text });
    }
  }

  #welcomed(welcome: Extract<FromWorld, { Welcome: unknown }>["Welcome"]): void {
    if (welcome.protocol !== PROTOCOL) {
      const versions = `the server speaks version ${welcome.protocol} of the world's protocol, this SDK ${PROTOCOL}`;
      throw new NowcastError("peer-incompatible", versions);
    }
    const { room, world, step_hz: stepHz, network_hz: networkHz, resumed: isResumed } = welcome;
    const tick = Number(welcome.tick);
    this.#replication.restart(tick);
    this.lastInputSequence = 0;
    this.#isWelcome = true;
    this.#link.proved();
    // Without this request, the server would assume that this client has the baselines.
    if (this.#isMovementLost) this.#send("Forget");
    this.#isMovementLost = false;
    const playerId = welcome.player as PlayerId;
    this.#handlers.welcomed({ playerId, isResumed, room, world, stepHz, networkHz, tick });
  }
}

/** Whether an event announces the move of the room. */
function isMove(event: FromWorld): event is Extract<FromWorld, { Happened: unknown }> {
  return "Happened" in event && event.Happened.event === MOVE_EVENT;
}

/** Throws a misuse for an action that no server would accept. */
function actionMessage(
  action: string,
  args: WorldRecord,
  number: number,
  step: number | undefined,
  shown: number | undefined,
): ToWorld {
  const given = { number, step: step ?? null, shown: shown ?? null };
  const message: ToWorld = { Act: { action, arguments: args as WireValue, ...given } };
  checkActionBytes(action, toWorldCodec.encodeShared(message).length);
  return message;
}

/** Encodes a request for a session. */
function phrase(request: OwnerRequest): ToWorld {
  switch (request.type) {
    case "own":
      return { Own: { entity: request.entity, number: request.number } };
    case "release":
      return { Release: { entity: request.entity, to: request.to ?? null } };
    case "set":
      return { Set: { entity: request.entity, attributes: request.attributes as WireValue } };
    case "spawn": {
      const { number, kind, position, rotation, attributes } = request;
      const place: Place = { position: [...position], rotation: [...rotation] };
      return { Spawn: { number, kind, place, attributes: attributes as WireValue } };
    }
    case "despawn":
      return { Despawn: { entity: request.entity } };
  }
}
