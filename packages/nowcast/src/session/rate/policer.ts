/**
 * Finds the rate of a policer. A policer drops packets above a rate at once and delays none, so no queue shows its limit.
 *
 * If packets are lost without a queue for a while, either the path loses packets at random, or the sender exceeds the rate of a
 * policer. A test distinguishes the two: the sender sends somewhat less than the path delivered. Loss above the
 * rate of a policer then ends, and random loss stays. As in the long-term sampling of BBR, the limit that was found holds for
 * some seconds, and then the sender probes for more.
 */
import type { Round } from "./round.js";

/** Loss is judged in blocks of rounds, each with at least this number of bytes. Fewer bytes are too few packets. */
const BLOCK_BYTES = 8_000;
/** A block is lossy if its share of lost bytes exceeds the usual share by this value. */
const LOSSY = 0.15;
/** A test begins after this number of lossy blocks in a row, which last at least for this time. */
const SUSPECTED_BLOCKS = 6;
const SUSPECTED_US = 400_000;
/** If the delivery rate equals a known limit, this number of lossy blocks is sufficient. */
const CONFIRMED_BLOCKS = 3;
/** A test ends when this number of bytes would have been lost if the rate did not matter. */
const TEST_LOST_BYTES = 24_000;
/** The loss depends on the rate if the test leaves less than this share of it. */
const TEST_SHARE = 0.5;
/** Share of the delivery rate that is sent during a test, and while a limit holds. */
const ALLOWED_SHARE = 0.9;
/** A delivery rate that differs from a known limit by at most this share confirms the limit. */
const SAME_SHARE = 0.25;
/** Time for which a limit holds. Each confirmation doubles the time. */
const LIMIT_FIRST_US = 2_000_000;
const LIMIT_LONGEST_US = 16_000_000;
/** A limit that is not confirmed is forgotten this time after it ceased to hold. */
const LIMIT_KNOWN_US = 10_000_000;
/** The weight of a block in the usual loss. */
const USUAL_WEIGHT = 1 / 64;

/** The effect of a round on the rate. */
export type Verdict =
  /** The round says nothing about a policer; or the rate stays, because packets were lost or because a test goes on. */
  | { readonly kind: "none" | "stay" }
  /**
   * A test begins: the path delivered this number of bytes a second; or a policer limits the path to this number; or the loss
   * does not depend on the rate, which was this number before the test.
   */
  | { readonly kind: "test" | "limit" | "no limit"; readonly bytesPerSecond: number };

/** The bytes of consecutive rounds. */
class Tally {
  acknowledged = 0;
  lostBytes = 0;
  span = 0;

  add({ acknowledged, lostBytes, span }: Round | Tally): this {
    this.acknowledged += acknowledged;
    this.lostBytes += lostBytes;
    this.span += span;
    return this;
  }

  get bytes(): number {
    return this.acknowledged + this.lostBytes;
  }

  /** The share of lost bytes. */
  get loss(): number {
    return this.lostBytes / Math.max(1, this.bytes);
  }

  /** Bytes a second. */
  get delivered(): number {
    return this.acknowledged / this.span;
  }
}

interface Test {
  readonly rateBefore: number;
  readonly delivered: number;
  readonly loss: number;
  readonly tally: Tally;
}

interface Limit {
  readonly bytesPerSecond: number;
  readonly lastsUs: number;
  readonly untilUs: number;
}

/** The knowledge about a policer on the path. */
export class Policer {
  /** The share of lost bytes that does not depend on the rate. */
  #usualLoss = 0;
  #block = new Tally();
  /**
   * Lossy blocks in a row. The tally omits the first block, because the policer's bucket may have been full at its beginning.
   */
  #suspicion: { readonly sinceUs: number; blocks: number; readonly tally: Tally } | undefined;
  #test: Test | undefined;
  #limit: Limit | undefined;

  /** The highest rate that the known limit allows, in bytes a second. */
  allowed(nowUs: number): number {
    if (this.#limit === undefined || nowUs >= this.#limit.untilUs) return Number.POSITIVE_INFINITY;
    return ALLOWED_SHARE * this.#limit.bytesPerSecond;
  }

  /** Handles a round of a sender with this rate. A queue explains loss, so a round with a queue ends a suspicion or a test. */
  note(nowUs: number, round: Round, hasQueue: boolean, rate: number): Verdict {
    if (hasQueue) {
      this.#block = new Tally();
      this.#suspicion = undefined;
      this.#test = undefined;
      return { kind: "none" };
    }
    if (this.#test !== undefined) {
      // If the round follows the fall, all its packets left before the test.
      return round.followsFall ? { kind: "stay" } : this.#goOnTesting(nowUs, this.#test, round);
    }
    const block = this.#block.add(round);
    if (block.bytes < BLOCK_BYTES) return { kind: this.#suspicion === undefined ? "none" : "stay" };
    this.#block = new Tally();
    const { loss } = block;
    if (loss < this.#usualLoss) this.#usualLoss += USUAL_WEIGHT * (loss - this.#usualLoss);
    if (loss < this.#usualLoss + LOSSY) {
      this.#suspicion = undefined;
      return { kind: "none" };
    }
    if (this.#suspicion === undefined) {
      this.#suspicion = { sinceUs: nowUs, blocks: 1, tally: new Tally() };
      return { kind: "stay" };
    }
    const { sinceUs, tally } = this.#suspicion;
    this.#suspicion.blocks += 1;
    const { blocks } = this.#suspicion;
    const { delivered } = tally.add(block);
    const isSure = blocks >= SUSPECTED_BLOCKS && nowUs - sinceUs >= SUSPECTED_US;
    const isKnown = blocks >= CONFIRMED_BLOCKS && this.#confirms(nowUs, delivered);
    if (!isSure && !isKnown) return { kind: "stay" };
    this.#suspicion = undefined;
    this.#test = { rateBefore: rate, delivered, loss: tally.loss, tally: new Tally() };
    return { kind: "test", bytesPerSecond: delivered };
  }

  #goOnTesting(nowUs: number, { rateBefore, delivered, loss, tally }: Test, round: Round): Verdict {
    if (loss * tally.add(round).bytes < TEST_LOST_BYTES) return { kind: "stay" };
    this.#test = undefined;
    this.#usualLoss = tally.loss;
    if (tally.loss > TEST_SHARE * loss) return { kind: "no limit", bytesPerSecond: rateBefore };
    const known = this.#confirms(nowUs, delivered) ? this.#limit : undefined;
    const lastsUs = known === undefined ? LIMIT_FIRST_US : Math.min(2 * known.lastsUs, LIMIT_LONGEST_US);
    this.#limit = { bytesPerSecond: delivered, lastsUs, untilUs: nowUs + lastsUs };
    return { kind: "limit", bytesPerSecond: delivered };
  }

  /** Whether a delivery rate equals a known limit. */
  #confirms(nowUs: number, delivered: number): boolean {
    if (this.#limit === undefined) return false;
    const { bytesPerSecond, untilUs } = this.#limit;
    const difference = Math.abs(delivered - bytesPerSecond);
    return nowUs < untilUs + LIMIT_KNOWN_US && difference <= SAME_SHARE * bytesPerSecond;
  }
}
