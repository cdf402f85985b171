/**
 * Moves a session between carriers (`spec/CARRIERS.md`, section 6). If a carrier is dead or silent, the session moves
 * to another one, and later returns to the better carrier. Attempts continue until the session itself ends.
 */
import type { CarrierKind, OpenCarrier, OpenCarrierKind } from "../carrier/carrier.js";
import { clockUs, type Driver } from "../carrier/driver.js";
import { LivenessProbe } from "./liveness-probe.js";
import { Patience } from "./patience.js";
import { openFirst } from "./race.js";

const LOOK_MS = 50;
const RETRY_MS_FIRST = 100;
const RETRY_MS_MAX = 2_000;
/**
 * During the first of these times, the wait between two attempts stays below the second, because a restarted server is
 * usually back within a few seconds.
 */
const SOON_US = 10_000_000;
const RETRY_MS_SOON_MAX = 400;
/**
 * Packets to a machine without a listener may get no answer. So an attempt that takes longer than
 * this is started again.
 */
const TRY_MS_FIRST = 1_500;
const TRY_MS_MAX = 10_000;
const RETURN_MS_FIRST = 2_000;
const RETURN_MS_MAX = 60_000;

/** The carriers that the endpoint offers at present, the best first. */
export interface Offers {
  readonly kinds: readonly CarrierKind[];
  readonly open: OpenCarrierKind;
  /**
   * Requests the endpoint's record again, because certificates and ports change. If there is no
   * answer, the old record stays valid. Returns whether another endpoint has the service now.
   */
  refresh(signal: AbortSignal): Promise<boolean>;
}

interface Attempt {
  readonly abort: AbortController;
  readonly goal: "fall back" | "come back";
  readonly beganUs: number;
}

export class CarrierMigrator {
  readonly #driver: Driver;
  readonly #offers: Offers;
  readonly #probe = new LivenessProbe();
  readonly #patience = new Patience();
  #packetsSeen = 0;
  #timer: ReturnType<typeof setInterval>;
  #attempt: Attempt | undefined;
  #retryMs = RETRY_MS_FIRST;
  #retryAtUs = 0;
  #tryMs = TRY_MS_FIRST;
  /** The time at which the present carrier was found silent. Cleared when a packet arrives on it. */
  #silentSinceUs: number | undefined;
  #fallingSinceUs: number | undefined;
  #returnMs = RETURN_MS_FIRST;
  #returnAtUs: number;

  constructor(driver: Driver, offers: Offers) {
    this.#driver = driver;
    this.#offers = offers;
    this.#returnAtUs = clockUs() + RETURN_MS_FIRST * 1_000;
    this.#timer = setInterval(() => this.look(), LOOK_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#attempt?.abort.abort();
    this.#attempt = undefined;
  }

  /** Checks whether an action is due. Called when a carrier ended, and at intervals. */
  look(): void {
    const { session, carrierKind } = this.#driver;
    if (session.isClosed) return this.stop();
    const nowUs = clockUs();
    this.#listen(nowUs);
    const isDead = carrierKind === undefined || session.isDetached;
    if (isDead || this.#isSilent(nowUs)) this.#fallBack(nowUs);
    else if (this.#attempt?.goal === "fall back" && session.lastHeardUs > this.#attempt.beganUs) {
      // A packet arrived on the old carrier before a new one was ready.
      this.#giveUpAttempt();
    } else if (session.isOpen) this.#comeBack(nowUs);
  }

  #listen(nowUs: number): void {
    const { session } = this.#driver;
    const { packetsReceived } = session.stats;
    const canFall = this.#driver.carrierKind === "webtransport" && this.#offers.kinds.length > 1;
    const before = this.#packetsSeen;
    const asks = this.#probe.look(nowUs, session.lastHeardUs, packetsReceived - before, canFall);
    this.#packetsSeen = packetsReceived;
    if (!asks || !session.isOpen) return;
    session.ping();
    this.#driver.wake();
  }

