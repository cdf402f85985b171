/** Notices that packets have stopped coming, long before the idle time-out would. */

/** A peer counts as steady while its packets come at least so often. */
const STEADY_US_MAX = 120_000;
const WEIGHT = 8;
/** So many usual gaps without a packet are worth a question, and at least so long. */
const GAPS = 4;
const QUIET_US_MIN = 150_000;
/** Without any rhythm a question is worth its bytes after so long, where another carrier could be fallen back to. */
const QUIET_US_MAX = 400_000;

/**
 * A peer that only receives has nothing outstanding that would show a dead path. When packets that came steadily
 * stay away, or nothing has come for a while, one PING is worth its bytes: its answer, or its silence, tells.
 */
export class LivenessProbe {
  #lastHeardUs: number | undefined;
  #gapUs = Number.POSITIVE_INFINITY;
  #hasAsked = false;

  /** Says whether to ask now. `packets` came since the last look. */
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
