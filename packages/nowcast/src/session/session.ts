/**
 * The session: one sans-IO protocol that carries the laws of the updatable queue over links that lose, reorder,
 * duplicate, delay and die. `spec/SESSION.md` is its normative description; this is one of two implementations.
 *
 * **The one invariant**: a value is read at the moment its packet leaves, and a packet is never sent again. When one is
 * lost, its messages decide what of them is still wanted.
 *
 * The order of calls: after anything happened (`handlePacket`, a put, a time-out), call `pollPacket` until it returns
 * nothing and send what it returned, `receive` and `pollNotice` until they return nothing, and come back with
 * `handleTimeout` at the time that `pollTimeout` names. Times are microseconds of any clock that never runs backwards.
 */
import type { PutOutcome } from "../queue/updatable-queue.js";
import { Acknowledger } from "./acks.js";
import { PacketBuilder } from "./builder.js";
import { PeerClock, toWireTime, WIRE_UNIT_US } from "./clock.js";
import { type Carrier, DEFAULT_CONFIG, type SessionConfig } from "./config.js";
import type { Count } from "./count.js";
import { toCount } from "./count.js";
import { Deadlines } from "./deadlines.js";
import { EarlyRecovery } from "./early-recovery.js";
import { CloseCode, type Closed, PeerFault } from "./fault.js";
import { Asking, equalBytes, nextEpoch, refusal, shrinks, speaksVersion } from "./handshake.js";
import type { ReceivedEvent, ReceivedState } from "./lane/receive.js";
import { Lanes, type Loading } from "./lanes.js";
import { checkLimits, type Limits } from "./limits.js";
import { crc32c } from "./packet/crc32c.js";
import { EventKind, type Frame } from "./packet/frames.js";
import { unfoldAcknowledgement, unfoldNumber } from "./packet/numbers.js";
import {
  type DataPacket,
  type Hello,
  type Packet,
  type Refuse,
  readPacket,
  type Ticket,
  VERSION,
  type Welcome,
  writeDataHead,
  writePacket,
} from "./packet/packets.js";
import { MalformedPacket } from "./packet/reader.js";
import { PacketWriter } from "./packet/writer.js";
import { SendRate } from "./rate.js";
import { RoundTrip } from "./rtt.js";
import { type Item, SentPackets } from "./sent.js";
import { Silence } from "./silence.js";
import { newStats, type SessionStats } from "./stats.js";
import { earliest } from "./time.js";

const CHECKSUM_BYTES = 4;
const QUIET_RUN_MAX = 64;
const UNACKNOWLEDGED_SPAN_MAX = 16_384;
const CLOSES_MAX = 3;
const CLOSING_US = 3_000_000;
const ENTROPY_BYTES = 48;
const REPLICATION_UNREAD_MAX = 64;

export type Message = (ReceivedState | ReceivedEvent) & { readonly lane: number };

/** Bytes of a replication source; they belong to the packet that carried them. */
export interface Replicated {
  readonly lane: number;
  readonly packet: number;
  readonly payload: Uint8Array;
}

/** News about the session itself. */
export type Notice =
  | { readonly type: "opened"; readonly resumed: boolean }
  | { readonly type: "detached" }
  | { readonly type: "closed"; readonly closed: Closed }
  | { readonly type: "expired"; readonly lane: number; readonly event: number }
  | { readonly type: "command timed out"; readonly lane: number; readonly command: number }
  | { readonly type: "reply"; readonly lane: number; readonly command: number; readonly value: Uint8Array };

type Phase =
  | { readonly name: "connecting"; readonly asking: Asking }
  | { readonly name: "listening" }
  | { readonly name: "answered"; hello: Hello; readonly proof: Uint8Array; isAnswerDue: boolean }
  | { readonly name: "refusing"; readonly refuse: Refuse }
  | { readonly name: "open" }
  | { readonly name: "detached"; readonly sinceUs: number }
  | {
      readonly name: "closing";
      readonly closed: Closed;
      isDue: boolean;
      left: number;
      readonly untilUs: number;
    }
  | { readonly name: "closed" };