  /** Once found silent, a carrier counts as silent until a packet arrives on it or another carrier replaces it. */
  #isSilent(nowUs: number): boolean {
    const { session } = this.#driver;
    if (this.#silentSinceUs !== undefined && session.lastHeardUs <= this.#silentSinceUs) return true;
    this.#silentSinceUs = undefined;
    if (!this.#patience.isOver(session, nowUs)) return false;
    this.#patience.noteSilence(nowUs);
    this.#silentSinceUs = nowUs;
    return true;
  }

  #fallBack(nowUs: number): void {
    if (this.#attempt?.goal === "fall back" || nowUs < this.#retryAtUs) return;
    this.#giveUpAttempt();
    this.#fallingSinceUs ??= nowUs;
    const { kinds } = this.#offers;
    const { carrierKind } = this.#driver;
    // A silent carrier is tried again after the others.
    const others = kinds.filter((kind) => kind !== carrierKind);
    const order =
      carrierKind === undefined ? kinds : [...others, ...kinds.filter((kind) => kind === carrierKind)];
    void this.#try(order, { abort: new AbortController(), goal: "fall back", beganUs: nowUs });
  }

  #comeBack(nowUs: number): void {
    this.#retryMs = RETRY_MS_FIRST;
    this.#retryAtUs = 0;
    this.#tryMs = TRY_MS_FIRST;
    this.#fallingSinceUs = undefined;
    const [best] = this.#offers.kinds;
    if (best === undefined || this.#driver.carrierKind === best) {
      this.#returnMs = RETURN_MS_FIRST;
      this.#returnAtUs = nowUs + RETURN_MS_FIRST * 1_000;
      return;
    }
    if (this.#attempt !== undefined || nowUs < this.#returnAtUs) return;
    void this.#try([best], { abort: new AbortController(), goal: "come back", beganUs: nowUs });
  }

  async #try(kinds: readonly CarrierKind[], attempt: Attempt): Promise<void> {
    this.#attempt = attempt;
    let { signal } = attempt.abort;
    try {
      if (attempt.goal === "come back") await this.#offers.refresh(signal);
      else signal = AbortSignal.any([signal, AbortSignal.timeout(this.#tryMs)]);
      this.#won(attempt, await openFirst(kinds, this.#offers.open, signal));
    } catch {
      this.#failed(attempt);
    }
  }

  #won(attempt: Attempt, carrier: OpenCarrier): void {
    const { session, carrierKind } = this.#driver;
    const wasHeard = carrierKind !== undefined && session.lastHeardUs > attempt.beganUs;
    const isWanted = attempt.goal === "come back" || !wasHeard;
    if (attempt !== this.#attempt || session.isClosed || !isWanted) {
      carrier.close(1000, "it is no longer needed");
      if (attempt === this.#attempt) this.#attempt = undefined;
      return;
    }
    this.#attempt = undefined;
    this.#silentSinceUs = undefined;
    // An endpoint may accept carriers and end each of them at once.
    if (attempt.goal === "fall back") this.#pause(clockUs());
    this.#driver.resume(carrier, "initiator");
  }

  #failed(attempt: Attempt): void {
    if (attempt !== this.#attempt) return;
    this.#attempt = undefined;
    const nowUs = clockUs();
    if (attempt.goal === "come back") {
      this.#returnMs = Math.min(2 * this.#returnMs, RETURN_MS_MAX);
      this.#returnAtUs = nowUs + this.#returnMs * 1_000;
      return;
    }
    this.#pause(nowUs);
    this.#tryMs = Math.min(2 * this.#tryMs, TRY_MS_MAX);
    // The endpoint may have been restarted with other certificates or another port.
    const soon = AbortSignal.timeout(RETRY_MS_MAX);
    void this.#offers.refresh(soon).then(
      (hasMoved) => {
        if (hasMoved) this.#tryAtOnce();
      },
      () => {},
    );
  }

  /** Sets the earliest time of the next attempt to fall back. */
  #pause(nowUs: number): void {
    // The wait is shortened by a random part of up to half, so that the clients of a server that
    // ended do not return all at once.
    this.#retryAtUs = nowUs + this.#retryMs * (1 - Math.random() / 2) * 1_000;
    const isSoon = nowUs - (this.#fallingSinceUs ?? nowUs) < SOON_US;
    this.#retryMs = Math.min(2 * this.#retryMs, isSoon ? RETRY_MS_SOON_MAX : RETRY_MS_MAX);
  }

  /** Tries the carriers of another endpoint without a pause: the pauses spare an endpoint that does not answer. */
  #tryAtOnce(): void {
    if (this.#attempt?.goal === "fall back") this.#giveUpAttempt();
    this.#retryAtUs = 0;
    this.#tryMs = TRY_MS_FIRST;
    this.look();
  }

  #giveUpAttempt(): void {
    const attempt = this.#attempt;
    this.#attempt = undefined;
    attempt?.abort.abort();
  }
}
