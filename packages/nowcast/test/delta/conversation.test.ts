import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type DeltaBaseline,
  DeltaCodec,
  type DeltaFrame,
  DeltaLayout,
  type DeltaMode,
  type DeltaPredictor,
  LinearPredictor,
} from "../../src/delta/index.js";
import { NowcastError } from "../../src/index.js";
import { anyField, anyHappenings, BODY_FIELDS, bodyPredictor, framesOf, tumblingBodies } from "./worlds.js";

const MODES: readonly DeltaMode[] = ["fast", "small"];

/**
 * Encodes every frame against the newest one that arrived, and returns the sizes. `arrives` decides which frames
 * arrive.
 */
function converse(
  layout: DeltaLayout,
  mode: DeltaMode,
  predictor: () => DeltaPredictor,
  frames: readonly DeltaFrame[],
  arrives: (at: number) => boolean,
): number[] {
  const sender = new DeltaCodec(layout, { mode, predictor: predictor() });
  const receiver = new DeltaCodec(layout, { predictor: predictor() });
  const known: { sent: DeltaBaseline; got: DeltaBaseline }[] = [];
  return frames.map((frame, at) => {
    const newest = known.slice(-3).reverse();
    const { bytes, baseline: sent } = sender.encode(
      frame,
      newest.map(({ sent }) => sent),
    );
    if (arrives(at)) {
      const got = receiver.decode(
        frame.tick,
        bytes,
        newest.map(({ got }) => got),
      );
      expect(got.frame).toEqual(frame);
      // Both ends must have learnt the same models, because the models determine how the next packet is read.
      expect(isDeepStrictEqual(got, sent)).toBe(true);
      known.push({ sent, got });
    }
    return bytes.length;
  });
}

describe.each(MODES)("deltas in %s mode", (mode) => {
  it("carry any frames of any layout despite any losses", () => {
    fc.assert(
      fc.property(
        fc.array(anyField, { minLength: 1, maxLength: 6 }),
        anyHappenings,
        fc.infiniteStream(fc.boolean()),
        (fields, happenings, luck) => {
          const layout = new DeltaLayout(fields);
          converse(
            layout,
            mode,
            () => new LinearPredictor(),
            framesOf(layout, happenings),
            () => luck.next().value,
          );
        },
      ),
      { numRuns: 300 },
    );
  });

  it("carry any frames of bodies, plausible or not", () => {
    const layout = new DeltaLayout(BODY_FIELDS);
    fc.assert(
      fc.property(anyHappenings, fc.infiniteStream(fc.boolean()), (happenings, luck) => {
        converse(layout, mode, bodyPredictor, framesOf(layout, happenings), () => luck.next().value);
      }),
      { numRuns: 100 },
    );
  });

  it.each([1, 2, 3])("carry bodies that tumble (seed %i)", (seed) => {
    const layout = new DeltaLayout(BODY_FIELDS);
    const frames = tumblingBodies(seed, 60, 20);
    converse(layout, mode, bodyPredictor, frames, (at) => (at * seed) % 4 !== 3);
  });

  it("cost next to nothing while the world is at rest", () => {
    const layout = new DeltaLayout(BODY_FIELDS);
    const [still] = tumblingBodies(3, 200, 1);
    const frames = Array.from({ length: 12 }, (_, tick) => ({ ...still!, tick }));
    const sizes = converse(
      layout,
      mode,
      () => new LinearPredictor(),
      frames,
      () => true,
    );
    expect(sizes.at(-1)).toBeLessThanOrEqual(mode === "fast" ? 27 : 8);
  });

  it("wrap at the ends of the range instead of failing", () => {
    const layout = new DeltaLayout([{ kind: "number" }, { kind: "angle", bits: 16 }]);
    const rows = [
      [-0x8000_0000, 0],
      [0x7fff_ffff, 65_535],
      [0, 1],
      [-0x8000_0000, 32_768],
      [1, 0],
      [-0x7fff_ffff, 0],
    ];
    const frames = rows.map((row, tick) => ({
      tick,
      ids: Uint32Array.of(0xffff_ffff),
      values: Int32Array.from(row),
    }));
    converse(
      layout,
      mode,
      () => new LinearPredictor(),
      frames,
      () => true,
    );
  });
});

describe("the modes", () => {
  const layout = new DeltaLayout(BODY_FIELDS);
  const frames = tumblingBodies(9, 200, 20);

  it("differ in size", () => {
    const [fast, small] = MODES.map((mode) =>
      converse(
        layout,
        mode,
        () => new LinearPredictor(),
        frames,
        () => true,
      )
        .slice(5)
        .reduce((sum, size) => sum + size),
    );
    expect(small).toBeLessThan(fast!);
  });

  it("may be changed in the middle of a conversation", () => {
    const receiver = new DeltaCodec(layout);
    let past: DeltaBaseline[] = [];
    frames.forEach((frame, at) => {
      const sender = new DeltaCodec(layout, { mode: MODES[(at >> 1) & 1]! });
      const got = receiver.decode(frame.tick, sender.encode(frame, past).bytes, past);
      expect(got.frame).toEqual(frame);
      past = [got, ...past].slice(0, 3);
    });
  });
});

describe("misuse of deltas", () => {
  const codec = new DeltaCodec(new DeltaLayout([{ kind: "flag" }]), { entitiesMax: 2 });
  const frame = (ids: number[], values: number[], tick = 0): DeltaFrame => ({
    tick,
    ids: Uint32Array.from(ids),
    values: Int32Array.from(values),
  });

  it.each([
    ["id 1 after 2", frame([2, 1], [0, 0])],
    ["2 is out of the range of column 0 of entity 1", frame([1], [2])],
    ["-1 is out of the range", frame([1], [-1])],
    ["0 values for 1 rows of 1", frame([1], [])],
    ["3 entities, more than 2", frame([1, 2, 3], [0, 0, 0])],
    ["tick 0.5", frame([1], [0], 0.5)],
  ])("is named: %s", (message, misused) => {
    expect(() => codec.encode(misused, [])).toThrow(message);
    expect(() => codec.encode(misused, [])).toThrow(NowcastError);
  });

  it("is named for layouts, baselines and predictors that do not fit", () => {
    expect(() => new DeltaLayout([])).toThrow("a layout of 0 columns");
    expect(() => new DeltaLayout([{ kind: "angle", bits: 17 }])).toThrow("17 bits, not 1 to 16");
    expect(() => new DeltaLayout([{ kind: "orientation", bits: 1 }])).toThrow("1 bits, not 2 to 15");
    const { baseline } = codec.encode(frame([1], [1]), []);
    const other = new DeltaCodec(new DeltaLayout([{ kind: "number" }]));
    expect(() => other.encode(frame([1], [1]), [baseline])).toThrow("a baseline of another layout");
    const blind = new DeltaCodec(codec.layout, { predictor: bodyPredictor() });
    expect(() => blind.encode(frame([1], [1]), [])).toThrow("the predictor's columns");
  });
});
