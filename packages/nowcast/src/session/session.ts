/**
 * The session: one sans-IO protocol that implements the laws of the updatable queue over links that lose, reorder,
 * duplicate and delay packets, and that end. `spec/SESSION.md` is its normative description; this is one of two
 * implementations.
 *
 * **The one invariant**: a value is read when its packet leaves, and a packet is never sent again. If a packet is lost,
 * its messages decide what is still needed.
 *
 * The order of calls. After each change (`handlePacket`, a put, a time-out), call `pollPacket` until it returns
 * nothing, and send its results. Then call `receive` and `pollNotice` until they return nothing. Call `handleTimeout`
 * at the time that `pollTimeout` returns. Times are microseconds of any clock that never runs backwards.
 */
import { NowcastError } from "../errors/nowcast-error.js";
import { toUInt64 } from "../queue/uint64.js";
import type { PutOutcome } from "../queue/updatable-queue.js";
import { Acknowledger } from "./acks.js";
import { PeerClock, toWireTime, WIRE_UNIT_US } from "./clock.js";
import { Commands } from "./commands.js";
import { type CarrierTraits, DEFAULT_CONFIG, type SessionConfig } from "./config.js";
import { CloseCode, PeerFault } from "./fault.js";
import { type Gauges, readGauges } from "./gauges.js";
import { Handshake, type Role } from "./handshake.js";
import { Owners } from "./item-owners.js";
import type { ReceivedEvent, ReceivedState } from "./lane/receive.js";
import type { SendContext } from "./lane/send.js";
import { Lanes, type Plan } from "./lanes.js";
import { checkLane, checkLimits, type Limits } from "./limits.js";
import type { Notice } from "./notice.js";
import { PacketBuilder } from "./packet/builder.js";
import { EventKind, type Frame } from "./packet/frames.js";
import { unfoldAcknowledgement, unfoldNumber } from "./packet/numbers.js";
import {
  type DataPacket,
  type Hello,
  type Packet,
  readPacket,
  type Ticket,
  type Welcome,
  writeDataHead,
} from "./packet/packets.js";
import { MalformedPacket } from "./packet/reader.js";
import { PacketWriter } from "./packet/writer.js";
import { Recovery } from "./recovery.js";
import { LEADING_BYTES, Redundancy } from "./redundancy.js";
import { ReplicationLanes, type ReplicationSource } from "./replication.js";
import type { Item } from "./sent.js";
import { newStats, type SessionStats } from "./stats.js";
import { earliest } from "./time.js";

const QUIET_RUN_MAX = 64;
/** Maximum number of unread notices. The newest are kept. */
const NOTICES_UNREAD_MAX = 4_096;

export type Message = (ReceivedState | ReceivedEvent) & { readonly lane: number };

export class Session {
  readonly stats: SessionStats = newStats();
  readonly clock = new PeerClock();
  readonly #writer = new PacketWriter(65_536);
  readonly #lanes: Lanes;
  readonly #notices: Notice[] = [];
  /** The sources of this end, and the payloads of the peer's sources. */
  readonly replication = new ReplicationLanes();
  readonly #handshake: Handshake;
  readonly #recovery: Recovery;
  readonly #acks = new Acknowledger();
  readonly #redundancy: Redundancy;
  readonly #commands = new Commands();
  #carrier: CarrierTraits;
  #nextId = 0;
  #lastHeardUs: number;

