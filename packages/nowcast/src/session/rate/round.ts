/**
 * A round: the arrivals from one acknowledgement until the acknowledgement of a packet that was
 * sent after it.
 */
/** Minimum length of a round, so that it has enough samples. */
const ROUND_US_MIN = 25_000;

/** One newly acknowledged packet, the largest of its acknowledgement. */
export interface Arrived {
  readonly number: number;
  readonly nextNumber: number;
  readonly sentUs: number;
  /** The time of arrival, by the peer's clock. */
  readonly arrivedUs: number;
  readonly packetBytes: number;
  /** The number of all newly acknowledged bytes. */
  readonly bytes: number;
  /** A number that differs from the previous packet's if nothing was in flight in between. */
  readonly busyPeriod: number;
  /**
   * Whether the carrier retransmits lost packets, so that their late arrival does not describe the
   * link.
   */
  readonly isReliable: boolean;
}

export class Round {
  /** The round ends when a packet of this number or a later one is acknowledged. */
  readonly #end: number;
  /** Arrival of its first and its last packet, by the peer's clock. */
  readonly firstArrivedUs: number;
  lastArrivedUs: number;
  /** The times at which these two packets left. */
  readonly firstSentUs: number;
  lastSentUs: number;
  /** The part of the round in which nothing was in flight. */
  #idleUs = 0;
  #busyPeriod: number;
  acknowledged = 0;
  lostBytes = 0;
  queueMinUs = Number.POSITIVE_INFINITY;
  wasHeldBack = false;
  /**
   * Whether the rate fell at the start of the round, so that its packets were sent at the earlier
   * rate.
   */
  followsFall = false;

  constructor(
    readonly beganUs: number,
    { nextNumber, sentUs, arrivedUs, busyPeriod }: Arrived,
  ) {
    this.#busyPeriod = busyPeriod;
    this.#end = nextNumber;
    this.firstArrivedUs = arrivedUs;
    this.lastArrivedUs = arrivedUs;
    this.firstSentUs = sentUs;
    this.lastSentUs = sentUs;
  }

  /** Records an acknowledgement, and the queueing delay of its packet. */
  note(arrived: Arrived, queueUs: number): void {
    if (arrived.busyPeriod !== this.#busyPeriod) {
      this.#busyPeriod = arrived.busyPeriod;
      this.#idleUs += Math.max(0, arrived.arrivedUs - this.lastArrivedUs);
    }
    this.lastArrivedUs = Math.max(this.lastArrivedUs, arrived.arrivedUs);
    this.lastSentUs = arrived.sentUs;
    this.acknowledged += arrived.bytes;
    this.queueMinUs = Math.min(this.queueMinUs, queueUs);
  }

  isOver(nowUs: number, arrived: Arrived): boolean {
    return arrived.number >= this.#end && nowUs - this.beganUs >= ROUND_US_MIN;
  }

  /** The length of the round at the peer, in seconds. */
  get span(): number {
    return Math.max(1, this.lastArrivedUs - this.firstArrivedUs) / 1e6;
  }

  /** The delivery rate, in bytes a second. */
  get delivered(): number {
    return this.acknowledged / this.span;
  }

  /**
   * Whether too little was in flight, so that the delivery rate does not show the capacity of the
   * link.
   */
  get wasMostlyIdle(): boolean {
    return 2 * this.#idleUs > this.span * 1e6;
  }
}
