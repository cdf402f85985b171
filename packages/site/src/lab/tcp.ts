/**
 * Messages in one TCP connection, as a WebSocket sends them: they arrive in order. Most programs write each message at once;
 * a careful program replaces values that it has not written.
 */
import type { Link, LinkSettings } from "./link.js";
import { bytesOf, type Deliver, type LoadMessage, type Transport } from "./load.js";
import { SEGMENT_BYTES, type Segment, TcpSender } from "./tcp-sender.js";
import type { Timeline } from "./timeline.js";

/** IP, and TCP with times. */
const HEADER_BYTES = 52;

/**
 * `cubic` is the default of Linux, macOS and Windows. The other is a sender that knows the capacity and ignores losses:
 * the best case for TCP.
 */
export type Congestion = "cubic" | "known";

export class TcpTransport implements Transport {
  congestion: Congestion = "cubic";
  /** Whether the program replaces values that it has not written, and writes only while nothing waits to leave. */
  replaces = false;
  readonly #forth: Link;
  readonly #back: Link;
  readonly #deliver: Deliver;
  readonly #sender: TcpSender;
  #writtenBytes = 0;
  /** Messages that were not delivered yet, with the position of the byte after each. */
  #messages: { readonly end: number; readonly message: LoadMessage }[] = [];
  /** Messages of a program that replaces values: the newest state of each key, and all events. */
  #unwritten = new Map<number, LoadMessage>();
  #unwrittenEvents: LoadMessage[] = [];
  /** The receiver has all bytes below this one. */
  #upTo = 0;
  /** Segments that wait for an earlier one. */
  #waiting: Segment[] = [];

  constructor(timeline: Timeline, forth: Link, back: Link, deliver: Deliver) {
    this.#forth = forth;
    this.#back = back;
    this.#deliver = deliver;
    this.#sender = new TcpSender(
      timeline,
      (segment) => this.#transmit(segment),
      () => (this.congestion === "cubic" ? undefined : knownWindow(forth.settings)),
    );
  }

  get bytes(): number {
    return this.#forth.bytes;
  }

  get unsentBytes(): number {
    return this.#sender.unsentBytes;
  }

  put(messages: readonly LoadMessage[]): void {
    if (!this.replaces) {
      this.#writeReplaced();
      this.#write(messages);
      return;
    }
    for (const message of messages) {
      if (message.type === "event") this.#unwrittenEvents.push(message);
      else this.#unwritten.set(message.key, message);
    }
    if (this.unsentBytes === 0) this.#writeReplaced();
  }

  #writeReplaced(): void {
    const messages = [...this.#unwrittenEvents, ...this.#unwritten.values()];
    this.#unwrittenEvents = [];
    this.#unwritten.clear();
    if (messages.length > 0) this.#write(messages);
  }

  #write(messages: readonly LoadMessage[]): void {
    let bytes = 0;
    for (const message of messages) {
      bytes += bytesOf(message);
      this.#messages.push({ end: this.#writtenBytes + bytes, message });
    }
    this.#writtenBytes += bytes;
    this.#sender.write(bytes);
  }

  #transmit(segment: Segment): void {
    const { order, sentAtUs } = segment;
    this.#forth.send(segment.end - segment.start + HEADER_BYTES, () => {
      this.#receive(segment);
      const upTo = this.#upTo;
      this.#back.send(HEADER_BYTES, () => {
        this.#sender.handle({ upTo, segment, order, sentAtUs });
        if (this.replaces && this.unsentBytes === 0) this.#writeReplaced();
      });
    });
  }

  /** A segment after a gap waits: nothing behind a lost segment is delivered before that segment. */
  #receive(segment: Segment): void {
    if (segment.end > this.#upTo && !this.#waiting.includes(segment)) this.#waiting.push(segment);
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      this.#upTo = next.end;
      this.#waiting = this.#waiting.filter(({ end }) => end > this.#upTo);
    }
    let count = 0;
    while (count < this.#messages.length && this.#messages[count]!.end <= this.#upTo) {
      this.#deliver(this.#messages[count]!.message);
      count += 1;
    }
    if (count > 0) this.#messages = this.#messages.slice(count);
  }

  #next(): Segment | undefined {
    return this.#waiting.find(({ start, end }) => start <= this.#upTo && end > this.#upTo);
  }
}

/** A window of the capacity times the longest round trip, plus a few segments. */
function knownWindow({ kilobitsPerSecond, roundTripMs, jitterMs }: LinkSettings): number {
  return 4 + (kilobitsPerSecond * (roundTripMs + 2 * jitterMs)) / 8 / SEGMENT_BYTES;
}
