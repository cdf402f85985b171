import type { FastModels } from "./fast-mode.js";
import type { DeltaFrame } from "./frame.js";
import type { DeltaLayout } from "./layout.js";
import type { SmallModels } from "./small-models.js";

/**
 * A frame together with everything that was learnt up to it.
 *
 * The sender keeps one for each frame it sent, until the receiver has acknowledged a later one; the receiver keeps those
 * that the sender may still refer to. Because the models are part of it, a lost packet cannot make the two ends
 * disagree: what a lost packet taught is never used. It never changes, so it may be shared.
 */
export class DeltaBaseline {
  constructor(
    readonly layout: DeltaLayout,
    readonly frame: DeltaFrame,
    /** For every row, whether it changed in this frame (lowest bit), in the baseline of it, and so on. */
    readonly changes: Uint8Array,
    /** For every value, how far off its guess has lately been, in sixteenths of a step. */
    readonly errors: Uint16Array,
    /** The models that the mode has learnt; without them it starts anew. */
    readonly models: FastModels | SmallModels | undefined,
    /** The predictor's state. */
    readonly memory: Float64Array,
  ) {}
}
