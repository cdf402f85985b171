/**
 * The sending half of a TCP connection after RFC 9293: a stream in segments, a congestion window, and repeats of lost
 * segments. Losses are found as Linux finds them: by selective acknowledgements and times (RACK), by a probe at the tail (RFC
 * 8985), and by a time-out (RFC 6298).
 */
import { CubicWindow } from "./cubic.js";
import type { Timeline } from "./timeline.js";

export const SEGMENT_BYTES = 1_448;
/** Linux's least time-out. */
const TIMEOUT_US_MIN = 200_000;
const TIMEOUT_US_MAX = 60_000_000;
/** A gap counts as a loss after this number of later segments. */
const REORDERING = 3;

export interface Segment {
  readonly start: number;
  end: number;
  sentAtUs: number;
  /** When the newest copy was sent, as its position among all sent copies. */
  order: number;
  state: "sent" | "lost" | "arrived";
  wasRepeated: boolean;
}

/** An acknowledgement: all bytes below `upTo` have arrived. It also names the segment that caused it. */
export interface Acknowledgement {
  readonly upTo: number;
  readonly segment: Segment;
  readonly order: number;
  readonly sentAtUs: number;
}

export class TcpSender {
  readonly #timeline: Timeline;
  readonly #transmit: (segment: Segment) => void;
  /** Returns a fixed window, in segments, that replaces CUBIC's; `undefined` to use CUBIC. */
  readonly #fixedWindow: () => number | undefined;
  readonly #window = new CubicWindow();
  /** The segments that are not cumulatively acknowledged, oldest first. */
  #segments: Segment[] = [];
  #writtenBytes = 0;
  #sentBytes = 0;
  #order = 0;
  #newestArrived = -1;
  #newestArrivedSentUs = 0;
  /** If a segment before this order is lost, the window was already reduced for the same loss event. */
  #recoversUntil = -1;
  #smoothedUs = 0;
  #variationUs = 0;
  #backoff = 1;
  #hasProbed = false;
  #timerAtUs = Number.POSITIVE_INFINITY;

  constructor(
    timeline: Timeline,
    transmit: (segment: Segment) => void,
    fixedWindow: () => number | undefined,
  ) {
    this.#timeline = timeline;
    this.#transmit = transmit;
    this.#fixedWindow = fixedWindow;
  }

  /** Bytes that the program has written and that have not left. */
  get unsentBytes(): number {
    return this.#writtenBytes - this.#sentBytes;
  }

  get windowSegments(): number {
    return this.#fixedWindow() ?? this.#window.segments;
  }

  write(bytes: number): void {
    this.#writtenBytes += bytes;
    this.#fill();
  }

  handle({ upTo, segment, order, sentAtUs }: Acknowledgement): void {
    const { nowUs } = this.#timeline;
    const wasFull = this.#inFlight + 1 >= this.windowSegments;
    const before = this.#segments.filter(({ state }) => state === "arrived").length;
    if (!segment.wasRepeated) this.#measure(nowUs - sentAtUs);
    segment.state = "arrived";
    for (const sent of this.#segments) if (sent.end <= upTo) sent.state = "arrived";
    const arrived = this.#segments.filter(({ state }) => state === "arrived").length - before;
    this.#segments = this.#segments.filter(({ end }) => end > upTo);
    if (order > this.#newestArrived) {
      this.#newestArrived = order;
      this.#newestArrivedSentUs = sentAtUs;
    }
    if (arrived > 0) {
      this.#backoff = 1;
      this.#hasProbed = false;
      if (wasFull) this.#window.acknowledged(nowUs, arrived, this.#smoothedUs);
    }
    this.#detectLosses();
    this.#fill();
  }

  get #inFlight(): number {
    let count = 0;
    for (const { state } of this.#segments) if (state === "sent") count += 1;
    return count;
  }

  #measure(sampleUs: number): void {
    if (this.#smoothedUs === 0) {
      this.#smoothedUs = sampleUs;
      this.#variationUs = sampleUs / 2;
      return;
    }
    this.#variationUs += (Math.abs(this.#smoothedUs - sampleUs) - this.#variationUs) / 4;
    this.#smoothedUs += (sampleUs - this.#smoothedUs) / 8;
  }

