import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type DeltaBaseline,
  DeltaCodec,
  type DeltaField,
  DeltaLayout,
  type DeltaMode,
  type DeltaPredictor,
  LinearPredictor,
} from "../../src/delta/index.js";
import { WireError } from "../../src/index.js";
import { BODY_FIELDS, bodyPredictor, tumblingBodies } from "./worlds.js";

const ENTITIES_MAX = 100;
const layout = new DeltaLayout([...BODY_FIELDS, { kind: "angle", bits: 12 }]);
const frames = tumblingBodies(11, 25, 6).map((frame) => ({
  ...frame,
  values: Int32Array.from(
    [...frame.ids].flatMap((id, row) => [...frame.values.subarray(8 * row, 8 * row + 8), (id * 77) & 4095]),
  ),
}));

interface Scene {
  readonly name: string;
  readonly mode: DeltaMode;
  readonly predictor: () => DeltaPredictor;
}

const SCENES: readonly Scene[] = [
  { name: "fast, linear", mode: "fast", predictor: () => new LinearPredictor() },
  { name: "small, linear", mode: "small", predictor: () => new LinearPredictor() },
  { name: "fast, bodies", mode: "fast", predictor: bodyPredictor },
  { name: "small, bodies", mode: "small", predictor: bodyPredictor },
];

describe.each(SCENES)("hostile deltas ($name)", ({ mode, predictor }) => {
  const codec = new DeltaCodec(layout, { mode, predictor: predictor(), entitiesMax: ENTITIES_MAX });
  const known: DeltaBaseline[] = [];
  const packets = frames.map((frame) => {
    const { bytes, baseline } = codec.encode(frame, known);
    known.unshift(baseline);
    known.length = Math.min(known.length, 3);
    return bytes;
  });
  const past = known.slice(1);
  const truth = known[0]!;
  const { tick } = truth.frame;
  // Encoded against the two frames before it, so that every part of the format is used.
  const { bytes: packet, baseline: sent } = codec.encode(truth.frame, past);
  const isTruth = (got: DeltaBaseline | undefined): boolean => isDeepStrictEqual(got, sent);

  /** Reads arbitrary bytes. The result is a frame within the limits, or an error about the bytes. */
  const attempt = (bytes: Uint8Array, baselines: readonly DeltaBaseline[]): DeltaBaseline | undefined => {
    try {
      const got = codec.decode(tick, bytes, baselines);
      expect(got.frame.ids.length).toBeLessThanOrEqual(ENTITIES_MAX);
      // Checks that a frame that was read can be encoded again.
      codec.encode(got.frame, baselines);
      return got;
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      expect(error.fault).toBe("peer-misbehaved");
      expect(error.offset).toBeGreaterThanOrEqual(0);
      expect(error.offset).toBeLessThanOrEqual(bytes.length);
      return undefined;
    }
  };

  it("are never accepted when they are truncated, at any place", () => {
    expect(isTruth(attempt(packet, past))).toBe(true);
    for (let length = 0; length < packet.length; length++)
      expect(isTruth(attempt(packet.subarray(0, length), past)), `cut to ${length}`).toBe(false);
    for (let length = 0; length < packets[0]!.length; length++) attempt(packets[0]!.subarray(0, length), []);
  });

  it("never pass for the truth with a bit flipped or a byte added", () => {
    for (let bit = 0; bit < packet.length * 8; bit++) {
      const damaged = packet.slice();
      damaged[bit >> 3]! ^= 1 << (bit & 7);
      // The same frame may be encoded in two ways, but then the learnt state differs.
      expect(isTruth(attempt(damaged, past)), `bit ${bit}`).toBe(false);
    }
    for (const extra of [0, 1, 255]) expect(attempt(Uint8Array.of(...packet, extra), past)).toBeUndefined();
  });

  it("leave no trace: the packet after them is read as if they had not come", () => {
    for (let cut = 1; cut < packet.length; cut++) attempt(packet.subarray(0, cut), past);
    expect(isTruth(codec.decode(tick, packet, past))).toBe(true);
  });

  it("end in a frame or a WireError for any bytes", () => {
    const header = mode === "small" ? 9 : 0;
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), fc.nat(2), (bytes, depth) => {
        attempt(Uint8Array.of(header | (depth << 1), ...bytes), past.slice(0, depth));
      }),
      { numRuns: 400 },
    );
  });

  it("are refused before any allocation if they name more entities than allowed", () => {
    // Ids that differ from the baseline, followed by a count of all ones.
    const bomb = new Uint8Array(200).fill(255);
    bomb.set(mode === "small" ? [9, 0x80] : [0, 0xfe]);
    expect(() => codec.decode(tick, bomb, [])).toThrow(/ids: \d{6,} entities, more than 100/);
  });

  it("name the header that is not known, and the past that they do not have", () => {
    expect(() => codec.decode(tick, new Uint8Array(0), [])).toThrow("header: the message ends too early");
    for (const header of [1, 8, 16 | packet[0]!])
      expect(() => codec.decode(tick, Uint8Array.of(header, ...packet.subarray(1)), [])).toThrow(
        "is not of this version",
      );
    expect(() => codec.decode(tick, packet, [])).toThrow("coded against 2 baselines, not 0");
  });
});

describe("numbers that no encoder writes", () => {
  /** Decodes a packet against a frame of one resting entity with this field. */
  const decode = (field: DeltaField, packet: number[]): DeltaBaseline => {
    const layout = new DeltaLayout([field]);
    const codec = new DeltaCodec(layout);
    const still = { tick: 0, ids: Uint32Array.of(5), values: new Int32Array(layout.width) };
    return codec.decode(1, Uint8Array.from(packet), [codec.encode(still, []).baseline]);
  };
  const zeros = new Array<number>(100).fill(0);
  const ones = new Array<number>(100).fill(255);

  it("are refused beyond 32 bits, which a range coder reaches by yes after yes", () => {
    expect(() => decode({ kind: "number" }, [0b1011, ...zeros])).toThrow(
      "entity 5.column 0: a number beyond",
    );
  });

  it("are refused where a quaternion has but four components", () => {
    const refused = "entity 5.column 0: component 4294967295 of a quaternion";
    expect(() => decode({ kind: "orientation", bits: 7 }, [0b010, ...ones])).toThrow(refused);
  });

  it("are refused where a component has too many bits", () => {
    // A row with the same ids that changed, whose largest component is the same. The bits of its first
    // component are all ones.
    const refused = /entity 5.column 1: -?\d+ is out of the column's range/;
    expect(() => decode({ kind: "orientation", bits: 7 }, [0b010, 0b1111_1011, ...ones])).toThrow(refused);
  });
});
