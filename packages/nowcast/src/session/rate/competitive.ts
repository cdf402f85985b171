/**
 * Competitive mode: used in competition with other senders that fill the queue of the narrowest hop and react only to
 * loss.
 */
import type { QueueTest } from "./drain.js";

/** Share of the rate that is kept after a loss, as in CUBIC. */
export const COMPETITIVE_SHARE = 0.7;
/** Growth of the rate in each round: this many bytes per round trip, as in Reno, or a share per second. */
export const COMPETITIVE_STEP_BYTES = 1_200;
export const COMPETITIVE_GROWTH_PER_SECOND = 0.08;
/** Until the first loss it grows by this share in each round. */
export const COMPETITIVE_START = 0.5;
/**
 * A reliable carrier hides loss and competes by itself, so the rate stays far enough above the delivery rate that the
 * carrier decides.
 */
export const COMPETITIVE_HEADROOM = 2;
/**
 * While the sender's own queue drains, more arrives than is sent. If others fill the queue, as much arrives as is sent.
 */
export const OTHERS_DELIVERED_MIN = 0.85;
export const OTHERS_DELIVERED_MAX = 1.1;
/** Time until the first trial. Each later one comes after twice the previous time. */
export const COMPETITIVE_FIRST_US = 2_000_000;
export const COMPETITIVE_LONGEST_US = 16_000_000;
/** A competitive mode that begins within this time after another one continues it. */
export const COMPETITIVE_RESUMED_US = 10_000_000;
export const TRIAL_ROUNDS = 5;
/** Share of the rate that is sent during a trial. */
export const TRIAL_SHARE = 0.5;
/** After this many rounds of a trial without a queue no competitor is left, because the queue of a competitor comes and goes. */
export const TRIAL_EMPTY = 3;

/** Others fill the queue of the narrowest hop, so the rate reacts to loss as theirs does. */
export class CompetitiveMode {
  readonly untilUs: number;
  hasFallen = false;
  /** The rate is low, to test whether the others are still there. */
  trial: Trial | undefined;

  constructor(
    nowUs: number,
    readonly lastsUs: number,
    /** Nothing was lost yet: the rate grows as fast as on a link of its own. */
    public isStarting: boolean,
  ) {
    this.untilUs = nowUs + lastsUs;
  }
}

/** A competitive mode that seemed to be over. */
export interface Ended {
  readonly atUs: number;
  readonly rate: number;
  /** The time until its next trial. */
  readonly lastsUs: number;
}

export interface Trial {
  /** The rate before the trial. */
  readonly rate: number;
  rounds: number;
  /** Rounds in a row without a queue. */
  empty: number;
  readonly test: QueueTest;
  /** Whether the test showed that the queue is our own. */
  isOwn: boolean | undefined;
}