  get #timeoutUs(): number {
    const usualUs = this.#smoothedUs === 0 ? 1_000_000 : this.#smoothedUs + 4 * this.#variationUs;
    return Math.min(TIMEOUT_US_MAX, Math.max(TIMEOUT_US_MIN, usualUs) * this.#backoff);
  }

  #detectLosses(): void {
    const { nowUs } = this.#timeline;
    const patienceUs = this.#smoothedUs * 1.25;
    for (const segment of this.#segments) {
      if (segment.state !== "sent" || segment.order > this.#newestArrived) continue;
      const isOvertaken = this.#newestArrived - segment.order >= REORDERING;
      const isLate = segment.sentAtUs < this.#newestArrivedSentUs && nowUs >= segment.sentAtUs + patienceUs;
      if (isOvertaken || isLate) this.#lose(segment);
    }
  }

  #lose(segment: Segment): void {
    segment.state = "lost";
    if (segment.order <= this.#recoversUntil) return;
    this.#window.reduce();
    this.#recoversUntil = this.#order;
  }

  #fill(): void {
    let flight = this.#inFlight;
    for (const segment of this.#segments) {
      if (flight + 1 > this.windowSegments) break;
      if (segment.state !== "lost") continue;
      segment.wasRepeated = true;
      this.#send(segment);
      flight += 1;
    }
    while (flight + 1 <= this.windowSegments && this.unsentBytes > 0) {
      const start = this.#sentBytes;
      const end = Math.min(start + SEGMENT_BYTES, this.#writtenBytes);
      const segment: Segment = { start, end, sentAtUs: 0, order: 0, state: "sent", wasRepeated: false };
      this.#sentBytes = end;
      this.#segments.push(segment);
      this.#send(segment);
      flight += 1;
    }
    this.#arm();
  }

  #send(segment: Segment): void {
    segment.state = "sent";
    segment.sentAtUs = this.#timeline.nowUs;
    segment.order = this.#order++;
    this.#transmit(segment);
  }

  /**
   * Sets the timer to the earliest of three times: a gap becomes a loss, the probe at the tail is due, or the time-out
   * ends.
   */
  #arm(): void {
    const atUs = this.#dueUs();
    if (atUs === this.#timerAtUs) return;
    this.#timerAtUs = atUs;
    if (atUs === Number.POSITIVE_INFINITY) return;
    this.#timeline.at(atUs, () => {
      if (this.#timerAtUs === atUs) this.#onTimer();
    });
  }

  #dueUs(): number {
    let [gapUs, newestUs, oldestUs] = [Number.POSITIVE_INFINITY, 0, Number.POSITIVE_INFINITY];
    for (const { state, order, sentAtUs } of this.#segments) {
      if (state !== "sent") continue;
      newestUs = Math.max(newestUs, sentAtUs);
      oldestUs = Math.min(oldestUs, sentAtUs);
      if (order < this.#newestArrived) gapUs = Math.min(gapUs, sentAtUs + this.#smoothedUs * 1.25);
    }
    if (oldestUs === Number.POSITIVE_INFINITY) return oldestUs;
    const canProbe = !this.#hasProbed && this.#smoothedUs > 0;
    const probeUs = canProbe ? newestUs + 2 * this.#smoothedUs : Number.POSITIVE_INFINITY;
    return Math.max(Math.min(gapUs, probeUs, oldestUs + this.#timeoutUs), this.#timeline.nowUs + 100);
  }

  #onTimer(): void {
    const { nowUs } = this.#timeline;
    this.#timerAtUs = Number.POSITIVE_INFINITY;
    const outstanding = this.#segments.filter(({ state }) => state === "sent");
    const oldestUs = Math.min(...outstanding.map(({ sentAtUs }) => sentAtUs));
    const newest = outstanding.at(-1);
    if (newest !== undefined && nowUs >= oldestUs + this.#timeoutUs) {
      for (const segment of outstanding) segment.state = "lost";
      this.#window.collapse();
      this.#recoversUntil = this.#order;
      this.#backoff *= 2;
    } else if (newest !== undefined && !this.#hasProbed && nowUs >= newest.sentAtUs + 2 * this.#smoothedUs) {
      this.#hasProbed = true;
      newest.wasRepeated = true;
      this.#send(newest);
    }
    this.#detectLosses();
    this.#fill();
  }
}
