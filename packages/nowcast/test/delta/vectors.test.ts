import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  type BodyColumns,
  BodyPredictor,
  type DeltaBaseline,
  DeltaCodec,
  type DeltaField,
  type DeltaFrame,
  DeltaLayout,
  type DeltaMode,
  LinearPredictor,
} from "../../src/delta/index.js";

interface Conversation {
  readonly mode: DeltaMode;
  readonly layout: readonly DeltaField[];
  /** Whether no writer needs to produce these bytes. */
  readonly foreign?: boolean;
  readonly predictor: { readonly kind: "linear" } | ({ readonly kind: "bodies" } & BodyColumns);
  readonly steps: readonly {
    readonly mode?: DeltaMode;
    readonly tick: number;
    readonly past: readonly number[];
    readonly bytes: string;
    readonly ids: readonly number[];
    readonly values: readonly number[];
  }[];
}

function conversation(file: string): Conversation {
  const path = new URL(`../../../../spec/vectors/delta/${file}.json`, import.meta.url);
  return JSON.parse(readFileSync(path, "utf8")) as Conversation;
}

const FILES = [
  "linear-fast",
  "linear-small",
  "linear-switching",
  "linear-foreign",
  "bodies-fast",
  "bodies-small",
];

describe.each(FILES)("the vectors of %s", (file) => {
  const { mode, foreign, layout: fields, predictor, steps } = conversation(file);
  const layout = new DeltaLayout(fields);
  const codecOf = (mode: DeltaMode) =>
    new DeltaCodec(layout, {
      mode,
      predictor: predictor.kind === "linear" ? new LinearPredictor() : new BodyPredictor(predictor),
    });
  const codecs = { fast: codecOf("fast"), small: codecOf("small") };

  it("are decoded to their frames", () => {
    const known = new Map<number, DeltaBaseline>();
    expect(steps.length).toBeGreaterThan(foreign ? 1 : 5);
    for (const { tick, past, bytes, ids, values } of steps) {
      const baselines = past.map((tick) => known.get(tick)!);
      const baseline = codecs[mode].decode(tick, Buffer.from(bytes, "hex"), baselines);
      expect([...baseline.frame.ids], `ids of ${tick}`).toEqual(ids);
      expect([...baseline.frame.values], `values of ${tick}`).toEqual(values);
      known.set(tick, baseline);
    }
  });

  it.skipIf(foreign)("are the bytes that the frames become", () => {
    const known = new Map<number, DeltaBaseline>();
    for (const { mode: own, tick, past, bytes, ids, values } of steps) {
      const baselines = past.map((tick) => known.get(tick)!);
      const frame = { tick, ids: Uint32Array.from(ids), values: Int32Array.from(values) };
      const packet = codecs[own ?? mode].encode(frame, baselines);
      expect(Buffer.from(packet.bytes).toString("hex"), `bytes of ${tick}`).toBe(bytes);
      known.set(tick, packet.baseline);
    }
  });
});

describe.each(["frames-fast", "frames-small"])("the vectors of %s", (file) => {
  const { mode, layout: fields, steps } = conversation(file);
  const codec = new DeltaCodec(new DeltaLayout(fields), { mode });

  it("are read and written against frames alone", () => {
    const known = new Map<number, DeltaFrame>();
    expect(steps.length).toBeGreaterThan(5);
    for (const { tick, past, bytes, ids, values } of steps) {
      const frames = past.map((tick) => known.get(tick)!);
      const frame = codec.decodeAgainstFrames(tick, Buffer.from(bytes, "hex"), frames);
      expect([[...frame.ids], [...frame.values]], `frame ${tick}`).toEqual([ids, values]);
      const written = codec.encodeAgainstFrames(frame, frames);
      expect(Buffer.from(written).toString("hex"), `bytes of ${tick}`).toBe(bytes);
      known.set(tick, frame);
    }
  });
});