  private constructor(
    config: SessionConfig,
    carrier: CarrierTraits,
    entropy: Uint8Array,
    nowUs: number,
    role: Role,
  ) {
    checkLimits(config.limits);
    this.#lanes = new Lanes(config, this.stats);
    this.#carrier = carrier;
    this.#handshake = new Handshake(config, entropy, nowUs, role, (notice) => this.#notify(notice));
    const owners = new Owners(this.#lanes, this.#handshake, this.replication);
    this.#recovery = new Recovery(this.stats, owners, config.bytesPerSecondMax, carrier.isReliable);
    this.#redundancy = new Redundancy(config.redundancyBitsPerSecond / 8);
    this.#lastHeardUs = nowUs;
  }

  /** Makes the session of an initiator. `entropy` is 48 random bytes, which are used for nothing else. */
  static connect(
    nowUs: number,
    carrier: CarrierTraits,
    entropy: Uint8Array,
    config: Partial<SessionConfig> = {},
  ): Session {
    return new Session({ ...DEFAULT_CONFIG, ...config }, carrier, entropy, nowUs, "initiator");
  }

  /** Makes the session of an acceptor, which answers the first HELLO. */
  static accept(
    nowUs: number,
    carrier: CarrierTraits,
    entropy: Uint8Array,
    config: Partial<SessionConfig> = {},
  ): Session {
    return new Session({ ...DEFAULT_CONFIG, ...config }, carrier, entropy, nowUs, "acceptor");
  }

  get isOpen(): boolean {
    return this.#handshake.isOpen;
  }

  get isClosed(): boolean {
    return this.#handshake.isClosed;
  }

  /** Whether no packet is left to send, not even a CLOSE. */
  get isOver(): boolean {
    return this.#handshake.phase.name === "closed";
  }

  get isDetached(): boolean {
    return this.#handshake.phase.name === "detached";
  }

  /** Whether the session accepts packets of its carrier. A carrier that was silent for too long is included. */
  get isAttached(): boolean {
    return this.#handshake.isAttached;
  }

  /** Whether everything that was put is known to have arrived. */
  get isSettled(): boolean {
    return this.#lanes.isSettled;
  }

  /** The values with which a peer resumes this session on another carrier. */
  get ticket(): Ticket | undefined {
    return this.#handshake.ticket;
  }

  get roundTripUs(): number | undefined {
    const { rtt } = this.#recovery;
    return rtt.latestUs === undefined ? undefined : rtt.smoothedUs;
  }

  get bytesPerSecond(): number {
    return this.#recovery.bytesPerSecond;
  }

  get gauges(): Gauges {
    return readGauges(this.stats, this.#recovery, this.#lanes);
  }

  /** The time at which the last packet of the peer was accepted. */
  get lastHeardUs(): number {
    return this.#lastHeardUs;
  }

  /** Time since the last packet while an answer is due, in microseconds; 0 if none is due. */
  silentForUs(nowUs: number): number {
    const { phase } = this.#handshake;
    const sinceUs = phase.name === "connecting" ? phase.attempt.beganUs : this.#recovery.outSinceUs;
    if (sinceUs === undefined || (phase.name !== "connecting" && phase.name !== "open")) return 0;
    return Math.max(0, nowUs - Math.max(sinceUs, this.#lastHeardUs));
  }

  /** Time to wait for an acknowledgement before a probe. */
  get probeTimeoutUs(): number {
    return this.#recovery.rtt.probeTimeoutUs;
  }

  /** The shortest round trip that was measured on this carrier; 0 before the first measurement. */
  get shortestRoundTripUs(): number {
    return this.#recovery.rtt.minimumUs;
  }

  /** Returns why a HELLO may not resume this session. */
  checkResume(resume: Ticket): { readonly code: number; readonly text: string } | undefined {
    return this.#handshake.checkResume(resume);
  }

  /** Puts the newest value of a key. It replaces a value that has not left. */
  putState(nowUs: number, lane: number, key: number | bigint, value: Uint8Array): PutOutcome {
    const count = toUInt64(key);
    if (count === 0)
      throw new NowcastError("misuse", "key 0 is reserved for events; states have keys from 1 on");
    if (value.length > this.#peer.messageBytesMax) return "too large";
    return this.#lanes.sending(lane, this.#peer).queue.putState(count, { value, producedAtUs: nowUs });
  }

  /** Puts an event, delivered once and in order. */
  putEvent(nowUs: number, lane: number, value: Uint8Array): number | PutOutcome {
    return this.#put(nowUs, lane, EventKind.event, undefined, value, undefined);
  }

  /**
   * Puts a command, answered by a reply notice with the returned id, or by a notice that it timed out. From then on it
   * is not delivered.
   */
  command(nowUs: number, lane: number, value: Uint8Array, deadlineUs: number): number | PutOutcome {
    return this.#put(nowUs, lane, EventKind.command, undefined, value, deadlineUs);
  }

  /** Puts the reply to a received command, which is given by its lane and number. */
  reply(nowUs: number, lane: number, number: number, value: Uint8Array): number | PutOutcome {
    return this.#put(nowUs, lane, EventKind.reply, number, value, undefined);
  }

  /** Lets a source fill the remaining room of packets. Without a source, replication stops. */
  replicate(lane: number, source: ReplicationSource | undefined): void {
    checkLane(lane, this.#peer);
    this.replication.set(lane, source);
  }

  /** Returns the next message for the application. With `isWanted`, only lanes for which it returns true count. */
  receive(nowUs: number, isWanted?: (lane: number) => boolean): Message | undefined {
    for (let next = this.#lanes.take(nowUs, isWanted); next; next = this.#lanes.take(nowUs, isWanted)) {
      const { lane, message } = next;
      if (message.type === "event" && message.kind === EventKind.reply) this.#replied(lane, message);
      else return { ...message, lane };
    }
    return undefined;
  }

  /**
   * Turns replies into notices if no unread message precedes them. This is for an application that waits for
   * replies and does not call {@link receive}.
   */
  receiveReplies(nowUs: number): void {
    for (let next = this.#lanes.takeReply(nowUs); next; next = this.#lanes.takeReply(nowUs)) {
      this.#replied(next.lane, next.reply);
    }
  }

  /** The next notice. If more than 4,096 are unread, the oldest are dropped and counted. */
  pollNotice(): Notice | undefined {
    return this.#notices.shift();
  }

  /** Ends the session and sends the peer the reason. */
  close(nowUs: number, code: number, reason: string): void {
    this.#handshake.end(nowUs, { code, reason, by: "us" });
  }

  /** Handles the end of the carrier. The session waits for another one. */
  detach(nowUs: number): void {
    this.#handshake.detach(nowUs);
  }

  /** Attaches a new carrier. An initiator asks to resume on it; an acceptor waits for HELLO. */
  attach(nowUs: number, carrier: CarrierTraits, entropy: Uint8Array, role: Role): void {
    this.#handshake.attach(nowUs, entropy, role);
    this.#carrier = carrier;
    this.#acks.sent();
    this.#recovery.begin(carrier.isReliable);
    this.#lastHeardUs = nowUs;
  }

  /** Requests an answer from the peer with the next packet. */
  ping(): void {
    if (this.isOpen) this.#recovery.isProbeDue = true;
  }

  /**
   * Handles a packet that the current carrier received at `arrivedAtUs`. The packet may be any bytes. The session keeps
   * views of it, so the caller must not change it afterwards.
   */
  handlePacket(nowUs: number, bytes: Uint8Array, arrivedAtUs = nowUs): void {
    this.replication.arrivedAtUs = arrivedAtUs;
    const { dropped } = this.stats;
    if (!this.isAttached) {
      dropped.closed += 1;
      return;
    }
    if (bytes.length === 0) {
      dropped.empty += 1;
      return;
    }
    this.stats.packetsReceived += 1;
    this.stats.bytesReceived += bytes.length;
    try {
      const packet = readPacket(bytes);
      if (packet.type === "data") this.#onData(nowUs, packet);
      else this.#onHandshake(nowUs, packet);
    } catch (error) {
      if (error instanceof PeerFault)
        this.#handshake.end(nowUs, { code: error.code, reason: error.message, by: "us" });
      else if (!(error instanceof MalformedPacket)) throw error;
      else if (!this.isOpen) {
        dropped.malformed += 1;
        // Without an answer, the author of the peer's program would believe that the server is down.
        if (this.#carrier.isReliable) this.#handshake.refuseMalformed(bytes, error.field);
      } else this.#handshake.end(nowUs, { code: CloseCode.malformed, reason: error.field, by: "us" });
    }
  }

  /** Handles due timers. Early or additional calls are harmless. */
  handleTimeout(nowUs: number): void {
    this.#expire(nowUs);
    if (this.isOpen) this.#openTimeout(nowUs);
    else this.#handshake.handleTimeout(nowUs, this.#lastHeardUs);
  }

  /** The time at which to call {@link handleTimeout} and {@link pollPacket} if nothing happens earlier. */
  pollTimeout(nowUs: number): number | undefined {
    const dueUs = this.isOpen ? this.#openDueUs(nowUs) : this.#handshake.dueUs(nowUs, this.#lastHeardUs);
    return earliest([dueUs, this.isClosed ? undefined : this.#commands.nextUs]);
  }

  /** Returns the next packet to send now. Call it only when the carrier accepts a packet at once. */
  pollPacket(nowUs: number): Uint8Array | undefined {
    this.#writer.clear();
    let wrote = false;
    if (this.isOpen) wrote = this.#writeData(nowUs);
    else if (this.isClosed) wrote = this.#writeClose(nowUs);
    else wrote = this.#handshake.write(nowUs, this.#writer);
    if (!wrote) return undefined;
    this.stats.packetsSent += 1;
    this.stats.bytesSent += this.#writer.length;
    return this.#writer.finish();
  }

  get #peer(): Limits {
    return this.#handshake.peer;
  }

  #put(
    nowUs: number,
    lane: number,
    kind: EventKind,
    answers: number | undefined,
    value: Uint8Array,
    deadlineUs: number | undefined,
  ): number | PutOutcome {
    if (value.length > this.#peer.messageBytesMax) return "too large";
    if (deadlineUs !== undefined && this.#commands.isFull) return "full";
    const id = this.#nextId;
    const outcome = this.#lanes.sending(lane, this.#peer).queue.putEvent({ id, kind, answers, value });
    if (outcome !== "queued") return outcome;
    this.#nextId += 1;
    if (deadlineUs !== undefined) this.#commands.add({ atUs: nowUs + deadlineUs, lane, id });
    return id;
  }

  #notify(notice: Notice): void {
    if (this.#notices.length >= NOTICES_UNREAD_MAX) {
      this.#notices.shift();
      this.stats.dropped.notices += 1;
    }
    this.#notices.push(notice);
  }

  #replied(lane: number, { answers, value }: ReceivedEvent): void {
    const command = this.#commands.answered(lane, answers);
    if (command === undefined) this.stats.dropped.lateReplies += 1;
    else this.#notify({ type: "reply", lane, command, value });
  }

  #onHandshake(nowUs: number, packet: Exclude<Packet, DataPacket>): void {
    switch (packet.type) {
      case "hello":
        return this.#onHello(nowUs, packet);
      case "welcome":
        return this.#onWelcome(nowUs, packet);
      case "refuse":
        if (!this.#handshake.onRefuse(nowUs, packet, this.#carrier.isReliable))
          this.stats.dropped.misplaced += 1;
        return;
    }
  }

  #onHello(nowUs: number, hello: Hello): void {
    const outcome = this.#handshake.onHello(hello);
    if (outcome === "misplaced") this.stats.dropped.misplaced += 1;
    if (outcome !== "accepted") return;
    this.#lastHeardUs = nowUs;
    this.clock.guess(nowUs, Number(hello.clock));
  }

  #onWelcome(nowUs: number, welcome: Welcome): void {
    if (!this.#handshake.onWelcome(welcome)) {
      this.stats.dropped.misplaced += 1;
      return;
    }
    const { clock, helloClock } = welcome;
    this.#lastHeardUs = nowUs;
    this.clock.guess(nowUs, Number(clock));
    if (helloClock > nowUs) return;
    this.clock.sample(Number(helloClock), Number(clock), Number(clock), nowUs);
    this.#recovery.sample(Math.floor(nowUs - Number(helloClock)));
  }

  #onData(nowUs: number, packet: DataPacket): void {
    const { dropped } = this.stats;
    if (this.isClosed) {
      dropped.closed += 1;
      this.#handshake.onDataWhileClosing(packet.frames);
      return;
    }
    const wasOpen = this.isOpen;
    if (!this.#handshake.onData(packet.frames)) {
      dropped.unproven += 1;
      return;
    }
    // A first PING is sent, because its answer is a sample of the round trip and of the clock before other
    // content is sent.
    if (!wasOpen) this.#recovery.isProbeDue = true;
    const number = unfoldNumber(packet.numberLow, this.#acks.largest);
    const arrival = this.#acks.judge(number);
    if (arrival !== "new") {
      dropped[arrival] += 1;
      return;
    }
    // Replication checks no lane numbers, so they are checked here.
    for (const frame of packet.frames) if (frame.type === "replication") this.#lanes.receiving(frame.lane);
    const ranges = packet.ack && unfoldAcknowledgement(packet.ack, this.#recovery.nextNumber - 1);
    const isEliciting = packet.frames.some(({ type }) => type !== "padding" && type !== "close");
    this.#acks.arrived(nowUs, number, isEliciting, this.#carrier.isReliable, this.#lastHeardUs);
    this.#recovery.packetReceived(nowUs, this.#lastHeardUs);
    this.#lastHeardUs = nowUs;
    const leftPeerUs = this.clock.unfold(packet.time, nowUs);
    if (packet.ack && ranges) {
      const delayUs = Number(packet.ack.delay) * WIRE_UNIT_US;
      this.#recovery.acknowledged(nowUs, ranges, delayUs, leftPeerUs, this.clock);
    }
    const leftUs = this.clock.toOurs(leftPeerUs, nowUs);
    for (const frame of packet.frames) {
      if (frame.type !== "replication") this.#onFrame(nowUs, leftUs, frame);
      else if (this.replication.received(frame.lane, number, frame.payload)) dropped.unread += 1;
    }
  }

  #onFrame(nowUs: number, leftUs: number, frame: Frame): void {
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
        return this.#handshake.end(nowUs, { code: frame.code, reason: frame.reason, by: "peer" });
    }
  }

  #openTimeout(nowUs: number): void {
    if (nowUs - this.#lastHeardUs >= this.#handshake.idleTimeoutUs) {
      this.#handshake.fellSilent(nowUs);
      this.#recovery.isProbeDue = false;
      return;
    }
    this.#recovery.detectLosses(nowUs);
    const probeAtUs = this.#recovery.probeAtUs();
    if (probeAtUs === undefined || nowUs < probeAtUs) return;
    for (const item of this.#recovery.probe(nowUs)) {
      if (item.type === "message") item.message.probe(item.part, item.generation);
    }
    this.#lanes.probe();
  }

  #expire(nowUs: number): void {
    for (const { lane, id } of this.#commands.takeDue(nowUs)) {
      this.#lanes.expire(lane, id);
      this.#notify({ type: "command timed out", lane, command: id });
    }
  }

  #openDueUs(nowUs: number): number | undefined {
    const must = this.#recovery.isProbeDue || this.#handshake.proof?.wasSent === false;
    return earliest([
      must ? nowUs : undefined,
      this.#acks.dueUs(nowUs),
      this.#recovery.lossAtUs(),
      this.#contentAtUs(nowUs),
      this.#lanes.windowDueUs(nowUs),
      this.#recovery.probeAtUs(),
      this.#repeatAtUs(nowUs),
      this.#keepAliveAtUs,
      this.#lastHeardUs + this.#handshake.idleTimeoutUs,
    ]);
  }

  get #keepAliveAtUs(): number {
    return this.#recovery.keepAliveAtUs(this.#handshake.idleTimeoutUs, this.#lastHeardUs);
  }

