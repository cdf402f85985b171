/**
 * A longer gap in which the program ran nothing is a stall: messages that arrived in the meantime were not read yet.
 */
const STALL_MS = 900;

/** Measures how long nothing arrived, in time during which the program was able to read a message. */
export class SilenceMeter {
  #arrivedAtMs = Number.NEGATIVE_INFINITY;
  #ranAtMs = Number.NEGATIVE_INFINITY;
  #countsFromMs = Number.NEGATIVE_INFINITY;

  /** A message arrived. */
  arrived(nowMs: number): void {
    this.#arrivedAtMs = nowMs;
  }

  /** The program runs. Call it several times a second, whether or not a message arrived. */
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
