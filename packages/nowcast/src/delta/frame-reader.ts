import { WireError } from "../errors/nowcast-error.js";
import { BitReader } from "./bits.js";
import { DeltaCoding, fastModels, HEADER_FAST, readMode } from "./coding.js";
import { FastSymbols } from "./fast-mode.js";
import { checkTick, type DeltaFrame } from "./frame.js";
import { baselinesOfFrames } from "./frames-alone.js";
import type { DeltaLayout } from "./layout.js";
import { PAST_MAX } from "./past.js";
import { LinearPredictor } from "./predict.js";

/**
 * Decodes only the output of {@link DeltaCodec.encodeAgainstFrames} in the fast mode with linear
 * prediction, the form that worlds send. Pages therefore need not load the small mode and the
 * writers.
 */
export class FrameReader {
  readonly #coding: DeltaCoding;

  constructor(
    readonly layout: DeltaLayout,
    entitiesMax: number,
  ) {
    this.#coding = new DeltaCoding(layout, new LinearPredictor(), entitiesMax);
  }

  /**
   * Decodes the frame of `tick`, which was encoded against `past`, newest first. Throws a
   * `WireError` as {@link DeltaCodec.decode} does.
   */
  read(tick: number, bytes: Uint8Array, past: readonly DeltaFrame[]): DeltaFrame {
    checkTick(tick);
    const known = this.#coding.known(baselinesOfFrames(this.layout, past.slice(0, PAST_MAX)));
    if (readMode(bytes, known) !== HEADER_FAST) throw new WireError("not of the fast mode", 0, "header");
    const bits = new BitReader(bytes, 1);
    const models = fastModels(this.layout, known);
    return this.#coding.read(new FastSymbols(bits, models), models, tick, known, bits).frame;
  }
}