export class Session {
  readonly stats: SessionStats = newStats();
  readonly clock = new PeerClock();
  readonly #config: SessionConfig;
  readonly #writer = new PacketWriter(65_536);
  readonly #lanes: Lanes;
  readonly #notices: Notice[] = [];
  readonly #replications: Replicated[] = [];
  #carrier: Carrier;
  #entropy: Uint8Array;
  #phase: Phase;
  #ticket: Ticket | undefined;
  #epoch: Count = 0;
  #peer: Limits;
  #proof: { readonly proof: Uint8Array; wasSent: boolean } | undefined;
  #acks = new Acknowledger();
  readonly #sent = new SentPackets();
  #rtt = new RoundTrip();
  #rate: SendRate;
  readonly #recovery: EarlyRecovery;
  readonly #deadlines = new Deadlines();
  #nextId = 0;
  #lastHeardUs: number;
  #lastElicitingUs: number | undefined;
  #silence = new Silence();
  #isProbeDue = false;
  #quietRun = 0;

  private constructor(
    config: SessionConfig,
    carrier: Carrier,
    entropy: Uint8Array,
    nowUs: number,
    phase: Phase,
  ) {
    checkLimits(config.limits);
    this.#config = config;
    this.#lanes = new Lanes(config, this.stats);
    this.#carrier = carrier;
    this.#entropy = checkEntropy(entropy);
    this.#phase = phase;
    this.#peer = config.limits;
    this.#rate = new SendRate(config.bytesPerSecondMax);
    this.#recovery = new EarlyRecovery(config.redundancyBitsPerSecond / 8);
    this.#lastHeardUs = nowUs;
  }

  /** A session that asks a peer. `entropy` is 48 random bytes, used for nothing else. */
  static connect(
    nowUs: number,
    carrier: Carrier,
    entropy: Uint8Array,
    config: Partial<SessionConfig> = {},
  ): Session {
    const asking = new Asking(nowUs, checkEntropy(entropy).slice(0, 8), undefined);
    const phase: Phase = { name: "connecting", asking };
    return new Session({ ...DEFAULT_CONFIG, ...config }, carrier, entropy, nowUs, phase);
  }

  /** A session that answers the first HELLO. */
  static accept(
    nowUs: number,
    carrier: Carrier,
    entropy: Uint8Array,
    config: Partial<SessionConfig> = {},
  ): Session {
    return new Session({ ...DEFAULT_CONFIG, ...config }, carrier, entropy, nowUs, { name: "listening" });
  }

  get isOpen(): boolean {
    return this.#phase.name === "open";
  }

  get isClosed(): boolean {
    return this.#phase.name === "closing" || this.#phase.name === "closed";
  }

  get isDetached(): boolean {
    return this.#phase.name === "detached";
  }

  /** Whether everything that was put is known to have arrived. */
  get isSettled(): boolean {
    return this.#lanes.isSettled;
  }

  /** What a peer needs to go on with this session on another carrier. */
  get ticket(): Ticket | undefined {
    return this.#ticket;
  }

  get roundTripUs(): number | undefined {
    return this.#rtt.latestUs === undefined ? undefined : this.#rtt.smoothedUs;
  }

  get bytesPerSecond(): number {
    return this.#rate.bytesPerSecond;
  }

  /** The newest value of a key; replaces one that has not left. */
  putState(nowUs: number, lane: number, key: number | bigint, value: Uint8Array): PutOutcome {
    const count = toCount(key);
    if (count === 0) throw new RangeError("key 0 stands for events; states have keys from 1 on");
    if (value.length > this.#peer.messageBytesMax) return "too large";
    return this.#lanes.sending(lane, this.#peer).putState(count, { value, producedAtUs: nowUs });
  }

  /** An event, delivered once and in order; after `timeToLiveUs` it is given up and reported as expired. */
  putEvent(nowUs: number, lane: number, value: Uint8Array, timeToLiveUs?: number): number | PutOutcome {
    return this.#put(nowUs, lane, EventKind.event, undefined, value, timeToLiveUs);
  }

  /** A command, answered by a reply notice with the id that this returns, or by the notice that it timed out. */
  command(nowUs: number, lane: number, value: Uint8Array, deadlineUs: number): number | PutOutcome {
    return this.#put(nowUs, lane, EventKind.command, undefined, value, deadlineUs);
  }

  /** The answer to a received command, by its lane and number. */
  reply(nowUs: number, lane: number, number: number, value: Uint8Array): number | PutOutcome {
    return this.#put(nowUs, lane, EventKind.reply, number, value, undefined);
  }

  /** The next message that may be shown. */
  receive(nowUs: number): Message | undefined {
    for (let next = this.#lanes.take(nowUs); next; next = this.#lanes.take(nowUs)) {
      const { lane, message } = next;
      if (message.type === "event" && message.kind === EventKind.reply) this.#replied(lane, message);
      else return { ...message, lane };
    }
    return undefined;
  }

  /** The next bytes of the peer's replication source, with the number of the packet that carried them. */
  receiveReplication(): Replicated | undefined {
    return this.#replications.shift();
  }

  pollNotice(): Notice | undefined {
    return this.#notices.shift();
  }

  /** Ends the session and tells the peer why. */
  close(nowUs: number, code: number, reason: string): void {
    this.#end(nowUs, { code, reason, by: "us" });
  }

  /** The carrier is gone; the session waits for another. */
  detach(nowUs: number): void {
    if (this.isClosed || this.#phase.name === "detached") return;
    if (this.#ticket === undefined) {
      this.#end(nowUs, {
        code: CloseCode.gaveUp,
        reason: "the carrier ended before the handshake",
        by: "silence",
      });
      return;
    }
    this.#phase = { name: "detached", sinceUs: nowUs };
    this.#notices.push({ type: "detached" });
  }

