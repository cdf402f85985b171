/**
 * A longer gap between two calls means that the program stalled. Messages that arrived during the stall have not been
 * read yet.
 */
const STALL_MS = 900;

/**
 * Measures how long nothing has arrived. Time in which the program could not read messages is not counted.
 */
export class SilenceMeter {
  #arrivedAtMs = Number.NEGATIVE_INFINITY;
  #ranAtMs = Number.NEGATIVE_INFINITY;
  #countsFromMs = Number.NEGATIVE_INFINITY;

  /** Records that a message arrived. */
  arrived(nowMs: number): void {
    this.#arrivedAtMs = nowMs;
  }

  /**
   * Records that the program runs. Call it several times a second, whether or not a message
   * arrived.
   */
  ran(nowMs: number): void {
    if (nowMs - this.#ranAtMs > STALL_MS) this.#countsFromMs = nowMs;
    this.#ranAtMs = nowMs;
  }

  /** Returns the silence up to now, in milliseconds; infinite before the first message. */
  measure(nowMs: number): number {
    this.ran(nowMs);
    if (this.#arrivedAtMs === Number.NEGATIVE_INFINITY) return Number.POSITIVE_INFINITY;
    return Math.max(0, nowMs - Math.max(this.#arrivedAtMs, this.#countsFromMs));
  }
}
