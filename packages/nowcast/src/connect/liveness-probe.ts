/** Notices that packets have stopped coming, long before the idle time-out would. */

/** A peer counts as steady while its packets come at least so often. */
const STEADY_US_MAX = 120_000;
const WEIGHT = 8;
/** After this many usual gaps without a packet a probe is sent, and at least after this time. */
const GAPS = 4;
const QUIET_US_MIN = 150_000;
/** Without a regular rhythm a probe is sent after this time, if another carrier is available. */
const QUIET_US_MAX = 400_000;

/**
 * A peer that only receives has no outstanding packets that would reveal a dead path. If regular packets stop, or none
 * has arrived for a while, one PING tests the path.
 */
export class LivenessProbe {
  #lastHeardUs: number | undefined;
  #gapUs = Number.POSITIVE_INFINITY;
  #hasAsked = false;

  /** Whether to send a probe now. `packets` arrived since the last call. */
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
