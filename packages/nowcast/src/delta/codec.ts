import { WireOutput } from "../codec/output.js";
import type { DeltaBaseline } from "./baseline.js";
import { BitReader, BitWriter } from "./bits.js";
import {
  DeltaCoding,
  ENTITIES_MAX,
  fastModels,
  HEADER_FAST,
  HEADER_SMALL,
  headerOf,
  readMode,
  writeFrame,
} from "./coding.js";
import { FastSymbols } from "./fast-mode.js";
import { checkFrame, checkTick, type DeltaFrame } from "./frame.js";
import { baselinesOfFrames } from "./frames-alone.js";
import type { DeltaLayout } from "./layout.js";
import { PAST_MAX } from "./past.js";
import { type DeltaPredictor, LinearPredictor } from "./predict.js";
import { RangeDecoder, RangeEncoder } from "./range-coder.js";
import { SmallSymbols } from "./small-mode.js";
import { SmallModels } from "./small-models.js";

/**
 * The mode of coding. "fast" uses masks and Rice codes. "small" uses contexts and a range coder;
 * its output is a sixth smaller, but it is slower.
 */
export type DeltaMode = "fast" | "small";

export interface DeltaOptions {
  /** The mode that `encode` writes; `decode` reads both. "fast" by default. */
  readonly mode?: DeltaMode;
  /**
   * The predictor of the motion of entities. Both ends must use the same predictor. The default is
   * linear motion.
   */
  readonly predictor?: DeltaPredictor;
  /**
   * Maximum entities in a frame, 65,536 by default. A range coder can encode a million rows in a hundred bytes, so this
   * limits time and memory.
   */
  readonly entitiesMax?: number;
}

export interface DeltaPacket {
  readonly bytes: Uint8Array;
  /** The baseline for later frames, once the receiver has acknowledged this frame. */
  readonly baseline: DeltaBaseline;
}

/**
 * Encodes frames as differences from acknowledged frames, and decodes them (`spec/DELTA.md`).
 *
 * The codec keeps no state between frames: learnt models belong to the baselines, which the caller keeps. The transport
 * carries the ticks of the frame and of its baselines.
 *
 * ```ts
 * const layout = new DeltaLayout([{ kind: "number" }, { kind: "angle", bits: 16 }]);
 * const codec = new DeltaCodec(layout, { mode: "small" });
 * const first = { tick: 100, ids: Uint32Array.of(7), values: Int32Array.of(1500, 65000) };
 * const sent = codec.encode(first, []);
 * const got = codec.decode(100, sent.bytes, []);
 * // The receiver acknowledged frame 100, so the next one is encoded against it.
 * const second = { tick: 101, ids: Uint32Array.of(7), values: Int32Array.of(1510, 65100) };
 * codec.decode(101, codec.encode(second, [sent.baseline]).bytes, [got]).frame; // second
 * ```
 */
export class DeltaCodec {
  readonly #mode: DeltaMode;
  readonly #coding: DeltaCoding;

  constructor(
    readonly layout: DeltaLayout,
    { mode = "fast", predictor = new LinearPredictor(), entitiesMax = ENTITIES_MAX }: DeltaOptions = {},
  ) {
    this.#mode = mode;
    const entitiesAtMost = Math.min(entitiesMax, predictor.entitiesMax ?? ENTITIES_MAX);
    this.#coding = new DeltaCoding(layout, predictor, entitiesAtMost);
  }

  /**
   * Encodes a frame against up to three acknowledged baselines, newest first. Further baselines are
   * not used.
   */
  encode(frame: DeltaFrame, past: readonly DeltaBaseline[]): DeltaPacket {
    checkFrame(frame, this.layout);
    const known = this.#coding.known(past);
    const out = new WireOutput();
    out.u8(headerOf(this.#mode === "small" ? HEADER_SMALL : HEADER_FAST, known));
    let baseline: DeltaBaseline;
    if (this.#mode === "small") {
      const coder = new RangeEncoder(out);
      const models = smallModels(this.layout, known);
      baseline = writeFrame(
        this.#coding,
        new SmallSymbols(coder, models, this.layout.width),
        models,
        frame,
        known,
      );
      coder.finish();
    } else {
      const bits = new BitWriter(out);
      const models = fastModels(this.layout, known);
      baseline = writeFrame(this.#coding, new FastSymbols(bits, models), models, frame, known);
      bits.finish();
    }
    return { bytes: out.take(), baseline };
  }

  /**
   * Decodes the frame of `tick` from all of `bytes`, which were encoded against `past`, and returns the resulting
   * baseline. Throws a `WireError` if no encoder can have written these bytes against this past. Damaged bytes may
   * decode to another frame without an error, because detecting damage is the carrier's task.
   */
  decode(tick: number, bytes: Uint8Array, past: readonly DeltaBaseline[]): DeltaBaseline {
    checkTick(tick);
    const known = this.#coding.known(past);
    const mode = readMode(bytes, known);
    if (mode === HEADER_SMALL) {
      const coder = new RangeDecoder(bytes, 1);
      const models = smallModels(this.layout, known);
      return this.#coding.read(
        new SmallSymbols(coder, models, this.layout.width),
        models,
        tick,
        known,
        coder,
      );
    }
    const bits = new BitReader(bytes, 1);
    const models = fastModels(this.layout, known);
    return this.#coding.read(new FastSymbols(bits, models), models, tick, known, bits);
  }

  /**
   * Encodes a frame for receivers that keep only frames. The bytes depend only on the frames, so
   * all receivers with the same frames can share them. The result is somewhat larger than that of
   * `encode`, because no models are learnt from packet to packet.
   */
  encodeAgainstFrames(frame: DeltaFrame, past: readonly DeltaFrame[]): Uint8Array {
    return this.encode(frame, baselinesOfFrames(this.layout, past.slice(0, PAST_MAX))).bytes;
  }

  /** Decodes the output of `encodeAgainstFrames`. Throws as `decode` does. */
  decodeAgainstFrames(tick: number, bytes: Uint8Array, past: readonly DeltaFrame[]): DeltaFrame {
    return this.decode(tick, bytes, baselinesOfFrames(this.layout, past.slice(0, PAST_MAX))).frame;
  }
}

function smallModels(layout: DeltaLayout, past: readonly DeltaBaseline[]): SmallModels {
  const models = past[0]?.models;
  return models?.mode === "small" ? models.copy() : SmallModels.start(layout);
}
