import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { columnsOf, type DeltaFrame } from "../../src/delta/frame.js";
import { FrameReader } from "../../src/delta/frame-reader.js";
import { WireError } from "../../src/errors/nowcast-error.js";
import { conversation } from "./conversation.js";
import { writeWholeFrame } from "./frame-writer.js";

const ENTITIES_MAX = 100;
const { columns, steps } = conversation("frames");
const reader = new FrameReader(columns, ENTITIES_MAX);

describe.each(["frames", "foreign"])("the vectors of %s", (file) => {
  it("are decoded to their frames", () => {
    const { columns, steps } = conversation(file);
    const reader = new FrameReader(columns, ENTITIES_MAX);
    expect(steps.length).toBeGreaterThan(1);
    for (const { packet, past, frame } of steps)
      expect(reader.read(frame.tick, packet, past), `frame ${frame.tick}`).toEqual(frame);
  });
});

describe("whole frames", () => {
  it("are exact for any rows", () => {
    const columns = columnsOf([{ kind: "number" }, { kind: "orientation", bits: 11 }]);
    const component = fc.nat(2047);
    const row = fc.tuple(fc.integer(), fc.nat(3), component, component, component);
    const reader = new FrameReader(columns, ENTITIES_MAX);
    const anyId = fc.oneof(fc.nat(12), fc.nat(0xffff_ffff), fc.constant(0xffff_ffff));
    fc.assert(
      fc.property(fc.uniqueArray(anyId, { maxLength: 15 }), fc.infiniteStream(row), (ids, rows) => {
        const sorted = Uint32Array.from(ids).sort();
        const values = Int32Array.from(ids.flatMap(() => [...rows.next().value]));
        const frame = { tick: 7, ids: sorted, values };
        expect(reader.read(7, writeWholeFrame(columns, frame), [])).toEqual(frame);
      }),
      { numRuns: 300 },
    );
  });
});

describe("hostile deltas", () => {
  const { packet, past, frame } = steps.at(-1)!;
  const { tick } = frame;

  /** Reads arbitrary bytes. The result is a frame within the limits, or an error about the bytes. */
  const attempt = (bytes: Uint8Array, baselines: readonly DeltaFrame[]): DeltaFrame | undefined => {
    try {
      const got = reader.read(tick, bytes, baselines);
      expect(got.ids.length).toBeLessThanOrEqual(ENTITIES_MAX);
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
    expect(past.length).toBe(3);
    for (let length = 0; length < packet.length; length++)
      expect(attempt(packet.subarray(0, length), past), `cut to ${length}`).toBeUndefined();
  });

  it("end in a frame or a WireError with a bit flipped, and are refused with a byte added", () => {
    let refused = 0;
    for (let bit = 0; bit < packet.length * 8; bit++) {
      const damaged = packet.slice();
      damaged[bit >> 3]! ^= 1 << (bit & 7);
      if (attempt(damaged, past) === undefined) refused++;
    }
    expect(refused).toBeGreaterThan(0);
    for (const extra of [0, 1, 255]) expect(attempt(Uint8Array.of(...packet, extra), past)).toBeUndefined();
  });

  it("leave no trace: the packet after them is read as if they had not come", () => {
    for (let cut = 1; cut < packet.length; cut++) attempt(packet.subarray(0, cut), past);
    expect(reader.read(tick, packet, past)).toEqual(frame);
  });

  it("end in a frame or a WireError for any bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), fc.nat(3), (bytes, depth) => {
        attempt(Uint8Array.of(depth << 1, ...bytes), past.slice(0, depth));
      }),
      { numRuns: 400 },
    );
  });

  it("are refused before any allocation if they name more entities than allowed", () => {
    // Ids that differ from the baseline, followed by a count of all ones.
    const bomb = new Uint8Array(200).fill(255);
    bomb.set([0, 0xfe]);
    expect(() => reader.read(tick, bomb, [])).toThrow(/ids: \d{6,} entities, more than 100/);
  });

  it("name the header of another version, and the past that they do not have", () => {
    expect(() => reader.read(tick, new Uint8Array(0), [])).toThrow("header: the message ends too early");
    // The small mode of version 2 had the header bits 9, and that of version 1 the bit 1.
    for (const header of [1, 8, 9 | packet[0]!, 16 | packet[0]!])
      expect(() => reader.read(tick, Uint8Array.of(header, ...packet.subarray(1)), past)).toThrow(
        "is not of version 3",
      );
    expect(() => reader.read(tick, packet, [])).toThrow("coded against 3 baselines, not 0");
  });

  it("are refused if a quaternion has a component that no encoder writes", () => {
    const columns = columnsOf([{ kind: "orientation", bits: 7 }]);
    const still = { tick: 0, ids: Uint32Array.of(5), values: Int32Array.of(3, 64, 64, 64) };
    const read = (...packet: number[]) =>
      new FrameReader(columns, 1).read(1, Uint8Array.from(packet), [still]);
    const ones = new Array<number>(100).fill(255);
    expect(() => read(0b010, ...ones)).toThrow("entity 5.column 0: component 4294967295 of a quaternion");
    // By the mask, the largest component stays. The bits of the first component are all ones.
    expect(() => read(0b010, 0b1111_0111, ...ones)).toThrow(
      /entity 5.column 1: -?\d+ is out of the column's range/,
    );
  });
});
