/** What is remembered of earlier rounds. */
/** The least delay is that of the last two such spans. */
const BASE_SPAN_US = 5_000_000;
/** While others keep the queue full, an empty one is rarer. */
const RIVALRY_BASE_SPAN_US = 30_000_000;

/** The least one-way delay of late; the offset of the clocks is in it, and cancels out in differences. */
export class BaseDelay {
  #beganUs = Number.NEGATIVE_INFINITY;
  #least = Number.POSITIVE_INFINITY;
  #previous = Number.POSITIVE_INFINITY;

  excess(nowUs: number, delayUs: number, hasRivals: boolean): number {
    const spanUs = hasRivals ? RIVALRY_BASE_SPAN_US : BASE_SPAN_US;
    if (nowUs - this.#beganUs >= spanUs) {
      this.#previous = this.#least;
      this.#least = delayUs;
      this.#beganUs = nowUs;
    }
    this.#least = Math.min(this.#least, delayUs);
    return delayUs - Math.min(this.#least, this.#previous);
  }
}

/** The highest delivery rate of late: the link's is not lower. */
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
