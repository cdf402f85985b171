import { WireOutput } from "../codec/output.js";
import { NowcastError, WireError } from "../errors/nowcast-error.js";
import { DeltaBaseline } from "./baseline.js";
import { BitReader, BitWriter } from "./bits.js";
import { FastModels, FastSymbols } from "./fast-mode.js";
import { checkFrame, checkTick, type DeltaFrame } from "./frame.js";
import { baselinesOfFrames } from "./frames-alone.js";
import { codeIds } from "./ids.js";
import type { DeltaLayout } from "./layout.js";
import { DeltaPast, PAST_MAX } from "./past.js";
import { type DeltaPredictor, LinearPredictor } from "./predict.js";
import { RangeDecoder, RangeEncoder } from "./range-coder.js";
import { RowWalk } from "./rows.js";
import { SmallSymbols } from "./small-mode.js";
import { SmallModels } from "./small-models.js";
import type { Symbols } from "./symbols.js";

/** How much effort goes into size: masks and Rice codes, or contexts and a range coder, a sixth smaller and slower. */
export type DeltaMode = "fast" | "small";

export interface DeltaOptions {
  /** What `encode` writes; `decode` reads both. "fast" unless told otherwise. */
  readonly mode?: DeltaMode;
  /** How entities are expected to move; both ends must use the same. Linear motion unless told otherwise. */
  readonly predictor?: DeltaPredictor;
  /**
   * Most entities in a frame, 65,536 unless told otherwise. A range coder can name a million rows in a hundred bytes,
   * so this bounds time and memory.
   */
  readonly entitiesMax?: number;
}

export interface DeltaPacket {
  readonly bytes: Uint8Array;
  /** What the frame becomes once the receiver has acknowledged it. */
  readonly baseline: DeltaBaseline;
}

/** The small mode of this version; that of version 1 was without bit 3. */
const HEADER_SMALL = 0b1001;
const HEADER_DEPTH_SHIFT = 1;
const HEADER_DEPTH = 0b11;
const ENTITIES_MAX = 65_536;
const NO_IDS = new Uint32Array(0);
const NO_MEMORY = new Float64Array(0);

/**
 * Tells frames as differences from what the receiver has acknowledged, and reads them back (`spec/DELTA.md`).
 *
 * It holds no conversation: what is learnt belongs to the baselines, which the caller keeps. Whoever carries the bytes
 * names the tick of the frame and those of its baselines.
 *
 * ```ts
 * const layout = new DeltaLayout([{ kind: "number" }, { kind: "angle", bits: 16 }]);
 * const codec = new DeltaCodec(layout, { mode: "small" });
 * const first = { tick: 100, ids: Uint32Array.of(7), values: Int32Array.of(1500, 65000) };
 * const sent = codec.encode(first, []);
 * const got = codec.decode(100, sent.bytes, []);
 * // The receiver acknowledged frame 100, so the next one is told as what changed since.
 * const second = { tick: 101, ids: Uint32Array.of(7), values: Int32Array.of(1510, 65100) };
 * codec.decode(101, codec.encode(second, [sent.baseline]).bytes, [got]).frame; // second
 * ```
 */
export class DeltaCodec {
  readonly #mode: DeltaMode;
  readonly #predictor: DeltaPredictor;
  readonly #entitiesMax: number;

  constructor(
    readonly layout: DeltaLayout,
    { mode = "fast", predictor = new LinearPredictor(), entitiesMax = ENTITIES_MAX }: DeltaOptions = {},
  ) {
    this.#mode = mode;
    this.#predictor = predictor;
    this.#entitiesMax = Math.min(entitiesMax, predictor.entitiesMax ?? ENTITIES_MAX);
  }