  #repeatAtUs(nowUs: number): number | undefined {
    if (this.#carrier.isReliable) return undefined;
    return this.#redundancy.dueUs(nowUs, (lane, number) => this.#lanes.canRepeat(lane, number));
  }

  #contentAtUs(nowUs: number): number | undefined {
    const plan = this.#lanes.plan(this.#peer);
    return this.#plannedAtUs(nowUs, plan, this.#eventLeads(nowUs, plan));
  }

  #plannedAtUs(nowUs: number, plan: Plan, leads: boolean): number | undefined {
    const hasContent = plan.lanes.length > 0 || this.replication.hasMore;
    return hasContent ? this.#recovery.contentAtUs(nowUs, leads) : undefined;
  }

  /** Whether a small event is sent first, and packets are kept small because the link is slow. */
  #eventLeads(nowUs: number, plan: Plan): boolean {
    if (this.#carrier.isReliable || this.#recovery.packetBytes >= this.#packetBytesMax) return false;
    return plan.leadsWithEvent && this.#redundancy.canLead(nowUs);
  }

  #writeData(nowUs: number): boolean {
    const isDue = (atUs: number | undefined): boolean => atUs !== undefined && atUs <= nowUs;
    const { proof } = this.#handshake;
    const plan = this.#lanes.plan(this.#peer);
    const leads = this.#eventLeads(nowUs, plan);
    const contentAtUs = this.#plannedAtUs(nowUs, plan, leads);
    if (contentAtUs !== undefined && contentAtUs > nowUs) this.#recovery.holdBack();
    const ack = isDue(this.#acks.dueUs(nowUs));
    const content = isDue(contentAtUs);
    const isProbe = this.#recovery.isProbeDue;
    const ping = isProbe || isDue(this.#keepAliveAtUs) || (ack && this.#recovery.quietRun >= QUIET_RUN_MAX);
    const window = isDue(this.#lanes.windowDueUs(nowUs));
    const repeat = isDue(this.#repeatAtUs(nowUs));
    const proves = proof?.wasSent === false;
    if (!(ack || content || ping || window || repeat || proves)) return false;
    const acknowledgement = this.#acks.toSend(nowUs);
    const number = this.#recovery.nextNumber;
    writeDataHead(this.#writer, {
      numberLow: number % 0x10000,
      time: toWireTime(nowUs),
      ack: acknowledgement,
    });
    const builder = new PacketBuilder(this.#writer, this.#packetBytesMax);
    const items: Item[] = [];
    if (proof) {
      proof.wasSent = true;
      builder.frame({ type: "proof", proof: proof.proof });
      items.push({ type: "proof" });
    }
    const context = this.#sendContext(nowUs, builder, items);
    if (window || content) this.#lanes.writeWindows(context);
    if (!this.#carrier.isReliable) this.#lanes.repeat(context, this.#redundancy);
    if (content || isProbe) {
      // Otherwise a whole packet in front of a small event would cause most of the event's delay.
      const isAlone = content && leads;
      builder.beginContent(isAlone ? this.#writer.length + LEADING_BYTES : this.#recovery.packetBytes);
      if (isAlone) this.#redundancy.led();
      for (const lane of this.#lanes.inTurn(plan)) lane.fill(context, this.#peer);
      this.replication.fill(number, builder, items);
    }
    if ((ping || proves) && !builder.isEliciting) builder.frame({ type: "ping" });
    if (!builder.isEliciting && !ack) return false;
    this.#recovery.departed(nowUs, this.#writer.length, builder.isEliciting, items);
    if (acknowledgement !== undefined) this.#acks.sent();
    return true;
  }

  get #packetBytesMax(): number {
    return Math.min(this.#carrier.packetBytesMax, this.#peer.packetBytesMax);
  }

  #sendContext(nowUs: number, builder: PacketBuilder, items: Item[]): SendContext {
    const onBound: SendContext["onBound"] = (lane, event) => {
      if (!this.#carrier.isReliable) this.#redundancy.bound(nowUs, lane, event);
      const isCommand = event.kind === EventKind.command && event.id !== undefined;
      if (isCommand) this.#commands.numbered(lane, event.number, event.id);
    };
    return { nowUs, builder, items, counters: this.stats, onBound };
  }

  #writeClose(nowUs: number): boolean {
    const closed = this.#handshake.takeClose();
    if (closed === undefined) return false;
    const numberLow = this.#recovery.nextNumber % 0x10000;
    writeDataHead(this.#writer, { numberLow, time: toWireTime(nowUs), ack: undefined });
    const { code, reason } = closed;
    new PacketBuilder(this.#writer, this.#packetBytesMax).frame({ type: "close", code, reason });
    this.#recovery.departedLast(nowUs, this.#writer.length);
    return true;
  }
}
