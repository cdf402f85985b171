/** Three transports with the same load, each over its own link, in virtual time. */
import { DatagramTransport } from "./datagrams.js";
import { Histogram } from "./histogram.js";
import { Link, type LinkSettings } from "./link.js";
import { type LoadMessage, TICK_US, TICKS_PER_EVENT, type Transport } from "./load.js";
import { SessionTransport } from "./session-transport.js";
import { type Congestion, TcpTransport } from "./tcp.js";
import { Timeline } from "./timeline.js";

export interface LabSettings extends LinkSettings {
  /** The number of states that are put 60 times a second. */
  readonly keys: number;
  readonly congestion: Congestion;
  /** Whether the program that uses TCP replaces values that it has not written yet. */
  readonly tcpReplaces: boolean;
  /** Whether an event of the updatable queue waits for the states before it, instead of using another lane. */
  readonly eventsWait: boolean;
}

export const USUAL: LabSettings = {
  roundTripMs: 50,
  jitterMs: 5,
  loss: 0.02,
  kilobitsPerSecond: 10_000,
  keys: 20,
  congestion: "cubic",
  tcpReplaces: false,
  eventsWait: false,
};

/** A slice of a histogram. */
const TURN_US = 500_000;
export const KEYS_MAX = 100;

/** A receiver: the newest state of each key, its age, and the events. */
export class Receiver {
  readonly ages = new Histogram();
  readonly eventTimes = new Histogram();
  eventsReceived = 0;
  /** The time at which the shown value of each key was put; 0 before the first value. */
  readonly putAtUs = new Float64Array(KEYS_MAX + 1);

  handle(nowUs: number, message: LoadMessage): void {
    if (message.type === "event") {
      this.eventsReceived += 1;
      this.eventTimes.add((nowUs - message.putAtUs) / 1_000);
      return;
    }
    // A datagram that was overtaken changes nothing.
    const shown = this.putAtUs[message.key]!;
    this.putAtUs[message.key] = Math.max(shown, message.putAtUs);
  }

  sample(nowUs: number, keys: number): void {
    for (let key = 1; key <= keys; key++) {
      const putAtUs = this.putAtUs[key]!;
      if (putAtUs > 0) this.ages.add((nowUs - putAtUs) / 1_000);
    }
  }

  turn(): void {
    this.ages.turn();
    this.eventTimes.turn();
  }
}

export interface Contestant<T extends Transport = Transport> {
  readonly transport: T;
  readonly receiver: Receiver;
}

export class Lab {
  readonly timeline = new Timeline();
  readonly tcp: Contestant<TcpTransport>;
  readonly datagrams: Contestant<DatagramTransport>;
  readonly queue: Contestant<SessionTransport>;
  eventsPut = 0;
  readonly #links: Link[] = [];
  #settings: LabSettings;
  #ticks = 0;
  #nextTickUs = TICK_US;
  #nextTurnUs = TURN_US;

  constructor(seed: number, settings: LabSettings = USUAL) {
    this.#settings = settings;
    const link = (offset: number): Link => {
      const made = new Link(this.timeline, settings, seed * 16 + offset);
      this.#links.push(made);
      return made;
    };
    // Links with the same offset have the same seed, so they make the same random decisions about their n-th packets.
    const enter = <T extends Transport>(
      make: (deliver: (message: LoadMessage) => void) => T,
    ): Contestant<T> => {
      const receiver = new Receiver();
      return { receiver, transport: make((message) => receiver.handle(this.timeline.nowUs, message)) };
    };
    this.tcp = enter((deliver) => new TcpTransport(this.timeline, link(1), link(2), deliver));
    this.datagrams = enter((deliver) => new DatagramTransport(link(1), deliver));
    this.queue = enter(
      (deliver) => new SessionTransport(this.timeline, link(1), link(2), deliver, seed * 16 + 3),
    );
    this.settings = settings;
  }

  get contestants(): readonly Contestant[] {
    return [this.tcp, this.datagrams, this.queue];
  }

  get settings(): LabSettings {
    return this.#settings;
  }

  set settings(settings: LabSettings) {
    this.#settings = settings;
    this.tcp.transport.congestion = settings.congestion;
    this.tcp.transport.replaces = settings.tcpReplaces;
    this.queue.transport.eventsWait = settings.eventsWait;
    for (const link of this.#links) link.settings = settings;
  }

  advance(milliseconds: number): void {
    const endUs = this.timeline.nowUs + milliseconds * 1_000;
    while (this.#nextTickUs <= endUs) {
      this.timeline.runUntil(this.#nextTickUs);
      this.#tick();
      this.#nextTickUs += TICK_US;
    }
    this.timeline.runUntil(endUs);
  }

  #tick(): void {
    const { nowUs } = this.timeline;
    const { keys } = this.#settings;
    for (const { receiver } of this.contestants) receiver.sample(nowUs, keys);
    const messages: LoadMessage[] = Array.from({ length: keys }, (_, index) => ({
      type: "state",
      key: index + 1,
      putAtUs: nowUs,
    }));
    if (this.#ticks % TICKS_PER_EVENT === 0) {
      messages.push({ type: "event", putAtUs: nowUs });
      this.eventsPut += 1;
    }
    for (const { transport } of this.contestants) transport.put(messages);
    this.#ticks += 1;
    if (nowUs < this.#nextTurnUs) return;
    this.#nextTurnUs += TURN_US;
    for (const { receiver } of this.contestants) receiver.turn();
  }
}