  /** Writes a frame against up to three acknowledged baselines, newest first; further ones are not used. */
  encode(frame: DeltaFrame, past: readonly DeltaBaseline[]): DeltaPacket {
    checkFrame(frame, this.layout);
    const known = this.#known(past);
    const out = new WireOutput();
    out.u8((this.#mode === "small" ? HEADER_SMALL : 0) | (known.length << HEADER_DEPTH_SHIFT));
    let baseline: DeltaBaseline;
    if (this.#mode === "small") {
      const coder = new RangeEncoder(out);
      const models = smallModels(this.layout, known);
      baseline = this.#write(new SmallSymbols(coder, models, this.layout.width), models, frame, known);
      coder.finish();
    } else {
      const bits = new BitWriter(out);
      const models = fastModels(this.layout, known);
      baseline = this.#write(new FastSymbols(bits, models), models, frame, known);
      bits.finish();
    }
    return { bytes: out.take(), baseline };
  }

  /**
   * Reads the frame of `tick` from all of `bytes`, which were coded against `past`, and returns the baseline it becomes.
   * Throws a `WireError` if no encoder wrote these bytes against this past; bytes that were damaged on the way may also
   * be read as another frame, because to detect that is the carrier's task.
   */
  decode(tick: number, bytes: Uint8Array, past: readonly DeltaBaseline[]): DeltaBaseline {
    checkTick(tick);
    const known = this.#known(past);
    const header = bytes[0];
    if (header === undefined) throw new WireError("the message ends too early", 0, "header");
    const depth = (header >> HEADER_DEPTH_SHIFT) & HEADER_DEPTH;
    const mode = header - (depth << HEADER_DEPTH_SHIFT);
    if (mode !== 0 && mode !== HEADER_SMALL)
      throw new WireError(`header ${header} is not of this version of the format`, 0, "header");
    if (depth !== known.length)
      throw new WireError(`coded against ${depth} baselines, not ${known.length}`, 0, "header");
    if (mode === HEADER_SMALL) {
      const coder = new RangeDecoder(bytes, 1);
      const models = smallModels(this.layout, known);
      return this.#read(new SmallSymbols(coder, models, this.layout.width), models, tick, known, coder);
    }
    const bits = new BitReader(bytes, 1);
    const models = fastModels(this.layout, known);
    return this.#read(new FastSymbols(bits, models), models, tick, known, bits);
  }

  /**
   * As `encode`, for ends that keep frames and nothing else: the bytes depend on the frames alone, so that all receivers
   * that have the same frames can share them. It costs some bytes, because nothing is learnt from packet to packet.
   */
  encodeAgainstFrames(frame: DeltaFrame, past: readonly DeltaFrame[]): Uint8Array {
    return this.encode(frame, baselinesOfFrames(this.layout, past.slice(0, PAST_MAX))).bytes;
  }

  /** Reads what `encodeAgainstFrames` wrote; throws as `decode` does. */
  decodeAgainstFrames(tick: number, bytes: Uint8Array, past: readonly DeltaFrame[]): DeltaFrame {
    return this.decode(tick, bytes, baselinesOfFrames(this.layout, past.slice(0, PAST_MAX))).frame;
  }

  #known(past: readonly DeltaBaseline[]): readonly DeltaBaseline[] {
    const known = past.slice(0, PAST_MAX);
    if (known.every(({ layout }) => layout.equals(this.layout))) return known;
    throw new NowcastError("misuse", "a baseline of another layout");
  }

  #write(
    symbols: Symbols,
    models: FastModels | SmallModels,
    { tick, ids, values }: DeltaFrame,
    past: readonly DeltaBaseline[],
  ): DeltaBaseline {
    codeIds(symbols, ids, past[0]?.frame.ids ?? NO_IDS, this.#entitiesMax);
    const walk = this.#walk(symbols, tick, ids, past, values);
    walk.run();
    return this.#baseline(walk, { tick, ids: ids.slice(), values: walk.values }, models);
  }

  #read(
    symbols: Symbols,
    models: FastModels | SmallModels,
    tick: number,
    past: readonly DeltaBaseline[],
    end: { finish(): void },
  ): DeltaBaseline {
    const base = past[0]?.frame.ids ?? NO_IDS;
    const ids = named(
      () => "ids",
      () => codeIds(symbols, undefined, base, this.#entitiesMax),
    );
    const walk = this.#walk(symbols, tick, ids, past, undefined);
    named(
      () => `entity ${ids[walk.row]}.column ${walk.column}`,
      () => walk.run(),
    );
    end.finish();
    return this.#baseline(walk, { tick, ids, values: walk.values }, models);
  }

  #walk(
    symbols: Symbols,
    tick: number,
    ids: Uint32Array,
    past: readonly DeltaBaseline[],
    truth: Int32Array | undefined,
  ): RowWalk {
    const { layout } = this;
    const lined = new DeltaPast(tick, layout.width, ids, past);
    this.#predictor.start(layout, lined, past[0]?.memory ?? NO_MEMORY);
    return new RowWalk(symbols, this.#predictor, layout, lined, truth);
  }

  #baseline(walk: RowWalk, frame: DeltaFrame, models: FastModels | SmallModels): DeltaBaseline {
    const { changes, errors } = walk;
    return new DeltaBaseline(this.layout, frame, changes, errors, models, this.#predictor.memory());
  }
}

/** What the newest baseline taught, or what is assumed at first. */
function fastModels(layout: DeltaLayout, past: readonly DeltaBaseline[]): FastModels {
  const models = past[0]?.models;
  return models?.mode === "fast" ? models.copy() : FastModels.start(layout.width);
}

function smallModels(layout: DeltaLayout, past: readonly DeltaBaseline[]): SmallModels {
  const models = past[0]?.models;
  return models?.mode === "small" ? models.copy() : SmallModels.start(layout);
}

/** Adds to an error of the bytes the field at which reading was. */
function named<T>(field: () => string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof WireError) throw new WireError(error.detail, error.offset, field());
    throw error;
  }
}
