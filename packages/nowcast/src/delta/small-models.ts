import { Expectations } from "./expectations.js";
import type { DeltaLayout } from "./layout.js";
import { NODE_START } from "./switches.js";

/** Number of sizes on the scale of `sizeOf`. */
const SIZES = 24;
/** Number of contexts of a flag or a largest component. Each context has two decisions. */
const CHOICES = 32;
/** Number of classes of expected sizes, and number of decisions of each class. */
export const CLASSES = 36;
const DECISIONS = 24;

/** The nodes of the changed bit: first for resting rows, then for all other rows. */
export const STILL = 0;
export const MOVING = 32;
const CHANGED_NODES = MOVING + 4 * SIZES;

/** All learnt state of the small mode, in flat arrays, so that a baseline is copied quickly. */
export class SmallModels {
  readonly mode = "small";

  private constructor(
    readonly nodes: Int32Array,
    readonly expectations: Float64Array,
  ) {}

  static start({ width, groups }: DeltaLayout): SmallModels {
    const nodes = new Int32Array(CHANGED_NODES + 2 * CHOICES * width + CLASSES * DECISIONS * groups);
    return new SmallModels(nodes.fill(NODE_START), Expectations.start(width));
  }

  copy(): SmallModels {
    return new SmallModels(this.nodes.slice(), this.expectations.slice());
  }
}

/** The index of the first of the two nodes of a flag or a largest component in a context. */
export function choiceNodes(column: number, context: number): number {
  return CHANGED_NODES + 2 * (CHOICES * column + context);
}

/** The index of the first node of a group of columns in a class. */
export function numberNodes(width: number, group: number, ofClass: number): number {
  return CHANGED_NODES + 2 * CHOICES * width + DECISIONS * (CLASSES * group + ofClass);
}
