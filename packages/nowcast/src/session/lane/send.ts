/** The sending end of a lane: bound messages, and messages that must be sent again (sections 8 and 9). */

import { addUInt64, subtractUInt64, type UInt64 } from "../../queue/uint64.js";
import { type QueueEntry, UpdatableQueue } from "../../queue/updatable-queue.js";
import { PeerFault } from "../fault.js";
import { type Limits, MESSAGE_COST } from "../limits.js";
import type { PacketBuilder } from "../packet/builder.js";
import { EventKind } from "../packet/frames.js";
import type { Item } from "../sent.js";
import { Ledger } from "./ledger.js";
import { BoundEvent, BoundState } from "./message.js";
import { KeyHistory, OverdueKeys } from "./overdue.js";

/** An event that waits for its number. */
export interface PendingEvent {
  readonly id: number;
  readonly kind: EventKind;
  readonly answers: number | undefined;
  readonly value: Uint8Array;
}

interface PendingState {
  readonly value: Uint8Array;
  readonly producedAtUs: number;
}

type Pending = PendingEvent | PendingState;

interface Interval {
  readonly last: Map<UInt64, BoundState>;
  sum: UInt64;
}

export interface SendBounds {
  readonly entriesMax: number;
  readonly bytesMax: number;
}

export interface SendCounters {
  statesSent: number;
  eventsSent: number;
  resent: number;
}

/** A packet that is being filled. */
export interface SendContext {
  readonly nowUs: number;
  readonly builder: PacketBuilder;
  readonly items: Item[];
  readonly counters: SendCounters;
  /** Called with every event that leaves for the first time. */
  readonly onBound: (lane: number, event: BoundEvent) => void;
}

/** Maximum bytes of a frame's fields, besides the payload. */
const FRAME_BYTES_MAX = 64;

export class SendLane {
  /** The messages that wait for a packet. */
  readonly queue: UpdatableQueue<Pending>;
  readonly #ledger = new Ledger();
  readonly #intervals = new Map<number, Interval>();
  readonly #events = new Map<number, BoundEvent>();
  readonly #eventsToSend = new Set<BoundEvent>();
  readonly #statesToSend = new Set<BoundState>();
  /**
   * Keys with a value in parts that has not arrived completely. Until it has, no newer value of the
   * key is bound.
   */
  readonly #slowKeys = new Map<UInt64, BoundState>();
  readonly #overdue = new OverdueKeys();
  /** The number of the next event, which is also the number of the open interval. */
  #number = 0;
  #stamp = 0;
  #consumedByPeer = 0;

  constructor(
    readonly lane: number,
    bounds: SendBounds,
  ) {
    this.queue = new UpdatableQueue<Pending>(bounds, ({ value }) => value.length);
  }

  /** Whether everything that was put is known to have arrived. */
  get isSettled(): boolean {
    return this.queue.isEmpty && this.#events.size === 0 && this.#unsettledStates() === 0;
  }

