/** Round-trip time after RFC 9002, section 5, in whole microseconds. */
const GRANULARITY_US = 1_000;
const INITIAL_PROBE_TIMEOUT_US = 1_000_000;
const ACK_DELAY_MAX_US = 5_000;
/** Maximum time for which a peer that sends regularly holds an acknowledgement for its next packet. */
const HELD_ACK_DELAY_MAX_US = 100_000;
/** The initial value of the longest recent delay. Measurements soon lower it. */
const ACK_DELAY_FIRST_US = 50_000;

export class RoundTrip {
  latestUs: number | undefined;
  minimumUs = 0;
  smoothedUs = 0;
  variationUs = 0;
  /**
   * The longest recent delay of the peer's acknowledgements. The next delay may be a fifth longer.
   */
  #heldUs = ACK_DELAY_FIRST_US;

  /** Records a sample, and the delay that the peer reports. */
  sample(sampleUs: number, ackDelayUs: number): void {
    const longestUs = Math.max(ackDelayUs, Math.floor((31 * this.#heldUs) / 32), ACK_DELAY_MAX_US);
    this.#heldUs = Math.min(longestUs, HELD_ACK_DELAY_MAX_US);
    if (this.latestUs === undefined) {
      this.latestUs = this.minimumUs = this.smoothedUs = sampleUs;
      this.variationUs = Math.floor(sampleUs / 2);
      return;
    }
    this.latestUs = sampleUs;
    this.minimumUs = Math.min(this.minimumUs, sampleUs);
    const adjusted = sampleUs - ackDelayUs >= this.minimumUs ? sampleUs - ackDelayUs : sampleUs;
    this.variationUs = Math.floor((3 * this.variationUs + Math.abs(this.smoothedUs - adjusted)) / 4);
    this.smoothedUs = Math.floor((7 * this.smoothedUs + adjusted) / 8);
  }

  /**
   * The age after which a packet counts as lost if a later one was acknowledged (section 6.1.2). On
   * a path that reorders packets, where some took as long as `overtakenUs`, the age may be up to
   * twice a round trip.
   */
  lossDelayUs(overtakenUs: number): number {
    const longestUs = Math.max(this.smoothedUs, this.latestUs ?? 0);
    const waitUs = Math.min(Math.floor((9 * overtakenUs) / 8), 2 * longestUs);
    return Math.max(GRANULARITY_US, Math.floor((9 * longestUs) / 8), waitUs);
  }

  /** Time to wait for any acknowledgement (section 6.2.1). */
  get probeTimeoutUs(): number {
    if (this.latestUs === undefined) return INITIAL_PROBE_TIMEOUT_US;
    return (
      this.smoothedUs + Math.max(4 * this.variationUs, GRANULARITY_US) + Math.floor((this.#heldUs * 6) / 5)
    );
  }
}
