/**
 * The receiving end of a lane. It decides which received messages the application gets, and when
 * (section 8).
 */
import { copyOf } from "../../codec/copy-of.js";
import { addUInt64, subtractUInt64, type UInt64 } from "../../queue/uint64.js";
import { UpdatableQueue } from "../../queue/updatable-queue.js";
import { PeerFault } from "../fault.js";
import { type Limits, MESSAGE_COST } from "../limits.js";
import {
  type EventFrame,
  EventKind,
  type EventPartFrame,
  type StatePartFrame,
  type StatesFrame,
} from "../packet/frames.js";
import { Ledger } from "./ledger.js";
import { Assembly } from "./parts.js";

const WINDOW_EVENTS = 256;
const WINDOW_WAIT_US = 1_000_000;
const AGE_WEIGHT = 16;

/** A message that the application takes from a lane. */
export interface ReceivedState {
  readonly type: "state";
  readonly key: UInt64;
  readonly value: Uint8Array;
  /**
   * The time at which the value was produced, by our clock, computed from the age that the sender
   * states (µs).
   */
  readonly producedAtUs: number;
}

export interface ReceivedEvent {
  readonly type: "event";
  readonly number: number;
  readonly kind: EventKind;
  readonly answers: number | undefined;
  readonly value: Uint8Array;
}

type Held = ReceivedEvent & { readonly before: UInt64 };
type Shown = ReceivedState | ReceivedEvent;

/** The state of one open interval. */
interface Interval {
  readonly stamps: Map<UInt64, UInt64>;
  sum: UInt64;
  /** Values that wait for the interval to open, in the order in which their keys first arrived. */
  readonly held: Map<UInt64, ReceivedState>;
}

export interface ReceiveCounters {
  stale: number;
  late: number;
}

export class ReceiveLane {
  readonly #limits: Limits;
  readonly #counters: ReceiveCounters;
  /** The number of the next event to release. */
  #next = 0;
  readonly #intervals = new Map<number, Interval>();
  readonly #events = new Map<number, Held>();
  readonly #eventParts = new Map<number, Assembly>();
  /** The state of open intervals, by interval and then by key. */
  readonly #stateParts = new Map<
    number,
    Map<UInt64, { readonly stamp: UInt64; readonly assembly: Assembly }>
  >();
  readonly #shown: UpdatableQueue<Shown>;
  readonly #ledger = new Ledger();
  /**
   * Released events that the application does not get, each as the number of entries that were
   * added to {@link #shown} before it. Such an event is not an entry of {@link #shown}, because it
   * would prevent later values from replacing earlier ones.
   */
  readonly #hidden: number[] = [];
  /** Entries that the application has taken. */
  #taken = 0;
  /** The number of events that the application has taken; then the number that the last WINDOW reported. */
  #consumed = 0;
  #reported = 0;
  #consumedCost = 0;
  #unreportedSinceUs: number | undefined;
  #isReportLost = false;
  /** The mean age of the last few states on arrival. */
  ageUs: number | undefined;

  constructor(limits: Limits, counters: ReceiveCounters) {
    this.#limits = limits;
    this.#counters = counters;
    // The window limits the number of entries, so the queue needs no limit of its own.
    const bounds = { entriesMax: Number.MAX_SAFE_INTEGER, bytesMax: Number.MAX_SAFE_INTEGER };
    this.#shown = new UpdatableQueue(bounds, () => 0);
  }

  get isEmpty(): boolean {
    return this.#shown.isEmpty;
  }

  /** Messages that a newer value replaced before the application took them. */
  get superseded(): number {
    return this.#shown.superseded;
  }

