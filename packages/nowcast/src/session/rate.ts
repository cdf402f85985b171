/**
 * How fast to send (`spec/SESSION.md`, section 11): by the queueing delay that the peer's arrival times reveal, not by
 * loss, so that a narrow link's buffer stays nearly empty and a noisy link is not taken for a narrow one. After LEDBAT
 * (RFC 6817) in what it measures, and CUBIC (RFC 9438) in how it probes.
 */
const INITIAL = 125_000;
const LEAST = 2_000;
const QUEUE_TARGET_US = 4_000;
const ROUND_US_MIN = 25_000;
const BASE_SPAN_US = 5_000_000;
const BURST_US = 2_000;
const FLIGHT_ALLOWANCE_US = 30_000;
const FLIGHT_BYTES_MIN = 2 * 1_200;
const FALLS_BEFORE_FLOOR = 5;

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
}

interface Round {
  readonly end: number;
  readonly beganUs: number;
  readonly arrivedUs: number;
  acknowledged: number;
  lastArrivedUs: number;
  queueMinUs: number;
  wasHeldBack: boolean;
}

export class SendRate {
  bytesPerSecond: number;
  queueUs = 0;
  nextAtUs = Number.NEGATIVE_INFINITY;
  #isStarting = true;
  #capacity: number | undefined;
  #floor = 0;
  #falls = 0;
  readonly #base = new BaseDelay();
  #round: Round | undefined;
  #heldBack = false;

  constructor(
    readonly budget: number,
    bytesPerSecond = INITIAL,
  ) {
    this.bytesPerSecond = this.#clamp(bytesPerSecond);
  }

  /** A rate that knows nothing of the path but how fast the last one was. */
  restarted(share: number): SendRate {
    return new SendRate(this.budget, this.bytesPerSecond * share);
  }

  flightBytesMax(roundTripUs: number): number {
    return Math.max(FLIGHT_BYTES_MIN, (this.bytesPerSecond * (roundTripUs + FLIGHT_ALLOWANCE_US)) / 1e6);
  }

  /** A packet is ready but must wait for its turn. */
  holdBack(): void {
    this.#heldBack = true;
  }

  /** A packet leaves; a `share` below 1 makes it count for more. */
  spend(nowUs: number, bytes: number, share: number): void {
    const from = Math.max(this.nextAtUs, nowUs - BURST_US);
    this.nextAtUs = from + (bytes / (this.bytesPerSecond * share)) * 1e6;
  }

  acknowledged(nowUs: number, arrived: Arrived): void {
    // A large packet needs its time on a narrow link without any queue.
    const passingUs = (arrived.packetBytes / this.bytesPerSecond) * 1e6;
    const queueUs = this.#base.excess(nowUs, arrived.arrivedUs - arrived.sentUs) - passingUs;
    const round = this.#round;
    if (round === undefined) {
      this.#round = beginRound(nowUs, arrived);
      return;
    }
    round.acknowledged += arrived.bytes;
    round.lastArrivedUs = Math.max(round.lastArrivedUs, arrived.arrivedUs);
    round.queueMinUs = Math.min(round.queueMinUs, queueUs);
    round.wasHeldBack ||= this.#heldBack;
    this.#heldBack = false;
    if (arrived.number < round.end || nowUs - round.beganUs < ROUND_US_MIN) return;
    this.#round = beginRound(nowUs, arrived);
    this.#finish(round);
  }

  #finish(round: Round): void {
    const span = Math.max(1, round.lastArrivedUs - round.arrivedUs) / 1e6;
    const delivered = round.acknowledged / span;
    this.queueUs = Math.max(0, round.queueMinUs);
    if (round.queueMinUs > QUEUE_TARGET_US) this.#fall(delivered, span);
    else {
      this.#falls = 0;
      this.#floor = 0;
      if (round.wasHeldBack) this.#grow();
    }
    this.bytesPerSecond = this.#clamp(this.bytesPerSecond);
  }

  /** A standing queue: its drain is the capacity; sending less empties it within about a tenth of a second. */
  #fall(delivered: number, span: number): void {
    if (this.#falls === 0) this.#floor = delivered / 2;
    this.#isStarting = false;
    this.#falls += 1;
    this.#capacity = delivered;
    const drain = this.queueUs / 1e6 / (0.1 + span);
    this.bytesPerSecond = Math.min(this.bytesPerSecond, delivered * Math.min(0.9, Math.max(0.5, 1 - drain)));
    if (this.#falls <= FALLS_BEFORE_FLOOR) return;
    // Others fill the queue; whoever only yields gets nothing. A floor that is not delivered is too high.
    this.#floor = Math.min(this.#floor, Math.max(delivered, LEAST));
    this.bytesPerSecond = Math.max(this.bytesPerSecond, this.#floor);
  }

  #grow(): void {
    const ratio = this.#capacity === undefined ? 0 : this.bytesPerSecond / this.#capacity;
    const isNear = ratio >= 0.85 && ratio < 1.15;
    this.bytesPerSecond *= this.#isStarting ? 2 : isNear ? 1.02 : 1.25;
  }

  #clamp(bytesPerSecond: number): number {
    return Math.min(Math.max(bytesPerSecond, LEAST), Math.max(this.budget, LEAST));
  }
}

function beginRound(nowUs: number, { nextNumber, arrivedUs }: Arrived): Round {
  return {
    end: nextNumber,
    beganUs: nowUs,
    arrivedUs,
    acknowledged: 0,
    lastArrivedUs: arrivedUs,
    queueMinUs: Number.POSITIVE_INFINITY,
    wasHeldBack: false,
  };
}

/** The least one-way delay of late; the offset of the clocks is in it, and cancels out in differences. */
class BaseDelay {
  #beganUs = Number.NEGATIVE_INFINITY;
  #least = Number.POSITIVE_INFINITY;
  #previous = Number.POSITIVE_INFINITY;

  excess(nowUs: number, delayUs: number): number {
    if (nowUs - this.#beganUs >= BASE_SPAN_US) {
      this.#previous = this.#least;
      this.#least = delayUs;
      this.#beganUs = nowUs;
    }
    this.#least = Math.min(this.#least, delayUs);
    return delayUs - Math.min(this.#least, this.#previous);
  }
}
