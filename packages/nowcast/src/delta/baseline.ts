import type { FastModels } from "./fast-mode.js";
import type { DeltaFrame } from "./frame.js";
import type { DeltaLayout } from "./layout.js";
import type { SmallModels } from "./small-models.js";

/**
 * A frame together with the state of the models after it.
 *
 * The sender keeps a baseline for each sent frame until the receiver has acknowledged a later
 * frame. The receiver keeps the baselines to which the sender may still refer. The models are part of the
 * baseline. Models that a lost packet updated are never used, so a lost packet cannot make the two ends
 * disagree. A baseline is immutable, so it may be shared.
 */
export class DeltaBaseline {
  constructor(
    readonly layout: DeltaLayout,
    readonly frame: DeltaFrame,
    /**
     * For every row, one bit per frame: the lowest says whether the row changed in this frame, the next whether it
     * changed in the frame's baseline, and so on.
     */
    readonly changes: Uint8Array,
    /** For every value, the recent error of its guess, in sixteenths of a step. */
    readonly errors: Uint16Array,
    /** The learnt models of the mode. Without them, the mode starts from the initial state. */
    readonly models: FastModels | SmallModels | undefined,
    /** The predictor's state. */
    readonly memory: Float64Array,
  ) {}
}
