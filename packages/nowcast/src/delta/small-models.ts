import type { DeltaLayout } from "./layout.js";

/** Sizes on the scale of `sizeOf`. */
export const SIZES = 24;
const DOUBTS = 32;
const SITUATIONS_ROW = 32;

/** How many decisions a number is made of; each context has a node for each. */
export const DECISIONS = 40;

/** Where the nodes of the changed bit are: one table for each of its contexts. */
export const CHANGED = {
  still: 0,
  changes: 32,
  speed: 64,
  near: 64 + SIZES * 4,
  doubt: 64 + SIZES * 4 + 128,
} as const;
const CHANGED_NODES = CHANGED.doubt + SIZES * 2;

/** Where the nodes of a flag or a largest component are, from the first of its column; two decisions for each. */
export const CHOICE = {
  changes: 0,
  doubt: 2 * SITUATIONS_ROW,
  error: 2 * (SITUATIONS_ROW + DOUBTS),
  speed: 2 * (SITUATIONS_ROW + DOUBTS + SIZES),
} as const;
const CHOICE_NODES = CHOICE.speed + 2 * SIZES;

/** Where the nodes of a number are, from the first of its group; 40 decisions for each. */
export const NUMBER = {
  error: 0,
  rowError: DECISIONS * SIZES,
  doubt: DECISIONS * SIZES * 4,
  moved: DECISIONS * SIZES * 5,
} as const;
const NUMBER_NODES = DECISIONS * SIZES * 6;

/** A probability of one half, seen 0 times. */
const NODE_START = 32_768 << 7;
const WEIGHT_START = 18_000;
export const MIXED = 4;

/**
 * All that the small mode learns, flat in two arrays, so that a baseline is copied in a moment.
 *
 * A node is the probability of a set bit in 65,536ths, times 128, plus how often it was asked, up to 120.
 */
export class SmallModels {
  readonly mode = "small";

  private constructor(
    readonly nodes: Int32Array,
    readonly weights: Int32Array,
  ) {}

  static start({ width, groups }: DeltaLayout): SmallModels {
    const nodes = new Int32Array(CHANGED_NODES + width * CHOICE_NODES + groups * NUMBER_NODES);
    const weights = new Int32Array(MIXED * (1 + width + groups * DECISIONS));
    return new SmallModels(nodes.fill(NODE_START), weights.fill(WEIGHT_START));
  }

  copy(): SmallModels {
    return new SmallModels(this.nodes.slice(), this.weights.slice());
  }
}

/** The first node of a column that holds a flag or a largest component. */
export function choiceNodes(column: number): number {
  return CHANGED_NODES + column * CHOICE_NODES;
}

/** Its only set of weights. */
export function choiceWeights(column: number): number {
  return MIXED * (1 + column);
}

/** The first node of a group of numbers. */
export function numberNodes(width: number, group: number): number {
  return CHANGED_NODES + width * CHOICE_NODES + group * NUMBER_NODES;
}

/** The first of its sets of weights. */
export function numberWeights(width: number, group: number): number {
  return MIXED * (1 + width + group * DECISIONS);
}
