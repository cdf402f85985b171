/** The time for which a carrier may be silent before the client opens another one (`spec/CARRIERS.md`, section 6). */

/**
 * A carrier counts as silent after this many probe time-outs, but not before an answer could have arrived. The next two
 * values bound this time.
 */
const PROBE_TIMEOUTS = 3;
const SILENT_US_MIN = 250_000;
const SILENT_US_MAX = 400_000;
const SHORTEST_ROUND_TRIPS = 1.5;
/** Time for an answer to the HELLO of a new carrier. */
const UNANSWERED_US = 1_000_000;
/** Maximum number of times that the limit doubles. */
const DOUBLINGS_MAX = 3;
/** After each period of this length without a silence, the limit halves once. */
const DOUBLING_US = 10_000_000;

/** The part of a session that a client judges its carrier by. */
export interface Watched {
  readonly isOpen: boolean;
  readonly probeTimeoutUs: number;
  readonly shortestRoundTripUs: number;
  silentForUs(nowUs: number): number;
}

/**
 * The patience of one client. Each unanswered handshake doubles the patience for a while. Otherwise an overloaded endpoint that
 * answers late would get another handshake from each client every 400 ms.
 */
export class Patience {
  #doublings = 0;
  /** The time of the newest silence. */
  #sinceUs = 0;

  /** Records that the carrier was silent for too long. */
  noteSilence(nowUs: number): void {
    this.#doublings = Math.min(this.#doublingsAt(nowUs) + 1, DOUBLINGS_MAX);
    this.#sinceUs = nowUs;
  }

  /** Whether the carrier of the session counts as silent. */
  isOver(session: Watched, nowUs: number): boolean {
    const { probeTimeoutUs, shortestRoundTripUs } = session;
    const overdueUs = Math.min(Math.max(PROBE_TIMEOUTS * probeTimeoutUs, SILENT_US_MIN), SILENT_US_MAX);
    const patienceUs = (session.isOpen ? overdueUs : UNANSWERED_US) * 2 ** this.#doublingsAt(nowUs);
    return session.silentForUs(nowUs) >= Math.max(patienceUs, SHORTEST_ROUND_TRIPS * shortestRoundTripUs);
  }

  #doublingsAt(nowUs: number): number {
    return Math.max(0, this.#doublings - Math.floor((nowUs - this.#sinceUs) / DOUBLING_US));
  }
}
