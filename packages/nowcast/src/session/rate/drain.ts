/**
 * Handles a long queue. It is detected within a few acknowledgements and drained at once, and the
 * drain shows whether it is the sender's own.
 *
 * While the sender pauses, its own queue becomes shorter by the whole rate of the link, but a queue that others fill
 * only by the sender's share of it. Rates and delays alone cannot distinguish a competitor from a link whose capacity
 * fell. In both cases bytes arrive at the rate at which they are sent, and the queue keeps its
 * length.
 */
import type { Arrived, Round } from "./round.js";

/** A queue is long if it exceeds the target by this time. */
export const LONG_QUEUE_US = 30_000;
/**
 * A queue is unusual if it exceeds the target by the first value, or exceeds the longest recent queue by the second.
 */
export const UNUSUAL_US = 15_000;
export const ABOVE_USUAL_US = 5_000;
/**
 * An unusual queue counts as growing if it does not become shorter for `GROWING_US`, by the peer's clock, and one of
 * the two conditions below holds.
 */
const GROWING_US = 8_000;
/**
 * The time covers at least this number of acknowledgements, or bytes arrive at less than this share of the mean
 * delivery rate.
 */
const GROWING_SAMPLES = 3;
const GROWING_DELIVERED = 0.5;
/**
 * Share of the rate at which packets leave during a pause. These packets show how the queue
 * changes, and events need not wait.
 */
export const PAUSE_SHARE = 0.25;
/** A pause is at least this long, and longer by this multiple of the noise, but not longer than the queue. */
export const PAUSE_US = 60_000;
export const PAUSE_NOISES = 16;
/** A queue counts as drained if it exceeds the target by no more than this time. */
export const DRAINED_US = 10_000;
/** Time by which the flight may exceed the least round trip at the end of a drain. */
export const DRAINED_ALLOWANCE_US = 25_000;
/** The delivery rate counts as known after arrivals over this time, by the peer's clock. */
export const DELIVERY_US = 30_000;
/**
 * A queue belongs to others if it became shorter by less than this share of the change that is
 * expected of the sender's own queue.
 */
export const OTHERS_SHARE = 0.6;
/** The difference must also be at least this time plus this multiple of the noise. */
export const OTHERS_US = 10_000;
export const OTHERS_NOISES = 2;
/**
 * A queue counts as the sender's own if the queue shrank by more than this share of the change that the sender's own
 * queue would show.
 */
export const OWN_SHARE = 0.8;
/** Packets that left at less than this share of the rate do not show how fast the link is, even without competitors. */
export const SLOW_SHARE = 0.5;
/** Others fill the queue if this number of drains found that the queue belongs to others. */
export const OTHERS_DRAINS = 2;

/** Bytes that arrived within a time, by the peer's clock. */
export class Delivery {
  constructor(
    readonly firstUs: number,
    /** The time at which the first packet left. */
    readonly firstSentUs: number,
    public lastUs = firstUs,
    public lastSentUs = firstSentUs,
    /** Bytes that arrived after the first packet. */
    public bytes = 0,
  ) {}

  static begin({ arrivedUs, sentUs }: Arrived): Delivery {
    return new Delivery(arrivedUs, sentUs);
  }

  static of({ firstArrivedUs, firstSentUs, lastArrivedUs, lastSentUs, acknowledged }: Round): Delivery {
    return new Delivery(firstArrivedUs, firstSentUs, lastArrivedUs, lastSentUs, acknowledged);
  }

  note({ arrivedUs, sentUs, bytes }: Arrived): void {
    this.lastUs = Math.max(this.lastUs, arrivedUs);
    this.lastSentUs = sentUs;
    this.bytes += bytes;
  }

  /** The rate at which the same bytes left, in bytes a second. */
  get sentRate(): number {
    return (Math.max(1, this.bytes) / Math.max(1_000, this.lastSentUs - this.firstSentUs)) * 1e6;
  }

  get us(): number {
    return this.lastUs - this.firstUs;
  }

