/** Packets are outstanding and nothing is acknowledged: when to probe, and how boldly to go on (section 10). */
import type { RoundTrip } from "./rtt.js";

const PROBE_TIMEOUT_US_MAX = 2_000_000;
/**
 * A silent peer is sent new values at this share of what it took before, so that a turn of all of them is through before the
 * next one; there are no more of them than before.
 */
const SILENT_SHARE = 1.5;
/** For this time it is sent as many as before; then ever fewer. */
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

  /** For how long answers had been awaited when the peer was heard, if it was not heard since `lastHeardUs`. */
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

  /** How much of the rate to use while the peer is silent; nothing if it is not. */
  share(nowUs: number, rtt: RoundTrip): number | undefined {
    if (this.#sinceUs === undefined || nowUs < this.beginsAtUs(rtt)!) return undefined;
    return SILENT_SHARE * 0.5 ** Math.floor(Math.max(0, nowUs - this.#sinceUs - BOLD_US) / 1e6);
  }
}
