/** Duration of a span. The least delay is taken over the last two spans. */
const BASE_SPAN_US = 5_000_000;
/**
 * Duration of a span in competitive mode. It is longer, because the queue is rarely empty while
 * others keep it full.
 */
const COMPETITIVE_BASE_SPAN_US = 30_000_000;
/** A competitor that a drain or a trial found is assumed to stay for this time. */
const RIVALS_SPAN_US = 10_000_000;
const USUAL_SPAN_US = 1_000_000;

/** The noise is the mean of about this many samples. */
const NOISE_SAMPLES = 32;
const NOISE_SAMPLES_MIN = 8;
/** Each sample is limited to twice the mean plus this value. */
const NOISE_STEP_US = 500;

/** The least recent one-way delay. It includes the offset of the clocks, which cancels out in differences. */
export class BaseDelay {
  #beganUs = Number.NEGATIVE_INFINITY;
  #least = Number.POSITIVE_INFINITY;
  #previous = Number.POSITIVE_INFINITY;

  excess(nowUs: number, delayUs: number, isCompeting: boolean): number {
    const spanUs = isCompeting ? COMPETITIVE_BASE_SPAN_US : BASE_SPAN_US;
    if (nowUs - this.#beganUs >= spanUs) {
      this.#previous = this.#least;
      this.#least = delayUs;
      this.#beganUs = nowUs;
    }
    this.#least = Math.min(this.#least, delayUs);
    return delayUs - Math.min(this.#least, this.#previous);
  }
}

/** The highest recent delivery rate. The capacity of the link is at least as high. */
export class Peak {
  #beganUs = Number.NEGATIVE_INFINITY;
  #current = 0;
  #previous = 0;

  get highest(): number {
    return Math.max(this.#current, this.#previous);
  }

  note(nowUs: number, delivered: number): void {
    if (nowUs - this.#beganUs >= BASE_SPAN_US) {
      this.#previous = this.#current;
      this.#current = 0;
      this.#beganUs = nowUs;
    }
    this.#current = Math.max(this.#current, delivered);
  }
}

/** The state of the sender before its rate fell, in bytes a second. */
export interface BeforeFalls {
  /** The delivery rate. */
  readonly delivered: number;
  /** The sender's rate, at most the highest delivery rate or the initial rate. */
  readonly allowed: number;
}

/** Evidence that others fill the queue. */
export class Rivals {
  /**
   * Number of consecutive drains, each a short time after the previous one, that found that the
   * queue belongs to others.
   */
  #drains = 0;
  #seenUs = Number.NEGATIVE_INFINITY;

  /** Whether a drain or a trial found competitors recently. */
  areEvident(nowUs: number): boolean {
    return nowUs - this.#seenUs < RIVALS_SPAN_US;
  }

  see(nowUs: number): void {
    this.#seenUs = nowUs;
  }

  /** Counts a drain that found that the queue belongs to others, and returns the count. */
  noteDrain(nowUs: number): number {
    this.#drains = this.areEvident(nowUs) ? this.#drains + 1 : 1;
    this.see(nowUs);
    return this.#drains;
  }

  /** Resets the count, because the sender competes. */
  forgetDrains(): void {
    this.#drains = 0;
  }
}

/** The longest queueing delay of the last second or two. */
export class Usual {
  #beganUs = Number.NEGATIVE_INFINITY;
  #current: number | undefined;
  #previous: number | undefined;

  /** The result is infinite in the first second. */
  get longestUs(): number {
    return Math.max(this.#current ?? Number.POSITIVE_INFINITY, this.#previous ?? Number.POSITIVE_INFINITY);
  }

  note(nowUs: number, queueUs: number): void {
    if (nowUs - this.#beganUs >= USUAL_SPAN_US) {
      this.#previous = this.#current;
      this.#current = queueUs;
      this.#beganUs = nowUs;
    }
    this.#current = Math.max(this.#current ?? queueUs, queueUs);
  }
}

/**
 * The jitter: the variation of the one-way delay between samples that does not depend on the
 * sending rate. The delay of a queue changes steadily, while jitter varies from packet to packet. A
 * sample is therefore the distance of a delay from the mean of the preceding and the following
 * delay.
 */
export class Noise {
  #last: number | undefined;
  #before: number | undefined;
  #samples = 0;
  meanUs = 0;

  note(delayUs: number): void {
    const [last, before] = [this.#last, this.#before];
    this.#before = last;
    this.#last = delayUs;
    if (last === undefined || before === undefined) return;
    const bendUs = Math.abs(delayUs - 2 * last + before) / 2;
    this.#samples = Math.min(NOISE_SAMPLES, this.#samples + 1);
    // Samples are limited, because a single extreme delay belongs to an event that left alone, or
    // to a packet after a pause.
    const countedUs = Math.min(bendUs, 2 * this.meanUs + NOISE_STEP_US);
    this.meanUs += (countedUs - this.meanUs) / Math.max(this.#samples, NOISE_SAMPLES_MIN);
  }
}