  /** Handles a WINDOW: the peer's application has taken the events below this number. */
  windowReceived(consumed: UInt64): void {
    if (consumed > this.#number) throw PeerFault.violation("a WINDOW beyond the events sent");
    this.#consumedByPeer = Math.max(this.#consumedByPeer, Number(consumed));
    this.#ledger.forgetBelow(this.#consumedByPeer);
  }

  /** Whether this lane has content that a packet could carry now. */
  hasMore(limits: Limits): boolean {
    return (
      this.#eventsToSend.size > 0 ||
      this.#firstStateToSend() !== undefined ||
      this.#canBind(limits, this.#next())
    );
  }

  /** Whether the first message is an unsent event of at most this many bytes. */
  leadsWithEvent(bytesMax: number): boolean {
    if (this.#eventsToSend.size > 0 || this.#statesToSend.size > 0 || this.#slowKeys.size > 0) return false;
    const next = this.#next();
    return next?.kind === "event" && next.value.value.length <= bytesMax;
  }

  /**
   * Fills a packet with lost events first, then with archived and lost states, then with the states of overdue keys, then with
   * the queue in order.
   */
  fill(context: SendContext, limits: Limits): void {
    for (const event of this.#inOrder()) if (!this.#sendEvent(event, context)) return;
    for (let state = this.#firstStateToSend(); state !== undefined; state = this.#firstStateToSend()) {
      if (!this.#sendState(state, context)) return;
    }
    const lastStampOf = (key: UInt64) => this.#intervals.get(this.#number)?.last.get(key)?.stamp ?? 0;
    for (const key of this.#overdue.goAhead(this.queue.firstKeys(), this.#stamp + 1, lastStampOf)) {
      const next = this.#slowKeys.has(key) ? undefined : this.queue.peekState(key);
      if (next === undefined) continue;
      if (!this.#canBind(limits, next) || !this.#bind(next, context, limits)) return;
    }
    for (let next = this.#next(); next !== undefined && this.#canBind(limits, next); next = this.#next()) {
      if (!this.#bind(next, context, limits)) return;
    }
  }

  /** Repeats an event if it is still needed. */
  repeat(number: number, context: SendContext): number {
    const event = this.#events.get(number);
    if (event === undefined || !event.isWhole || event.wantsSending) return 0;
    const before = context.builder.room;
    if (before < event.value.length + FRAME_BYTES_MAX) return 0;
    this.#writeEvent(event, 0, context);
    context.counters.resent += 1;
    return before - context.builder.room;
  }

  canRepeat(number: number): boolean {
    const event = this.#events.get(number);
    return event?.isWhole === true && !event.wantsSending;
  }

  /** Puts the oldest unacknowledged events into a probe. */
  probe(eventsMax: number): void {
    let left = eventsMax;
    for (const event of this.#events.values()) {
      if (left-- === 0) return;
      event.probe();
    }
  }

  /** Withdraws a command whose deadline has passed. */
  expire(id: number): void {
    if (this.queue.removeEvent((pending) => "id" in pending && pending.id === id)) return;
    for (const event of this.#events.values()) if (event.id === id) event.expire();
  }

  #unsettledStates(): number {
    let unsettled = 0;
    for (const { last } of this.#intervals.values()) {
      for (const state of last.values()) if (!state.isArrived) unsettled += 1;
    }
    return unsettled;
  }

  *#inOrder(): Generator<BoundEvent> {
    if (this.#eventsToSend.size > 1) {
      const ordered = [...this.#eventsToSend].sort((a, b) => a.number - b.number);
      this.#eventsToSend.clear();
      for (const event of ordered) this.#eventsToSend.add(event);
    }
    yield* this.#eventsToSend;
  }

  /** Returns the first state to send again. States whose newer value leaves soon are skipped. */
  #firstStateToSend(): BoundState | undefined {
    for (const state of this.#statesToSend) {
      const isReplaced =
        state.interval === this.#number && state.isWhole && this.queue.peekState(state.key) !== undefined;
      if (isReplaced) this.#statesToSend.delete(state);
      else return state;
    }
    return undefined;
  }

  /**
   * Whether the next message may be bound: the peer's window must have room, and no value in parts
   * may block it.
   */
  #canBind(limits: Limits, next: QueueEntry<Pending> | undefined): boolean {
    if (next === undefined) return false;
    if (next.kind === "event")
      return this.#ledger.total + next.value.value.length + MESSAGE_COST <= limits.windowBytes;
    const more = this.#ledger.moreFor(this.#number, next.key, next.value.value.length);
    const barrier = this.#needsBarrier(more, limits) ? MESSAGE_COST : 0;
    return this.#ledger.total + more + barrier <= limits.windowBytes;
  }

  #next() {
    return this.queue.peekUnless((key) => this.#slowKeys.has(key));
  }

  #needsBarrier(more: number, limits: Limits): boolean {
    const open = this.#ledger.costOf(this.#number);
    return open > 0 && more > 0 && open + more > limits.windowBytes / 2;
  }

  /** Binds the next message, or the waiting state of another key. */
  #bind(next: QueueEntry<Pending>, context: SendContext, limits: Limits): boolean {
    if (next.kind === "event") {
      if (!this.#hasRoomFor(next.value.value.length, context)) return false;
      this.queue.pop();
      const { id, kind, answers, value } = next.value as PendingEvent;
      return this.#bindEvent(id, kind, answers, value, context);
    }
    const { value, producedAtUs } = next.value as PendingState;
    if (!this.#hasRoomFor(value.length, context)) return false;
    if (this.#needsBarrier(this.#ledger.moreFor(this.#number, next.key, value.length), limits)) {
      this.#bindEvent(undefined, EventKind.barrier, undefined, new Uint8Array(0), context);
      return true;
    }
    this.queue.takeState(next.key);
    return this.#sendState(this.#bindState(next.key, value, producedAtUs, context), context);
  }

  #hasRoomFor(bytes: number, { builder }: SendContext): boolean {
    const needed = bytes <= builder.wholeBytesMax ? bytes : 1_024;
    return builder.room >= needed + FRAME_BYTES_MAX;
  }

  #bindState(key: UInt64, value: Uint8Array, producedAtUs: number, context: SendContext): BoundState {
    const interval = this.#interval(this.#number);
    this.#ledger.chargeState(this.#number, key, value.length);
    this.#stamp += 1;
    this.#overdue.bound(key);
    const superseded = interval.last.get(key);
    const history = superseded?.history ?? new KeyHistory(key, this.#stamp - 1);
    const onChange = (changed: BoundState) => this.#stateChanged(changed);
    const state = new BoundState(
      this.#number,
      key,
      this.#stamp,
      value,
      producedAtUs,
      history,
      context.builder.wholeBytesMax,
      onChange,
    );
    if (superseded) {
      this.#statesToSend.delete(superseded);
      interval.sum = subtractUInt64(interval.sum, superseded.stamp);
    }
    interval.last.set(key, state);
    interval.sum = addUInt64(interval.sum, state.stamp);
    this.#statesToSend.add(state);
    context.counters.statesSent += 1;
    return state;
  }

  #bindEvent(
    id: number | undefined,
    kind: EventKind,
    answers: number | undefined,
    value: Uint8Array,
    context: SendContext,
  ): boolean {
    const number = this.#number;
    const before = this.#intervals.get(number)?.sum ?? 0;
    this.#ledger.chargeEvent(number, value.length);
    if (kind === EventKind.barrier) this.#recallWhatGaveWay(number);
    const onChange = (changed: BoundEvent) => this.#eventChanged(changed);
    const event = new BoundEvent(
      id,
      number,
      kind,
      before,
      answers,
      value,
      context.builder.wholeBytesMax,
      onChange,
    );
    this.#events.set(number, event);
    this.#eventsToSend.add(event);
    this.#number += 1;
    this.#overdue.clear();
    for (const [key, slow] of this.#slowKeys) if (slow.interval < this.#number) this.#slowKeys.delete(key);
    this.#forgetSettled(number);
    context.counters.eventsSent += 1;
    const wasSent = this.#sendEvent(event, context);
    context.onBound(this.lane, event);
    return wasSent;
  }

  /**
   * Handles a barrier that closes the open interval although newer values wait. Lost values that were not sent again
   * because of the newer ones are now the last of their interval, so they are sent again. The peer cannot release the
   * barrier without them.
   */
  #recallWhatGaveWay(number: number): void {
    for (const state of this.#intervals.get(number)?.last.values() ?? []) {
      if (state.wantsSending) this.#statesToSend.add(state);
    }
  }

  #sendState(state: BoundState, context: SendContext): boolean {
    const { builder, nowUs } = context;
    const ageMs = Math.max(0, Math.floor((nowUs - state.producedAtUs) / 1_000));
    const { key, stamp, interval, value } = state;
    state.fitInto(context.builder.wholeBytesMax);
    if (!state.isWhole && interval === this.#number) this.#slowKeys.set(key, state);
    while (state.wantsSending) {
      const part = state.nextPart();
      if (state.isWhole) {
        if (!builder.state(this.lane, interval, { key, stamp, ageMs, value })) return false;
      } else {
        const bytes = state.partBytes(part);
        if (builder.room < bytes.length + FRAME_BYTES_MAX) return false;
        const tail = { total: value.length, index: part, part: bytes };
        builder.frame({ type: "state_part", lane: this.lane, interval, stamp, key, ageMs, ...tail });
      }
      this.#noteSent(state, part, context);
    }
    this.#statesToSend.delete(state);
    return true;
  }

  #sendEvent(event: BoundEvent, context: SendContext): boolean {
    event.fitInto(context.builder.wholeBytesMax);
    while (event.wantsSending) {
      const part = event.nextPart();
      const bytes = event.isWhole ? event.value.length : event.partBytes(part).length;
      if (context.builder.room < bytes + FRAME_BYTES_MAX) return false;
      this.#writeEvent(event, part, context);
    }
    this.#eventsToSend.delete(event);
    return true;
  }

  #writeEvent(event: BoundEvent, part: number, context: SendContext): void {
    const { number, kind, before, answers, value } = event;
    const head = { lane: this.lane, number, kind, before, ...(answers === undefined ? {} : { answers }) };
    if (event.isWhole) context.builder.frame({ type: "event", ...head, payload: value });
    else {
      const tail = { total: value.length, index: part, part: event.partBytes(part) };
      context.builder.frame({ type: "event_part", ...head, ...tail });
    }
    this.#noteSent(event, part, context);
  }

