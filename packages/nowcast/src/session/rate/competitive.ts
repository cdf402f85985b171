/**
 * Competitive mode, which is used beside other senders that fill the queue of the narrowest hop and
 * react only to loss.
 */
import type { QueueTest } from "./drain.js";
import type { Window } from "./window.js";

/** Share of the rate that is kept after a loss, as in CUBIC. */
export const COMPETITIVE_SHARE = 0.7;
/** Growth of the rate in each round: this many bytes per round trip, as in Reno, or a share per second. */
const COMPETITIVE_STEP_BYTES = 1_200;
const COMPETITIVE_GROWTH_PER_SECOND = 0.08;
/** Until the first loss, the rate grows by this share in each round. */
const COMPETITIVE_START = 0.5;
/**
 * A reliable carrier hides loss and competes by itself. So the rate stays far above the delivery
 * rate, and the carrier determines the speed.
 */
export const COMPETITIVE_HEADROOM = 2;
/**
 * While the sender's own queue drains, more bytes arrive than are sent. If other senders fill the queue, bytes arrive
 * only at the rate at which they are sent. This share separates the two.
 */
export const OTHERS_DELIVERED_MIN = 0.85;
export const OTHERS_DELIVERED_MAX = 1.1;
/** Time until the first trial. The time until each later trial is twice the previous one. */
export const COMPETITIVE_FIRST_US = 2_000_000;
const COMPETITIVE_LONGEST_US = 16_000_000;
/**
 * Competitive mode that begins within this time after it ended continues with its earlier state.
 */
export const COMPETITIVE_RESUMED_US = 10_000_000;
export const TRIAL_ROUNDS = 5;
/** Share of the rate that is sent during a trial. */
export const TRIAL_SHARE = 0.5;
/**
 * After this many rounds of a trial without a queue, no competitor is left. One such round is not
 * enough, because the queue of a competitor varies.
 */
export const TRIAL_EMPTY = 3;
/** If the queue was long earlier, no competitor is left after this many rounds without a queue. */
export const EMPTY_ROUNDS = 8;
/** A pause that found the sender's own queue is repeated after this time, because a rising capacity looks the same. */
const OWN_REPEATED_US = 1_000_000;
/** After this many consecutive pauses that found the sender's own queue, no competitor is left. */
const OWN_PAUSES = 2;

/** The growth of a rate on a carrier that competes by itself, after a round of `span` seconds. */
export function competitiveGrowth(isStarting: boolean, rate: number, span: number): number {
  const share = isStarting ? COMPETITIVE_START : COMPETITIVE_GROWTH_PER_SECOND * span;
  return Math.max(share * rate, COMPETITIVE_STEP_BYTES / span);
}

/** Other senders fill the queue of the narrowest hop, so the rate reacts to loss as theirs does. */
export class CompetitiveMode {
  /** When the next trial may begin. */
  untilUs: number;
  hasFallen = false;
  /** The present trial: the rate is low, to test whether the other senders are still active. */
  trial: Trial | undefined;
  /** Consecutive pauses that found the sender's own queue. */
  #own = 0;
  /**
   * Whether the queue has been long at some time since the last trial. If so, the next trial waits
   * until it is long again.
   */
  hadLongQueue = false;
  /** Consecutive rounds without a queue. */
  empty = 0;

  constructor(
    nowUs: number,
    public lastsUs: number,
    /**
     * Whether nothing was lost yet. If so, the rate grows as fast as on a link without competitors.
     */
    public isStarting: boolean,
    /** The congestion window; absent on a reliable carrier, which has a window itself. */
    readonly window: Window | undefined,
  ) {
    this.untilUs = nowUs + lastsUs;
  }

  /** Returns the window, unless the low rate of a trial determines the rate. */
  get decisiveWindow(): Window | undefined {
    return this.trial === undefined || this.trial.pausesUntilUs !== undefined ? this.window : undefined;
  }

  /** Whether packets leave at a share of the rate to test the queue. */
  pauses(nowUs: number): boolean {
    const untilUs = this.trial?.pausesUntilUs;
    return untilUs !== undefined && nowUs < untilUs;
  }

  get nextLastsUs(): number {
    return Math.min(2 * this.lastsUs, COMPETITIVE_LONGEST_US);
  }

  /**
   * Handles the end of a round after a pause has begun. Returns whether pauses have shown that no
   * competitor is left.
   */
  judgePause(nowUs: number, trial: Trial): boolean {
    if (trial.isOwn === undefined && trial.rounds < TRIAL_ROUNDS) {
      trial.rounds += 1;
      return false;
    }
    this.trial = undefined;
    if (trial.isOwn === true) {
      this.#own += 1;
      this.untilUs = nowUs + OWN_REPEATED_US;
      return this.#own === OWN_PAUSES;
    }
    this.#own = 0;
    this.lastsUs = this.nextLastsUs;
    this.untilUs = nowUs + this.lastsUs;
    return false;
  }
}

/** The state of competitive mode when it ended. */
export interface Ended {
  readonly atUs: number;
  readonly rate: number;
  readonly window: Window | undefined;
  /** The time until its next trial. */
  readonly lastsUs: number;
}

export interface Trial {
  /** The rate before the trial. */
  readonly rate: number;
  rounds: number;
  /** Consecutive trial rounds without a queue. */
  empty: number;
  /**
   * End of the pause. Until this time packets leave at a share of the rate, and the window still applies. If this is
   * `undefined`, the rate is lower until the trial ends.
   */
  readonly pausesUntilUs: number | undefined;
  readonly test: QueueTest;
  /** Whether the test showed that the queue is our own. */
  isOwn: boolean | undefined;
}
