/** A round: what arrived from one acknowledgement until that of a packet sent after it. */
/** Rounds are at least this long, so that they hold enough samples. */
const ROUND_US_MIN = 25_000;

/** One newly acknowledged packet, the largest of its acknowledgement. */
export interface Arrived {
  readonly number: number;
  readonly nextNumber: number;
  readonly sentUs: number;
  /** By the peer's clock. */
  readonly arrivedUs: number;
  readonly packetBytes: number;
  /** All bytes newly acknowledged. */
  readonly bytes: number;
  /** Another one than that of the packet before it: nothing was in flight in between. */
  readonly busyPeriod: number;
  /** The carrier loses nothing, so that loss says nothing of the link. */
  readonly isReliable: boolean;
}

export class Round {
  /** It ends when a packet of this number or a later one is acknowledged. */
  readonly #end: number;
  /** When its first and its last packet arrived, by the peer's clock. */
  readonly firstArrivedUs: number;
  lastArrivedUs: number;
  /** Of the time in between: what passed while nothing was in flight. */
  #idleUs = 0;
  #busyPeriod: number;
  acknowledged = 0;
  lostBytes = 0;
  queueMinUs = Number.POSITIVE_INFINITY;
  wasHeldBack = false;
  /** The rate fell when it began, so that all of its packets were sent at the rate before. */
  followsFall = false;

  constructor(
    readonly beganUs: number,
    { nextNumber, arrivedUs, busyPeriod }: Arrived,
  ) {
    this.#busyPeriod = busyPeriod;
    this.#end = nextNumber;
    this.firstArrivedUs = arrivedUs;
    this.lastArrivedUs = arrivedUs;
  }

  /** Takes in what an acknowledgement says, and the queueing delay that its packet saw. */
  note(arrived: Arrived, queueUs: number): void {
    if (arrived.busyPeriod !== this.#busyPeriod) {
      this.#busyPeriod = arrived.busyPeriod;
      this.#idleUs += Math.max(0, arrived.arrivedUs - this.lastArrivedUs);
    }
    this.lastArrivedUs = Math.max(this.lastArrivedUs, arrived.arrivedUs);
    this.acknowledged += arrived.bytes;
    this.queueMinUs = Math.min(this.queueMinUs, queueUs);
  }

  isOver(nowUs: number, arrived: Arrived): boolean {
    return arrived.number >= this.#end && nowUs - this.beganUs >= ROUND_US_MIN;
  }

  /** In seconds, at the peer. */
  get span(): number {
    return Math.max(1, this.lastArrivedUs - this.firstArrivedUs) / 1e6;
  }

  /** Bytes a second. */
  get delivered(): number {
    return this.acknowledged / this.span;
  }

  /** Too little was in flight for the delivered bytes to show the capacity of the link. */
  get wasMostlyIdle(): boolean {
    return 2 * this.#idleUs > this.span * 1e6;
  }
}