  #noteSent(message: BoundState | BoundEvent, part: number, { items }: SendContext): void {
    message.sent(part);
    items.push({ type: "message", message, generation: message.generation, part });
  }

  #stateChanged(state: BoundState): void {
    if (state.isWhole && state.interval === this.#number) {
      if (state.isArrived) this.#overdue.arrived(state.history, state.stamp);
      else this.#overdue.lost(state.history, state.stamp);
    }
    const isLast = this.#intervals.get(state.interval)?.last.get(state.key) === state;
    if (state.isArrived) {
      if (this.#slowKeys.get(state.key) === state) this.#slowKeys.delete(state.key);
      this.#statesToSend.delete(state);
      if (isLast) this.#forgetSettled(state.interval);
    } else if (isLast) this.#statesToSend.add(state);
  }

  #eventChanged(event: BoundEvent): void {
    if (event.isArrived) {
      this.#events.delete(event.number);
      this.#eventsToSend.delete(event);
    } else if (event.wantsSending) this.#eventsToSend.add(event);
  }

  #interval(number: number): Interval {
    let interval = this.#intervals.get(number);
    if (interval === undefined) {
      interval = { last: new Map(), sum: 0 };
      this.#intervals.set(number, interval);
    }
    return interval;
  }

  /** Forgets a closed interval whose last values all arrived. */
  #forgetSettled(number: number): void {
    const interval = this.#intervals.get(number);
    if (interval === undefined || number >= this.#number) return;
    for (const state of interval.last.values()) if (!state.isArrived) return;
    this.#intervals.delete(number);
  }
}
