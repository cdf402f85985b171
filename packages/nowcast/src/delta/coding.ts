import { NowcastError, WireError } from "../errors/nowcast-error.js";
import { DeltaBaseline } from "./baseline.js";
import { FastModels } from "./fast-mode.js";
import type { DeltaFrame } from "./frame.js";
import { codeIds } from "./ids.js";
import type { DeltaLayout } from "./layout.js";
import { DeltaPast, PAST_MAX } from "./past.js";
import type { DeltaPredictor } from "./predict.js";
import { RowWalk } from "./rows.js";
import type { SmallModels } from "./small-models.js";
import type { Symbols } from "./symbols.js";

export const HEADER_FAST = 0;
/** The header bits of the small mode. In version 1, bit 3 was not set. */
export const HEADER_SMALL = 0b1001;
export const ENTITIES_MAX = 65_536;
const HEADER_DEPTH_SHIFT = 1;
const HEADER_DEPTH = 0b11;
const NO_IDS = new Uint32Array(0);
const NO_MEMORY = new Float64Array(0);

/** The shared part of both modes: the header, the ids and the iteration over the rows. */
export class DeltaCoding {
  constructor(
    readonly layout: DeltaLayout,
    readonly predictor: DeltaPredictor,
    readonly entitiesMax: number,
  ) {}

  /** The baselines that are used: at most three, all of this layout. */
  known(past: readonly DeltaBaseline[]): readonly DeltaBaseline[] {
    const known = past.slice(0, PAST_MAX);
    if (known.every(({ layout }) => layout.equals(this.layout))) return known;
    throw new NowcastError("misuse", "a baseline of another layout");
  }

  read(
    symbols: Symbols,
    models: FastModels | SmallModels,
    tick: number,
    past: readonly DeltaBaseline[],
    end: { finish(): void },
  ): DeltaBaseline {
    const base = past[0]?.frame.ids ?? NO_IDS;
    const ids = named(
      () => "ids",
      () => codeIds(symbols, undefined, base, this.entitiesMax),
    );
    const walk = this.walk(symbols, tick, ids, past, undefined);
    named(
      () => `entity ${ids[walk.row]}.column ${walk.column}`,
      () => walk.run(),
    );
    end.finish();
    return this.baseline(walk, { tick, ids, values: walk.values }, models);
  }

  /** Codes the rows of a frame. A writer passes the true values. */
  walk(
    symbols: Symbols,
    tick: number,
    ids: Uint32Array,
    past: readonly DeltaBaseline[],
    truth: Int32Array | undefined,
  ): RowWalk {
    const { layout } = this;
    const lined = new DeltaPast(tick, layout.width, ids, past);
    this.predictor.start(layout, lined, past[0]?.memory ?? NO_MEMORY);
    return new RowWalk(symbols, this.predictor, layout, lined, truth);
  }

  /** Makes the baseline of the frame. */
  baseline(walk: RowWalk, frame: DeltaFrame, models: FastModels | SmallModels): DeltaBaseline {
    const { changes, errors } = walk;
    return new DeltaBaseline(this.layout, frame, changes, errors, models, this.predictor.memory());
  }
}

/** Writes a frame. Separate from the reader, so that readers need not load it. */
export function writeFrame(
  coding: DeltaCoding,
  symbols: Symbols,
  models: FastModels | SmallModels,
  { tick, ids, values }: DeltaFrame,
  past: readonly DeltaBaseline[],
): DeltaBaseline {
  codeIds(symbols, ids, past[0]?.frame.ids ?? NO_IDS, coding.entitiesMax);
  const walk = coding.walk(symbols, tick, ids, past, values);
  walk.run();
  return coding.baseline(walk, { tick, ids: ids.slice(), values: walk.values }, models);
}

/** The header byte: the bits of the mode, and the number of baselines. */
export function headerOf(mode: number, known: readonly DeltaBaseline[]): number {
  return mode | (known.length << HEADER_DEPTH_SHIFT);
}

/** Reads the mode from the header of bytes that were encoded against this many baselines. */
export function readMode(bytes: Uint8Array, known: readonly DeltaBaseline[]): number {
  const header = bytes[0];
  if (header === undefined) throw new WireError("the message ends too early", 0, "header");
  const depth = (header >> HEADER_DEPTH_SHIFT) & HEADER_DEPTH;
  const mode = header - (depth << HEADER_DEPTH_SHIFT);
  if (mode !== HEADER_FAST && mode !== HEADER_SMALL)
    throw new WireError(`header ${header} is not of this version of the format`, 0, "header");
  if (depth !== known.length)
    throw new WireError(`coded against ${depth} baselines, not ${known.length}`, 0, "header");
  return mode;
}

/** The models of the newest baseline, or the initial ones. */
export function fastModels(layout: DeltaLayout, past: readonly DeltaBaseline[]): FastModels {
  const models = past[0]?.models;
  return models?.mode === "fast" ? models.copy() : FastModels.start(layout.width);
}

/** Runs a function, and adds the current field to an error about invalid bytes. */
function named<T>(field: () => string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof WireError) throw new WireError(error.detail, error.offset, field());
    throw error;
  }
}
