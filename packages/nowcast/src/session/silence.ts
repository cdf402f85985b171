/**
 * Decides when to probe, and how much to send, while packets are outstanding without an
 * acknowledgement (section 10).
 */
import type { RoundTrip } from "./rtt.js";

const PROBE_TIMEOUT_US_MAX = 2_000_000;
/**
 * New values are sent to a silent peer at this multiple of its earlier rate, so that all new values
 * of a send interval leave before the next ones exist.
 */
const SILENT_SHARE = 1.5;
/** For this time of silence the rate stays the same; after it, the rate decreases. */
const BOLD_US = 3_000_000;

export class Silence {
  /** The time since which packets are outstanding without any acknowledgement. */
  #sinceUs: number | undefined;
  #probedAtUs = Number.NEGATIVE_INFINITY;
  #probes = 0;

  packetLeft(nowUs: number): void {
    this.#sinceUs ??= nowUs;
  }

  acknowledged(nowUs: number, inFlight: number): void {
    this.#probes = 0;
    this.#probedAtUs = nowUs;
    this.#sinceUs = inFlight > 0 ? nowUs : undefined;
  }

  /**
   * Returns how long answers had been awaited when a packet arrives, given that no packet arrived since `lastHeardUs`.
   */
  lastedUs(nowUs: number, lastHeardUs: number): number {
    return this.#sinceUs === undefined ? 0 : nowUs - Math.max(this.#sinceUs, lastHeardUs);
  }

  probed(nowUs: number): void {
    this.#probes += 1;
    this.#probedAtUs = nowUs;
  }

  probeAtUs(rtt: RoundTrip): number | undefined {
    if (this.#sinceUs === undefined) return undefined;
    const base = rtt.probeTimeoutUs;
    const isBold = this.#probedAtUs - this.#sinceUs < BOLD_US;
    const doublings = isBold ? 0 : Math.min(this.#probes, 10);
    const waitUs = Math.min(base * 2 ** doublings, Math.max(base, PROBE_TIMEOUT_US_MAX));
    return Math.max(this.#sinceUs, this.#probedAtUs) + waitUs;
  }

  /** The time at which the peer counts as silent if outstanding packets are not acknowledged. */
  beginsAtUs(rtt: RoundTrip): number | undefined {
    return this.#sinceUs === undefined ? undefined : this.#sinceUs + 2 * rtt.probeTimeoutUs;
  }

  /** The share of the rate to use while the peer is silent; `undefined` if it is not. */
  share(nowUs: number, rtt: RoundTrip): number | undefined {
    if (this.#sinceUs === undefined || nowUs < this.beginsAtUs(rtt)!) return undefined;
    return SILENT_SHARE * 0.5 ** Math.floor(Math.max(0, nowUs - this.#sinceUs - BOLD_US) / 1e6);
  }
}