  /** A new carrier for a session that was open: an initiator asks to resume on it, an acceptor waits for HELLO. */
  attach(nowUs: number, carrier: Carrier, entropy: Uint8Array, role: "initiator" | "acceptor"): void {
    if (this.isClosed || this.#ticket === undefined)
      throw new Error("only a session that was open can be resumed");
    this.#entropy = checkEntropy(entropy);
    this.#carrier = carrier;
    this.#forgetPath();
    for (const packet of this.#sent.takeAll()) this.#lost(packet.items);
    this.#lastHeardUs = nowUs;
    if (role === "acceptor") {
      this.#phase = { name: "listening" };
      return;
    }
    this.#epoch = nextEpoch(this.#epoch);
    const resume = { ...this.#ticket, epoch: this.#epoch };
    this.#phase = { name: "connecting", asking: new Asking(nowUs, this.#entropy.slice(0, 8), resume) };
  }

  /** Takes a packet from the current carrier. Any bytes are allowed. */
  handlePacket(nowUs: number, bytes: Uint8Array): void {
    const { dropped } = this.stats;
    if (this.#phase.name === "closed" || this.#phase.name === "detached") {
      dropped.closed += 1;
      return;
    }
    const body = this.#unseal(bytes);
    if (body === undefined) {
      dropped.corrupt += 1;
      return;
    }
    this.stats.packetsReceived += 1;
    this.stats.bytesReceived += bytes.length;
    try {
      this.#handle(nowUs, readPacket(body));
    } catch (error) {
      if (error instanceof PeerFault) this.#end(nowUs, { code: error.code, reason: error.message, by: "us" });
      else if (!(error instanceof MalformedPacket)) throw error;
      else if (!this.isOpen) dropped.malformed += 1;
      else this.#end(nowUs, { code: CloseCode.malformed, reason: error.field, by: "us" });
    }
  }

  /** Does what time demands. Early or additional calls do no harm. */
  handleTimeout(nowUs: number): void {
    this.#expire(nowUs);
    const phase = this.#phase;
    const waited = nowUs - this.#lastHeardUs;
    const handshakeUs = this.#config.handshakeTimeoutMs * 1_000;
    if (phase.name === "open") this.#openTimeout(nowUs);
    else if (phase.name === "connecting" && nowUs - phase.asking.beganUs >= handshakeUs) this.#gaveUp(nowUs);
    else if (phase.name === "answered" && waited >= handshakeUs) this.#gaveUp(nowUs);
    else if (phase.name === "detached" && nowUs - phase.sinceUs >= this.#resumeTimeoutUs) {
      const reason = "no new carrier within the resume time-out";
      this.#end(nowUs, { code: CloseCode.gaveUp, reason, by: "silence" });
    } else if (phase.name === "closing" && nowUs >= phase.untilUs) this.#phase = { name: "closed" };
  }

  /** When to call {@link handleTimeout} and {@link pollPacket} if nothing happens before. */
  pollTimeout(nowUs: number): number | undefined {
    const times = [this.#phaseDueUs(nowUs)];
    if (!this.isClosed) times.push(this.#deadlines.nextUs);
    return earliest(times);
  }

  /** The next packet that may and should leave now. Call it only when the carrier takes a packet at once. */
  pollPacket(nowUs: number): Uint8Array | undefined {
    this.#writer.clear();
    const phase = this.#phase;
    let wrote = false;
    if (phase.name === "open") wrote = this.#writeData(nowUs);
    else if (phase.name === "closing") wrote = this.#writeClose(nowUs, phase);
    else wrote = this.#writeHandshake(nowUs, phase);
    if (!wrote) return undefined;
    if (!this.#carrier.isChecked) this.#writer.u32(crc32c(this.#writer.written()));
    this.stats.packetsSent += 1;
    this.stats.bytesSent += this.#writer.length;
    return this.#writer.finish();
  }

  #put(
    nowUs: number,
    lane: number,
    kind: EventKind,
    answers: number | undefined,
    value: Uint8Array,
    timeToLiveUs: number | undefined,
  ): number | PutOutcome {
    if (value.length > this.#peer.messageBytesMax) return "too large";
    const id = this.#nextId;
    const outcome = this.#lanes.sending(lane, this.#peer).putEvent({ id, kind, answers, value });
    if (outcome !== "queued") return outcome;
    this.#nextId += 1;
    if (timeToLiveUs !== undefined) {
      this.#deadlines.add({ atUs: nowUs + timeToLiveUs, lane, id, isCommand: kind === EventKind.command });
    }
    return id;
  }

  #replied(lane: number, { answers, value }: ReceivedEvent): void {
    const command = this.#deadlines.answered(lane, answers);
    if (command === undefined) this.stats.dropped.lateReplies += 1;
    else this.#notices.push({ type: "reply", lane, command, value });
  }

  #unseal(bytes: Uint8Array): Uint8Array | undefined {
    if (this.#carrier.isChecked) return bytes;
    const end = bytes.length - CHECKSUM_BYTES;
    if (end <= 0) return undefined;
    const sum = new DataView(bytes.buffer, bytes.byteOffset + end, CHECKSUM_BYTES).getUint32(0, true);
    const body = bytes.subarray(0, end);
    return crc32c(body) === sum ? body : undefined;
  }

  #handle(nowUs: number, packet: Packet): void {
    switch (packet.type) {
      case "hello":
        return this.#onHello(nowUs, packet);
      case "welcome":
        return this.#onWelcome(nowUs, packet);
      case "refuse":
        return this.#onRefuse(nowUs, packet);
      case "data":
        return this.#onData(nowUs, packet);
    }
  }

  #onHello(nowUs: number, hello: Hello): void {
    const phase = this.#phase;
    if (phase.name === "answered" && equalBytes(phase.hello.nonce, hello.nonce)) {
      phase.hello = { ...phase.hello, clock: hello.clock };
      phase.isAnswerDue = true;
      return;
    }
    if (phase.name !== "listening") {
      this.stats.dropped.misplaced += 1;
      return;
    }
    const refused = this.#judge(hello);
    if (refused) {
      this.#phase = { name: "refusing", refuse: refused };
      return;
    }
    this.#ticket ??= { session: this.#entropy.slice(8, 16), token: this.#entropy.slice(16, 32), epoch: 0 };
    if (hello.resume) {
      this.#ticket = { ...this.#ticket, epoch: hello.resume.epoch };
      this.#epoch = hello.resume.epoch;
    }
    this.#peer = hello.limits;
    this.#lastHeardUs = nowUs;
    this.clock.guess(nowUs, Number(hello.clock));
    const kept = { ...hello, nonce: hello.nonce.slice() };
    this.#phase = { name: "answered", hello: kept, proof: this.#entropy.slice(32, 40), isAnswerDue: true };
  }

  #judge(hello: Hello): Refuse | undefined {
    if (!speaksVersion(hello))
      return refusal(hello, CloseCode.version, `this peer speaks version ${VERSION} only`);
    const { resume } = hello;
    if (!this.#ticket) {
      return resume && refusal(hello, CloseCode.unknownSession, "there is no such session here");
    }
    if (!resume) return refusal(hello, CloseCode.wrongToken, "the carrier is for a session to resume");
    if (!equalBytes(this.#ticket.session, resume.session)) {
      return refusal(hello, CloseCode.unknownSession, "there is no such session here");
    }
    if (!equalBytes(this.#ticket.token, resume.token) || resume.epoch <= this.#ticket.epoch) {
      return refusal(hello, CloseCode.wrongToken, "the resume token or epoch is wrong");
    }
    return shrinks(this.#peer, hello.limits)
      ? refusal(hello, CloseCode.violation, "limits shrank")
      : undefined;
  }

  #onWelcome(nowUs: number, welcome: Welcome): void {
    const phase = this.#phase;
    if (phase.name !== "connecting" || !equalBytes(phase.asking.nonce, welcome.nonce)) {
      this.stats.dropped.misplaced += 1;
      return;
    }
    const { session, token, epoch, limits, clock, helloClock } = welcome;
    if (welcome.version !== VERSION) throw PeerFault.violation("a version that was not offered");
    const resumed = this.#ticket !== undefined;
    if (this.#ticket) {
      const isSame = equalBytes(this.#ticket.session, session) && epoch === this.#epoch;
      if (!isSame || shrinks(this.#peer, limits))
        throw PeerFault.violation("another session than the one to resume");
    }
    this.#ticket = { session: session.slice(), token: token.slice(), epoch };
    this.#peer = limits;
    this.#lastHeardUs = nowUs;
    this.clock.guess(nowUs, Number(clock));
    if (helloClock <= nowUs) {
      this.clock.sample(Number(helloClock), Number(clock), Number(clock), nowUs);
      this.#rtt.sample(Math.floor(nowUs - Number(helloClock)), 0);
    }
    this.#proof = { proof: welcome.proof.slice(), wasSent: false };
    this.#phase = { name: "open" };
    this.#notices.push({ type: "opened", resumed });
  }

  #onRefuse(nowUs: number, refuse: Refuse): void {
    const phase = this.#phase;
    if (phase.name !== "connecting" || !equalBytes(phase.asking.nonce, refuse.nonce)) {
      this.stats.dropped.misplaced += 1;
      return;
    }
    const { code, versionMin, versionMax, text } = refuse;
    const isVersion = code === CloseCode.version;
    const reason = isVersion
      ? `the peer speaks versions ${versionMin} to ${versionMax}, we speak ${VERSION}`
      : text;
    this.#end(nowUs, { code, reason, by: "peer" });
  }

  #onData(nowUs: number, packet: DataPacket): void {
    const phase = this.#phase;
    const { dropped } = this.stats;
    if (phase.name === "closing") {
      phase.isDue = phase.left > 0;
      dropped.closed += 1;
      if (packet.frames.some(({ type }) => type === "close")) this.#phase = { name: "closed" };
      return;
    }
    if (phase.name === "answered") {
      const proves = (frame: Frame) => frame.type === "proof" && equalBytes(phase.proof, frame.proof);
      if (packet.frames.some(proves)) {
        this.#phase = { name: "open" };
        this.#notices.push({ type: "opened", resumed: this.#epoch !== 0 });
      }
    }
    if (this.#phase.name !== "open") {
      dropped.unproven += 1;
      return;
    }
    const number = unfoldNumber(packet.numberLow, this.#acks.largest);
    const arrival = this.#acks.judge(number);
    if (arrival !== "new") {
      dropped[arrival] += 1;
      return;
    }
    if (!this.#hasRoomForReplication(packet)) {
      dropped.unread += 1;
      return;
    }
    const ranges = packet.ack && unfoldAcknowledgement(packet.ack, this.#sent.nextNumber - 1);
    const isEliciting = packet.frames.some(({ type }) => type !== "padding" && type !== "close");
    this.#acks.arrived(nowUs, number, isEliciting, this.#carrier.isReliable);
    this.#lastHeardUs = nowUs;
    const leftPeerUs = this.clock.unfold(packet.time, nowUs);
    if (packet.ack && ranges) this.#onAck(nowUs, ranges, Number(packet.ack.delay) * WIRE_UNIT_US, leftPeerUs);
    const leftUs = this.clock.toOurs(leftPeerUs, nowUs);
    for (const frame of packet.frames) this.#onFrame(nowUs, leftUs, number, frame);
  }

  #hasRoomForReplication({ frames }: DataPacket): boolean {
    return frames.every((frame) => {
      if (frame.type !== "replication") return true;
      this.#lanes.receiving(frame.lane);
      const isOfLane = ({ lane }: { readonly lane: number }) => lane === frame.lane;
      const arriving = frames.filter((other) => other.type === "replication" && isOfLane(other)).length;
      return this.#replications.filter(isOfLane).length + arriving <= REPLICATION_UNREAD_MAX;
    });
  }

  #onFrame(nowUs: number, leftUs: number, number: number, frame: Frame): void {
    switch (frame.type) {
      case "states":
        return this.#lanes.receiving(frame.lane).receiveStates(frame, leftUs, nowUs);
      case "state_part":
        return this.#lanes.receiving(frame.lane).receiveStatePart(frame, leftUs, nowUs);
      case "event":
        return this.#lanes.receiving(frame.lane).receiveEvent(frame, nowUs);
      case "event_part":
        return this.#lanes.receiving(frame.lane).receiveEventPart(frame, nowUs);
      case "window":
        return this.#lanes.windowReceived(frame.lane, frame.consumed, this.#peer);
      case "close":
        return this.#end(nowUs, { code: frame.code, reason: frame.reason, by: "peer" });
      case "replication":
        this.#replications.push({ lane: frame.lane, packet: number, payload: frame.payload.slice() });
    }
  }

  #onAck(nowUs: number, ranges: [number, number][], delayUs: number, leftPeerUs: number): void {
    const acknowledged = this.#sent.acknowledge(ranges);
    for (const { items } of acknowledged) this.#arrived(items);
    const newest = acknowledged[acknowledged.length - 1];
    if (newest?.number === ranges[0]![1]) {
      if (this.#silentShare(nowUs) !== undefined) this.#rate = this.#rate.restarted(0.5);
      this.#rtt.sample(Math.floor(nowUs - newest.sentUs), delayUs);
      const arrivedUs = leftPeerUs - delayUs;
      this.clock.sample(newest.sentUs, arrivedUs, leftPeerUs, nowUs);
      const bytes = acknowledged.reduce((sum, packet) => sum + packet.bytes, 0);
      const { number, sentUs, bytes: packetBytes } = newest;
      const nextNumber = this.#sent.nextNumber;
      this.#rate.acknowledged(nowUs, { number, nextNumber, sentUs, arrivedUs, packetBytes, bytes });
      this.#silence.acknowledged(nowUs, this.#sent.inFlight);
    }
    this.#detectLosses(nowUs);
  }

  #arrived(items: readonly Item[]): void {
    for (const item of items) {
      if (item.type === "message") item.message.acknowledged(item.part, item.generation);
      else if (item.type === "proof") this.#proof = undefined;
    }
  }

  #lost(items: readonly Item[]): void {
    for (const item of items) {
      if (item.type === "message") item.message.lost(item.part, item.generation);
      else if (item.type === "window") this.#lanes.windowLost(item.lane, item.consumed);
      else if (item.type === "proof" && this.#proof) this.#proof.wasSent = false;
    }
  }

  #detectLosses(nowUs: number): void {
    if (this.#carrier.isReliable) return;
    for (const packet of this.#sent.detectLost(nowUs, this.#rtt)) {
      this.stats.packetsLost += 1;
      this.#lost(packet.items);
    }
  }

  #openTimeout(nowUs: number): void {
    if (nowUs - this.#lastHeardUs >= this.#idleTimeoutUs) {
      this.detach(nowUs);
      return;
    }
    this.#detectLosses(nowUs);
    const probeAtUs = this.#probeAtUs();
    if (probeAtUs !== undefined && nowUs >= probeAtUs) this.#probe(nowUs);
  }

  /** Acknowledgements stayed away: the next packet carries what is oldest, whatever the rate. */
  #probe(nowUs: number): void {
    this.#isProbeDue = true;
    this.#silence.probed(nowUs);
    this.stats.probes += 1;
    for (const item of this.#sent.oldest()?.items ?? []) {
      if (item.type === "message") item.message.probe(item.part, item.generation);
    }
    this.#lanes.probe();
  }

  #probeAtUs(): number | undefined {
    if (this.#carrier.isReliable || this.#sent.inFlight === 0) return undefined;
    return this.#silence.probeAtUs(this.#rtt);
  }

  /** How much of the rate to use while the peer is silent. */
  #silentShare(nowUs: number): number | undefined {
    return this.#carrier.isReliable ? undefined : this.#silence.share(nowUs, this.#rtt);
  }

  #expire(nowUs: number): void {
    for (const { lane, id, isCommand } of this.#deadlines.takeDue(nowUs)) {
      const wasWanted = this.#lanes.expire(lane, id);
      if (isCommand) this.#notices.push({ type: "command timed out", lane, command: id });
      else if (wasWanted) {
        this.stats.expired += 1;
        this.#notices.push({ type: "expired", lane, event: id });
      }
    }
  }

