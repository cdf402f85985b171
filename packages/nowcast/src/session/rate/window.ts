/**
 * The congestion window of competitive mode, after CUBIC (RFC 9438).
 *
 * A window in bytes adapts without delay to a link whose capacity changes, because acknowledgements pace the packets. A
 * rate has to grow step by step, and meanwhile a competitor with a window would take the additional capacity.
 */

/** The growth of CUBIC, in packets per cubic second. */
const GROWTH = 0.4;
const PACKET_BYTES = 1_200;
export const WINDOW_BYTES_MIN = 2 * PACKET_BYTES;
/**
 * Share of the window that remains after a loss. CUBIC uses 0.7. But a session's packets are smaller than TCP's, and a
 * full queue that counts bytes drops fewer small packets.
 */
const KEPT_SHARE = 0.65;
/** Number of packets by which CUBIC's estimate of Reno grows in a round trip. */
const RENO_PACKETS = (3 * (1 - 0.7)) / (1 + 0.7);
/** The window grows by at most this factor in a round. */
const GROWTH_MAX = 1.5;
/** The pacer allows this multiple of the window in a round trip, so that the window decides. */
const PACING = 1.2;
/** Share of a new sample in the smoothed round trip. */
const SMOOTHING = 0.125;
/** Minimum of the round trip in the formulas, in seconds. */
const ROUND_TRIP_MIN = 0.001;

export class Window {
  bytes: number;
  /** The window before the last loss, bytes. */
  #max: number;
  /** The window that Reno would have, bytes. */
  #reno: number;
  /** Time since the last loss while packets were held back, seconds. */
  #elapsed = 0;
  /** Time from the last loss until the window is back at its maximum, seconds. */
  #untilMax = 0;
  /** Smoothed, seconds. */
  #roundTrip: number;

  /** The window of a sender with a rate, bytes a second, on a path with a round trip, seconds. */
  constructor(rate: number, roundTrip: number) {
    this.#roundTrip = Math.max(ROUND_TRIP_MIN, roundTrip);
    this.bytes = Math.max(WINDOW_BYTES_MIN, rate * this.#roundTrip);
    this.#max = this.bytes;
    this.#reno = this.bytes;
  }

  /** The rate at which packets leave, bytes a second. */
  get rate(): number {
    return (PACING * this.bytes) / this.#roundTrip;
  }

  /** Continues with this window after a break; `roundTrip` is in seconds. */
  resume(roundTrip: number): void {
    this.#roundTrip = Math.max(ROUND_TRIP_MIN, roundTrip);
  }

  /** Handles a packet that was acknowledged after `roundTrip` seconds. */
  sample(roundTrip: number): void {
    this.#roundTrip += SMOOTHING * (Math.max(ROUND_TRIP_MIN, roundTrip) - this.#roundTrip);
  }

  /** Handles a round with losses. */
  shrink(): void {
    // Fast convergence: if the window did not reach its last maximum, it leaves room to other
    // senders.
    const hasShrunk = this.bytes < this.#max;
    this.#max = hasShrunk ? (this.bytes * (1 + KEPT_SHARE)) / 2 : this.bytes;
    this.bytes = Math.max(WINDOW_BYTES_MIN, KEPT_SHARE * this.bytes);
    this.#reno = this.bytes;
    this.#elapsed = 0;
    this.#untilMax = Math.cbrt(Math.max(0, this.#max - this.bytes) / PACKET_BYTES / GROWTH);
  }

  /**
   * Handles a round in which packets were held back, if nothing was lost since the window began.
   * `rateMax` is in bytes a second.
   */
  start(rateMax: number): void {
    this.#set(GROWTH_MAX * this.bytes, rateMax);
    this.#max = this.bytes;
    this.#reno = this.bytes;
  }

  /**
   * Handles a round of `span` seconds without loss in which packets were held back. `rateMax` is in
   * bytes a second.
   */
  grow(span: number, rateMax: number): void {
    this.#elapsed += span;
    const ahead = this.#elapsed + this.#roundTrip - this.#untilMax;
    const target = this.#max + GROWTH * ahead ** 3 * PACKET_BYTES;
    const packets = this.#reno < this.#max ? RENO_PACKETS : 1;
    this.#reno += (packets * PACKET_BYTES * span) / this.#roundTrip;
    const cubic = Math.min(GROWTH_MAX * this.bytes, Math.max(this.bytes, target));
    this.#set(Math.max(cubic, this.#reno), rateMax);
  }

  #set(bytes: number, rateMax: number): void {
    this.bytes = Math.max(WINDOW_BYTES_MIN, Math.min(bytes, rateMax * this.#roundTrip));
  }
}
