/** The congestion window of CUBIC (RFC 9438), in segments. */

const BETA = 0.7;
const C = 0.4;
const FIRST_WINDOW = 10;
const WINDOW_MIN = 2;

export class CubicWindow {
  segments = FIRST_WINDOW;
  #slowStartUntil = Number.POSITIVE_INFINITY;
  /** The window before the last reduction. */
  #peak = 0;
  #epochUs: number | undefined;
  /** The window that Reno would have: CUBIC is never slower. */
  #reno = 0;

  /** Grows the window after `segments` were acknowledged while the window was full. */
  acknowledged(nowUs: number, segments: number, roundTripUs: number): void {
    if (this.segments < this.#slowStartUntil) {
      this.segments += segments;
      return;
    }
    if (this.#epochUs === undefined) {
      this.#epochUs = nowUs;
      this.#reno = this.segments;
      this.#peak = Math.max(this.#peak, this.segments);
    }
    const k = Math.cbrt((this.#peak * (1 - BETA)) / C);
    const seconds = (nowUs - this.#epochUs + roundTripUs) / 1e6;
    const target = C * (seconds - k) ** 3 + this.#peak;
    this.#reno += ((3 * (1 - BETA)) / (1 + BETA)) * (segments / this.segments);
    const bounded = Math.min(target, this.segments * 1.5);
    if (bounded > this.segments) this.segments += ((bounded - this.segments) / this.segments) * segments;
    this.segments = Math.max(this.segments, this.#reno);
  }

  /** Reduces the window. Call it once for each round trip with a loss. */
  reduce(): void {
    this.#peak = this.segments < this.#peak ? (this.segments * (1 + BETA)) / 2 : this.segments;
    this.segments = Math.max(WINDOW_MIN, this.segments * BETA);
    this.#slowStartUntil = this.segments;
    this.#epochUs = undefined;
  }

  /** Resets the window after a time-out without any acknowledgement. */
  collapse(): void {
    this.reduce();
    this.segments = 1;
  }
}
