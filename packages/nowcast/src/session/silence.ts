/**
 * Packets are outstanding without an acknowledgement: when to probe, and how much to send in the meantime (section 10).
 */
import type { RoundTrip } from "./rtt.js";

const PROBE_TIMEOUT_US_MAX = 2_000_000;
/**
 * A silent peer is sent new values at this multiple of its earlier rate, so that one turn of all values is complete
 * before the next one. There are no more of them than before.
 */
const SILENT_SHARE = 1.5;
/** For this time the amount stays; then it decreases. */
const BOLD_US = 3_000_000;

export class Silence {
  /** Since when packets are outstanding without any acknowledgement. */
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

  /** How long answers had been awaited when a packet arrived, if none arrived since `lastHeardUs`. */
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

  /** When outstanding packets begin to mean that the peer is silent. */
  beginsAtUs(rtt: RoundTrip): number | undefined {
    return this.#sinceUs === undefined ? undefined : this.#sinceUs + 2 * rtt.probeTimeoutUs;
  }

  /** The share of the rate to use while the peer is silent; `undefined` if it is not. */
  share(nowUs: number, rtt: RoundTrip): number | undefined {
    if (this.#sinceUs === undefined || nowUs < this.beginsAtUs(rtt)!) return undefined;
    return SILENT_SHARE * 0.5 ** Math.floor(Math.max(0, nowUs - this.#sinceUs - BOLD_US) / 1e6);
  }
}
