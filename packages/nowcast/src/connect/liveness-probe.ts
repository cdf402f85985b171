/** Detects that no more packets arrive, long before the idle time-out. */

/** A peer counts as steady while the gaps between its packets are at most this long. */
const STEADY_US_MAX = 120_000;
const WEIGHT = 8;
/** A probe is sent when no packet arrived for this many usual gaps, but not before this time. */
const GAPS = 4;
const QUIET_US_MIN = 150_000;
/**
 * If the packets have no regular rhythm, a probe is sent after this time, provided that another
 * carrier is available.
 */
const QUIET_US_MAX = 400_000;

/**
 * A peer that only receives has no outstanding packets, so missing acknowledgements do not show
 * that its path is dead. If regular packets stop, or if none has arrived for a while, one PING
 * tests the path.
 */
export class LivenessProbe {
  #lastHeardUs: number | undefined;
  #gapUs = Number.POSITIVE_INFINITY;
  #hasAsked = false;

  /**
   * Returns whether to send a probe now. `packets` is the number of packets that arrived since the
   * last call.
   */
  look(nowUs: number, lastHeardUs: number, packets: number, canFall: boolean): boolean {
    if (this.#lastHeardUs !== undefined && lastHeardUs > this.#lastHeardUs) {
      const gapUs = (lastHeardUs - this.#lastHeardUs) / Math.max(1, packets);
      this.#gapUs = Number.isFinite(this.#gapUs) ? this.#gapUs + (gapUs - this.#gapUs) / WEIGHT : gapUs;
      this.#hasAsked = false;
    }
    this.#lastHeardUs = lastHeardUs;
    if (this.#hasAsked) return false;
    const isSteady = this.#gapUs <= STEADY_US_MAX;
    const quietUs = isSteady ? Math.max(QUIET_US_MIN, GAPS * this.#gapUs) : QUIET_US_MAX;
    this.#hasAsked = (isSteady || canFall) && nowUs - lastHeardUs > quietUs;
    return this.#hasAsked;
  }
}