  receiveStates(frame: StatesFrame, leftUs: number, nowUs: number): void {
    const interval = this.#number(frame.interval);
    for (const { key, stamp, ageMs, value } of frame.records) {
      this.#checkLength(value.length);
      if (!this.#isWanted(interval, key, stamp)) continue;
      this.#ledger.chargeState(interval, key, value.length);
      this.#checkWindow();
      this.#keep(interval, stamp, state(key, copyOf(value), ageMs, leftUs));
      this.#noteAge(nowUs - leftUs + Number(ageMs) * 1_000);
    }
    this.#release(nowUs);
  }

  receiveStatePart(frame: StatePartFrame, leftUs: number, nowUs: number): void {
    const interval = this.#number(frame.interval);
    const { key, stamp } = frame;
    this.#checkLength(frame.total);
    const pending = this.#stateParts.get(interval)?.get(key);
    const isOlder = pending !== undefined && stamp < pending.stamp;
    if (isOlder) this.#counters.stale += 1;
    if (isOlder || !this.#isWanted(interval, key, stamp)) return;
    this.#ledger.chargeState(interval, key, frame.total);
    this.#checkWindow();
    const head = [frame.interval, stamp, key];
    const assembly = pending?.stamp === stamp ? pending.assembly : new Assembly(head, frame.total);
    const value = assembly.add(head, frame.total, frame.index, frame.part);
    const ofInterval = this.#stateParts.get(interval) ?? new Map();
    if (value === undefined) {
      this.#stateParts.set(interval, ofInterval.set(key, { stamp, assembly }));
      return;
    }
    ofInterval.delete(key);
    this.#keep(interval, stamp, state(key, value, frame.ageMs, leftUs));
    this.#noteAge(nowUs - leftUs + Number(frame.ageMs) * 1_000);
    this.#release(nowUs);
  }

  receiveEvent(frame: EventFrame, nowUs: number): void {
    const number = this.#number(frame.number);
    this.#checkLength(frame.payload.length);
    if (this.#isLate(number)) return;
    this.#ledger.chargeEvent(number, frame.payload.length);
    this.#checkWindow();
    this.#eventParts.delete(number);
    this.#hold(number, frame, copyOf(frame.payload), nowUs);
  }

  receiveEventPart(frame: EventPartFrame, nowUs: number): void {
    const number = this.#number(frame.number);
    this.#checkLength(frame.total);
    if (this.#isLate(number)) return;
    this.#ledger.chargeEvent(number, frame.total);
    this.#checkWindow();
    const head = [frame.number, frame.kind, frame.before, frame.answers ?? -1];
    const assembly = this.#eventParts.get(number) ?? new Assembly(head, frame.total);
    const value = assembly.add(head, frame.total, frame.index, frame.part);
    if (value === undefined) {
      this.#eventParts.set(number, assembly);
      return;
    }
    this.#eventParts.delete(number);
    this.#hold(number, frame, value, nowUs);
  }

  /** The next message for the application. */
  take(nowUs: number): Shown | undefined {
    const entry = this.#shown.pop();
    if (entry === undefined) return undefined;
    this.#taken += 1;
    if (entry.kind === "event") this.#consume(nowUs);
    this.#consumeHidden(nowUs);
    return entry.value;
  }

  /** The next message, if it is the reply to a command. */
  takeReply(nowUs: number): ReceivedEvent | undefined {
    const next = this.#shown.peek()?.value;
    if (next?.type !== "event" || next.kind !== EventKind.reply) return undefined;
    this.take(nowUs);
    return next;
  }

  /** The time at which a WINDOW must leave. */
  windowDueUs(nowUs: number): number | undefined {
    if (this.#unreportedSinceUs === undefined && !this.#isReportLost) return undefined;
    const isMuch =
      this.#consumedCost * 8 >= this.#limits.windowBytes || this.#consumed - this.#reported >= WINDOW_EVENTS;
    if (isMuch || this.#isReportLost) return nowUs;
    return this.#unreportedSinceUs! + WINDOW_WAIT_US;
  }

  /** Returns the contents of a WINDOW, if one is needed. */
  windowToReport(): number | undefined {
    return this.#consumed > this.#reported || this.#isReportLost ? this.#consumed : undefined;
  }

  windowSent(): void {
    this.#ledger.forgetBelow(this.#consumed);
    this.#reported = this.#consumed;
    this.#consumedCost = 0;
    this.#unreportedSinceUs = undefined;
    this.#isReportLost = false;
  }

  /**
   * Handles the loss of a packet with this WINDOW. The WINDOW is sent again, unless a later one was
   * sent.
   */
  windowLost(consumed: number): void {
    if (consumed === this.#reported) this.#isReportLost = true;
  }

  /** Checks an event number or interval against the window. */
  #number(value: UInt64): number {
    if (value > this.#reported + this.#limits.windowBytes / MESSAGE_COST) {
      throw PeerFault.limit("an event number or interval beyond the window");
    }
    return Number(value);
  }

  #checkLength(length: number): void {
    if (length > this.#limits.messageBytesMax)
      throw PeerFault.limit("a message larger than message_bytes_max");
  }

  #noteAge(ageUs: number): void {
    const before = this.ageUs ?? ageUs;
    this.ageUs = before + (Math.max(0, ageUs) - before) / AGE_WEIGHT;
  }

  #isWanted(interval: number, key: UInt64, stamp: UInt64): boolean {
    const kept = this.#intervals.get(interval)?.stamps.get(key);
    if (interval >= this.#next && (kept === undefined || stamp > kept)) return true;
    this.#counters.stale += 1;
    return false;
  }

  #isLate(number: number): boolean {
    const isLate = number < this.#next || this.#events.has(number);
    if (isLate) this.#counters.late += 1;
    return isLate;
  }

  #keep(number: number, stamp: UInt64, value: ReceivedState): void {
    const interval = this.#interval(number);
    const { key } = value;
    interval.sum = addUInt64(subtractUInt64(interval.sum, interval.stamps.get(key) ?? 0), stamp);
    interval.stamps.set(key, stamp);
    const parts = this.#stateParts.get(number);
    const pending = parts?.get(key);
    if (pending !== undefined && stamp >= pending.stamp) parts?.delete(key);
    if (number === this.#next) this.#shown.putState(key, value);
    else interval.held.set(key, value);
    const event = this.#events.get(number);
    if (event !== undefined && interval.sum > event.before) {
      throw PeerFault.violation("the sum of stamps exceeds that of the event");
    }
  }

  #hold(number: number, frame: EventFrame | EventPartFrame, value: Uint8Array, nowUs: number): void {
    const sum = this.#intervals.get(number)?.sum ?? 0;
    if (sum > frame.before) throw PeerFault.violation("the sum of stamps exceeds that of the event");
    const answers = frame.answers === undefined ? undefined : Number(frame.answers);
    const { kind, before } = frame;
    this.#events.set(number, { type: "event", number, kind, answers, before, value });
    this.#release(nowUs);
  }

  #interval(number: number): Interval {
    let interval = this.#intervals.get(number);
    if (interval === undefined) {
      interval = { stamps: new Map(), sum: 0, held: new Map() };
      this.#intervals.set(number, interval);
    }
    return interval;
  }

  /**
   * Releases events whose interval is complete (rule 3 of section 8). Stamps of a key only grow, so the sum equals `before`
   * only when the last value of each key has arrived.
   */
  #release(nowUs: number): void {
    for (;;) {
      const event = this.#events.get(this.#next);
      if (event === undefined || event.before !== (this.#intervals.get(this.#next)?.sum ?? 0)) break;
      if (isHidden(event)) this.#hidden.push(this.#taken + this.#shown.entries);
      else this.#shown.putEvent(event);
      this.#events.delete(this.#next);
      this.#intervals.delete(this.#next);
      this.#stateParts.delete(this.#next);
      this.#next += 1;
      const opened = this.#intervals.get(this.#next);
      for (const value of opened?.held.values() ?? []) this.#shown.putState(value.key, value);
      opened?.held.clear();
    }
    this.#consumeHidden(nowUs);
  }

  /**
   * An event that the application does not get counts as consumed as soon as all messages released
   * before it are consumed.
   */
  #consumeHidden(nowUs: number): void {
    while (this.#hidden.length > 0 && this.#hidden[0]! <= this.#taken) {
      this.#hidden.shift();
      this.#consume(nowUs);
    }
  }

  #consume(nowUs: number): void {
    this.#consumedCost += this.#ledger.costOf(this.#consumed);
    this.#consumed += 1;
    this.#unreportedSinceUs ??= nowUs;
  }

  #checkWindow(): void {
    if (this.#ledger.total > this.#limits.windowBytes)
      throw PeerFault.limit("more than window_bytes on a lane");
  }
}

function isHidden({ kind }: ReceivedEvent): boolean {
  return kind === EventKind.barrier || kind === EventKind.expired;
}

function state(key: UInt64, value: Uint8Array, ageMs: UInt64, leftUs: number): ReceivedState {
  return { type: "state", key, value, producedAtUs: leftUs - Number(ageMs) * 1_000 };
}