  #gaveUp(nowUs: number): void {
    if (this.#ticket !== undefined && this.#epoch !== 0) {
      this.detach(nowUs);
      return;
    }
    const reason = "no answer within the handshake time-out";
    this.#end(nowUs, { code: CloseCode.gaveUp, reason, by: "silence" });
  }

  #end(nowUs: number, closed: Closed): void {
    if (this.isClosed) return;
    const tells = this.isOpen && closed.by === "us";
    this.#notices.push({ type: "closed", closed });
    this.#phase = tells
      ? { name: "closing", closed, isDue: true, left: CLOSES_MAX, untilUs: nowUs + CLOSING_US }
      : { name: "closed" };
  }

  #forgetPath(): void {
    this.#rtt = new RoundTrip();
    this.#rate = this.#rate.restarted(0.5);
    this.#acks.sent();
    this.#silence = new Silence();
    this.#isProbeDue = false;
    this.#proof = undefined;
  }

  get #idleTimeoutUs(): number {
    return Math.min(this.#config.limits.idleTimeoutMs, this.#peer.idleTimeoutMs) * 1_000;
  }

  get #resumeTimeoutUs(): number {
    return Math.min(this.#config.limits.resumeTimeoutMs, this.#peer.resumeTimeoutMs) * 1_000;
  }

  #phaseDueUs(nowUs: number): number | undefined {
    const phase = this.#phase;
    const handshakeUs = this.#config.handshakeTimeoutMs * 1_000;
    switch (phase.name) {
      case "open":
        return this.#openDueUs(nowUs);
      case "connecting":
        return Math.min(phase.asking.nextUs, phase.asking.beganUs + handshakeUs);
      case "answered":
        return phase.isAnswerDue ? nowUs : this.#lastHeardUs + handshakeUs;
      case "refusing":
        return nowUs;
      case "detached":
        return phase.sinceUs + this.#resumeTimeoutUs;
      case "closing":
        return phase.isDue && phase.left > 0 ? nowUs : phase.untilUs;
      default:
        return undefined;
    }
  }

  #openDueUs(nowUs: number): number | undefined {
    const must = this.#isProbeDue || this.#proof?.wasSent === false;
    return earliest([
      must ? nowUs : undefined,
      this.#acks.dueUs(nowUs),
      this.#carrier.isReliable ? undefined : this.#sent.lossAtUs(this.#rtt),
      this.#contentAtUs(nowUs),
      this.#windowDueUs(nowUs),
      this.#probeAtUs(),
      this.#repeatAtUs(nowUs),
      this.#keepAliveAtUs,
      this.#lastHeardUs + this.#idleTimeoutUs,
    ]);
  }

  #windowDueUs(nowUs: number): number | undefined {
    return this.#lanes.windowDueUs(nowUs);
  }

  get #keepAliveAtUs(): number {
    return (this.#lastElicitingUs ?? this.#lastHeardUs) + this.#idleTimeoutUs / 3;
  }

  #repeatAtUs(nowUs: number): number | undefined {
    if (this.#carrier.isReliable) return undefined;
    return this.#recovery.dueUs(nowUs, (lane, number) => this.#lanes.canRepeat(lane, number));
  }

  /** When content that waits may leave; nothing if none waits, or if it waits for something to arrive. */
  #contentAtUs(nowUs: number): number | undefined {
    if (!this.#lanes.hasMore(this.#peer)) return undefined;
    if (this.#sent.nextNumber - this.#sent.largestAcknowledged > UNACKNOWLEDGED_SPAN_MAX) return undefined;
    const hasFlight =
      this.#silentShare(nowUs) !== undefined ||
      this.#sent.inFlightBytes < this.#rate.flightBytesMax(this.#rtt.minimumUs || 100_000);
    if (hasFlight) return Math.max(nowUs, this.#rate.nextAtUs);
    // When the silence begins, flight no longer counts.
    return this.#silence.beginsAtUs(this.#rtt);
  }

  #writeData(nowUs: number): boolean {
    const isDue = (atUs: number | undefined): boolean => atUs !== undefined && atUs <= nowUs;
    const contentAtUs = this.#contentAtUs(nowUs);
    if (contentAtUs !== undefined && contentAtUs > nowUs) this.#rate.holdBack();
    const ack = isDue(this.#acks.dueUs(nowUs));
    const content = isDue(contentAtUs);
    const ping = this.#isProbeDue || isDue(this.#keepAliveAtUs) || (ack && this.#quietRun >= QUIET_RUN_MAX);
    const window = isDue(this.#windowDueUs(nowUs));
    const repeat = isDue(this.#repeatAtUs(nowUs));
    const proof = this.#proof?.wasSent === false;
    if (!(ack || content || ping || window || repeat || proof)) return false;
    const acknowledgement = this.#acks.toSend(nowUs);
    const numberLow = this.#sent.nextNumber % 0x10000;
    writeDataHead(this.#writer, { numberLow, time: toWireTime(nowUs), ack: acknowledgement });
    const builder = new PacketBuilder(this.#writer, this.#packetBytesMax);
    const items: Item[] = [];
    if (this.#proof) {
      this.#proof.wasSent = true;
      builder.frame({ type: "proof", proof: this.#proof.proof });
      items.push({ type: "proof" });
    }
    const loading = this.#loading(nowUs, builder, items);
    if (window || content) this.#lanes.writeWindows(loading);
    if (!this.#carrier.isReliable) this.#lanes.ride(loading, this.#recovery);
    if (content || this.#isProbeDue) this.#lanes.fill(loading);
    if ((ping || proof) && !builder.isEliciting) builder.frame({ type: "ping" });
    if (!builder.isEliciting && !ack) return false;
    this.#noteDeparture(nowUs, builder.isEliciting, items, acknowledgement !== undefined);
    return true;
  }

  #noteDeparture(nowUs: number, isEliciting: boolean, items: readonly Item[], acknowledges: boolean): void {
    const bytes = this.#writer.length + (this.#carrier.isChecked ? 0 : CHECKSUM_BYTES);
    this.#sent.push(nowUs, bytes, isEliciting, items);
    this.#rate.spend(nowUs, bytes, this.#silentShare(nowUs) ?? 1);
    if (acknowledges) this.#acks.sent();
    if (!isEliciting) {
      this.#quietRun += 1;
      return;
    }
    this.#quietRun = 0;
    this.#isProbeDue = false;
    this.#lastElicitingUs = nowUs;
    this.#silence.packetLeft(nowUs);
  }

  get #packetBytesMax(): number {
    const bytes = Math.min(this.#carrier.packetBytesMax, this.#peer.packetBytesMax);
    return bytes - (this.#carrier.isChecked ? 0 : CHECKSUM_BYTES);
  }

  #loading(nowUs: number, builder: PacketBuilder, items: Item[]): Loading {
    const onBound: Loading["onBound"] = (lane, event) => {
      if (!this.#carrier.isReliable) this.#recovery.bound(nowUs, lane, event);
      const isCommand = event.kind === EventKind.command && event.id !== undefined;
      if (isCommand) this.#deadlines.numbered(lane, event.number, event.id);
    };
    return { nowUs, builder, items, peer: this.#peer, onBound };
  }

  #writeClose(nowUs: number, phase: Phase & { name: "closing" }): boolean {
    if (!phase.isDue || phase.left === 0) return false;
    phase.isDue = false;
    phase.left -= 1;
    const numberLow = this.#sent.nextNumber % 0x10000;
    writeDataHead(this.#writer, { numberLow, time: toWireTime(nowUs), ack: undefined });
    const { code, reason } = phase.closed;
    new PacketBuilder(this.#writer, this.#packetBytesMax).frame({ type: "close", code, reason });
    this.#sent.push(nowUs, this.#writer.length, false, []);
    return true;
  }

  #writeHandshake(nowUs: number, phase: Phase): boolean {
    if (phase.name === "connecting" && nowUs >= phase.asking.nextUs) {
      writePacket(this.#writer, phase.asking.hello(Math.floor(nowUs), this.#config.limits));
      return true;
    }
    if (phase.name === "answered" && phase.isAnswerDue) {
      phase.isAnswerDue = false;
      const { nonce, clock } = phase.hello;
      const shared = { nonce, proof: phase.proof, helloClock: clock, clock: Math.floor(nowUs) };
      const limits = this.#config.limits;
      writePacket(this.#writer, { type: "welcome", version: VERSION, ...this.#ticket!, ...shared, limits });
      return true;
    }
    if (phase.name !== "refusing") return false;
    writePacket(this.#writer, phase.refuse);
    if (this.#ticket) {
      // A wrong token must not end the session that it does not belong to.
      this.#phase = { name: "detached", sinceUs: nowUs };
      this.#notices.push({ type: "detached" });
    } else this.#end(nowUs, { code: phase.refuse.code, reason: phase.refuse.text, by: "us" });
    return true;
  }
}

function checkEntropy(entropy: Uint8Array): Uint8Array {
  if (entropy.length !== ENTROPY_BYTES) throw new RangeError(`a session needs ${ENTROPY_BYTES} random bytes`);
  return entropy;
}
