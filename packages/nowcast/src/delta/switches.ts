import type { RangeCoder } from "./range-coder.js";

/** The bounds of the probability. */
const PROBABILITY_MIN = 32;
const PROBABILITY_MAX = 65_504;
const SEEN_MAX = 120;

/** The initial node: a probability of one half, without observations. */
export const NODE_START = 32_768 << 7;

const RATE = Int32Array.from({ length: SEEN_MAX + 1 }, (_, seen) => Math.floor(65_536 / (2 * seen + 3)));

/**
 * Decisions with learnt probabilities (`spec/DELTA.md`, section 9.2).
 *
 * A node is the probability of a set bit in 65,536ths, times 128, plus the number of its uses, up to 120.
 */
export class Switches {
  constructor(
    readonly coder: RangeCoder,
    readonly nodes: Int32Array,
  ) {}

  /** Codes one bit with the node at `at`, and adapts the node. */
  decide(at: number, bit: number): number {
    const node = this.nodes[at]!;
    const set = node >> 7;
    const seen = node & 127;
    const coded = this.coder.bit(bit, set);
    const target = coded === 1 ? PROBABILITY_MAX : PROBABILITY_MIN;
    const next = set + (((target - set) * RATE[seen]!) >> 15);
    this.nodes[at] = (next << 7) | (seen < SEEN_MAX ? seen + 1 : seen);
    return coded;
  }
}