  /** Bytes a second. */
  get rate(): number {
    return (this.bytes / Math.max(1, this.us)) * 1e6;
  }
}

/** Consecutive acknowledgements that saw a queue. */
export class GrowingQueue {
  readonly delivery: Delivery;
  readonly #busyPeriod: number;
  #samples = 1;
  /** The longest queueing delay of these packets. */
  longestUs: number;

  constructor(
    arrived: Arrived,
    /** Queueing delay of the first packet. */
    readonly queueUs: number,
  ) {
    this.delivery = Delivery.begin(arrived);
    this.#busyPeriod = arrived.busyPeriod;
    this.longestUs = queueUs;
  }

  continues({ busyPeriod }: Arrived): boolean {
    return busyPeriod === this.#busyPeriod;
  }

  /**
   * Adds an acknowledgement. Returns whether the queue certainly grows, given the mean delivery
   * rate.
   */
  note(arrived: Arrived, queueUs: number, mean: number): boolean {
    this.delivery.note(arrived);
    this.#samples += 1;
    this.longestUs = Math.max(this.longestUs, queueUs);
    const isSlow = this.delivery.rate < GROWING_DELIVERED * mean;
    const isSure = this.#samples >= GROWING_SAMPLES || isSlow;
    return isSure && this.delivery.us >= GROWING_US && queueUs >= this.queueUs;
  }
}

/** The change of a queue while less is sent than the link delivers. */
export class QueueTest {
  /** Number of the first packet that was sent after the test began. */
  readonly #first: number;
  /** The departure and size of the previous packet. */
  #leftUs: number;
  #packetBytes: number;
  /** Bytes that arrived after that packet. */
  #bytes = 0;

  constructor(
    { nextNumber, sentUs, packetBytes }: Arrived,
    /** Queueing delay of the previous packet. */
    public queueUs: number,
    /** The delivery rate before the test, bytes a second. */
    public delivered: number,
  ) {
    this.#first = nextNumber;
    this.#leftUs = sentUs;
    this.#packetBytes = packetBytes;
  }

  /** Adds a packet. Returns whether it left before the test. */
  note({ number, sentUs, packetBytes, bytes }: Arrived, queueUs: number): boolean {
    if (number >= this.#first) {
      this.#bytes += bytes;
      return false;
    }
    this.queueUs = queueUs;
    this.#leftUs = sentUs;
    this.#packetBytes = packetBytes;
    this.#bytes = 0;
    return true;
  }

  lastedUs({ sentUs }: Arrived): number {
    return sentUs - this.#leftUs;
  }

  /** The decrease of the queue, and the expected decrease if the queue is the sender's own. */
  shrunkUs(arrived: Arrived, queueUs: number): readonly [number, number] {
    const bytes = Math.max(0, this.#packetBytes + this.#bytes - arrived.packetBytes);
    const expectedUs = this.lastedUs(arrived) - (bytes / this.delivered) * 1e6;
    return [this.queueUs - queueUs, Math.min(expectedUs, this.queueUs)];
  }
}

/** The sender waits until its queue is empty. */
export class Drain {
  /** Time at which few enough bytes were in flight to continue. */
  #resumedUs: number | undefined;

  constructor(
    readonly test: QueueTest,
    readonly delivery: Delivery,
    /** The rate before the drain. */
    readonly rate: number,
    /** The minimum rate after the drain. */
    readonly least: number,
    readonly pausesUntilUs: number,
  ) {}

  /** Handles a departing packet. Returns the share of the rate for the next one. */
  shareAt(nowUs: number, hasRoomInFlight: boolean): number {
    if (hasRoomInFlight && nowUs >= this.pausesUntilUs) this.#resumedUs ??= nowUs;
    return this.#resumedUs === undefined ? PAUSE_SHARE : 1;
  }

  /** Whether this packet left after the pause ended, so that the drain is over. */
  isOver({ sentUs }: Arrived): boolean {
    return this.#resumedUs !== undefined && sentUs > this.#resumedUs;
  }
}
