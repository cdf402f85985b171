/** Notices that a steady stream of packets has stopped, long before the idle time-out would. */

/** A peer counts as steady while its packets come at least so often. */
const STEADY_US_MAX = 120_000;
const WEIGHT = 8;
/** So many usual gaps without a packet are worth a question, and at least so long. */
const GAPS = 4;
const QUIET_US_MIN = 150_000;

/**
 * Who only receives has nothing outstanding that would show a dead path. When packets that came steadily stay away, one
 * PING is worth its bytes: its answer, or its silence, tells.
 */
export class Attentive {
  #lastHeardUs: number | undefined;
  #gapUs = Number.POSITIVE_INFINITY;
  #hasAsked = false;

  /** Says whether to ask now. */
  look(nowUs: number, lastHeardUs: number, packetsReceived: number, packetsBefore: number): boolean {
    if (this.#lastHeardUs !== undefined && lastHeardUs > this.#lastHeardUs) {
      const packets = Math.max(1, packetsReceived - packetsBefore);
      const gapUs = (lastHeardUs - this.#lastHeardUs) / packets;
      this.#gapUs = Number.isFinite(this.#gapUs) ? this.#gapUs + (gapUs - this.#gapUs) / WEIGHT : gapUs;
      this.#hasAsked = false;
    }
    this.#lastHeardUs = lastHeardUs;
    if (this.#hasAsked || this.#gapUs > STEADY_US_MAX) return false;
    this.#hasAsked = nowUs - lastHeardUs > Math.max(QUIET_US_MIN, GAPS * this.#gapUs);
    return this.#hasAsked;
  }
}
