import { Expectations } from "./expectations.js";
import type { DeltaLayout } from "./layout.js";
import { NODE_START } from "./switches.js";

/** Sizes on the scale of `sizeOf`. */
const SIZES = 24;
/** Contexts of a flag or a largest component, with two decisions each. */
const CHOICES = 32;
/** Into how many classes expected sizes of numbers fall, and how many decisions each has. */
export const CLASSES = 36;
const DECISIONS = 24;

/** The nodes of the changed bit: of resting rows, and of others. */
export const STILL = 0;
export const MOVING = 32;
const CHANGED_NODES = MOVING + 4 * SIZES;

/** All that the small mode learns, flat, so that a baseline is copied in a moment. */
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

/** The first of the two nodes of a flag or a largest component in a context. */
export function choiceNodes(column: number, context: number): number {
  return CHANGED_NODES + 2 * (CHOICES * column + context);
}

/** The first node of a group of numbers in a class. */
export function numberNodes(width: number, group: number, ofClass: number): number {
  return CHANGED_NODES + 2 * CHOICES * width + DECISIONS * (CLASSES * group + ofClass);
}
