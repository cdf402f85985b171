import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ScopeReader, ScopeWriter } from "../../src/codec/scope.js";
import type { WireValue } from "../../src/codec/value.js";
import { WireError } from "../../src/errors/nowcast-error.js";
import { crc32 } from "../../src/save/crc32.js";
import { decodeLz4Block } from "../../src/save/lz4.js";

describe("messages of objects without a declared type", () => {
  it("announce a shape once and are small after that", () => {
    const writer = new ScopeWriter();
    const reader = new ScopeReader();
    const first = writer.write({ text: "Hello World!", num: 123 });
    const second = writer.write({ text: "Hello again!", num: 5 });
    expect(first.length).toBeGreaterThan(second.length);
    // One byte of shape id, four of the number, twelve of text.
    expect(second.length).toBe(17);
    expect(reader.read(first)).toEqual({ text: "Hello World!", num: 123 });
    expect(reader.read(second)).toEqual({ text: "Hello again!", num: 5 });
  });

  it("widen their shape when a value does not fit, and the reader follows", () => {
    const writer = new ScopeWriter();
    const reader = new ScopeReader();
    const values: WireValue[] = [
      { id: 1, tags: [], at: null },
      { id: 1.5, tags: ["a"], at: { x: 1, y: 2 } },
      { id: 2 ** 40, tags: ["b", "c"], at: { x: 0.5, y: -0 } },
      { id: "five", tags: [1], at: { x: 1, y: 2, z: 3 } },
      { id: null, tags: null, at: null },
    ];
    for (const value of values.slice(0, 3)) expect(reader.read(writer.write(value))).toEqual(value);
    // A z that earlier values lack becomes optional; a text in place of numbers makes it any value.
    expect(reader.read(writer.write(values[3]!))).toEqual(values[3]);
    expect(reader.read(writer.write(values[4]!))).toEqual(values[4]);
  });

  it("carry all values of JSON", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue(), { maxLength: 5 }), (values) => {
        const writer = new ScopeWriter();
        const reader = new ScopeReader();
        for (const value of values) {
          const read = reader.read(writer.write(value as WireValue));
          expect(withoutNulls(read)).toEqual(withoutNulls(value as WireValue));
        }
      }),
    );
  });

  it("keep __proto__ a name like any other", () => {
    const value = JSON.parse('{"__proto__": {"admin": true}, "list": [{"__proto__": 1}]}') as WireValue;
    const read = new ScopeReader().read(new ScopeWriter().write(value)) as Record<string, unknown>;
    expect(read).toEqual(value);
    expect(read["admin"]).toBeUndefined();
  });

  it("name the id that was never announced, and the one announced twice", () => {
    expect(() => new ScopeReader().read(new Uint8Array([5, 1, 2]))).toThrow(
      "shape id 5, which was never announced",
    );
    const reader = new ScopeReader();
    expect(reader.read(new Uint8Array([0, 2, 2, 0x02, 0, 2, 7]))).toBe(7);
    expect(reader.read(new Uint8Array([0, 2, 2, 0x02, 0]))).toBeUndefined();
    expect(() => reader.read(new Uint8Array([0, 2, 2, 0x03, 0]))).toThrow("another shape under id 2");
  });

  it("survive a flood of shapes", () => {
    const reader = new ScopeReader();
    const flood = Array.from({ length: 2000 }, (_, i) => [
      0,
      2 + (i & 0x7f) + 128,
      1 + (i >> 7),
      2,
      0x02,
      0,
    ]).flat();
    expect(() => reader.read(Uint8Array.from(flood))).toThrow(WireError);
  });
});

/** A missing key and a null are equal once a shape knows the key. */
function withoutNulls(value: WireValue | undefined): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  const pairs =
    value instanceof Map
      ? [...value]
      : typeof value === "object" && value !== null
        ? Object.entries(value)
        : undefined;
  if (pairs === undefined) return value;
  return new Map(
    pairs.filter(([, item]) => item !== null).map(([key, item]) => [key, withoutNulls(item as WireValue)]),
  );
}

describe("LZ4 blocks", () => {
  const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

  it("decode literals, matches and matches that overlap themselves", () => {
    // Four literals, a match of 12 at offset 4, three literals.
    const block = Uint8Array.from([0x48, ...Buffer.from("abcd"), 4, 0, 0x30, ...Buffer.from("end")]);
    expect(text(decodeLz4Block(block, 19))).toBe("abcdabcdabcdabcdend");
    const run = Uint8Array.from([0x1f, 0x61, 1, 0, 255, 10, 0x00]);
    expect(text(decodeLz4Block(run, 1 + 4 + 15 + 265))).toBe("a".repeat(285));
  });

  it("refuse everything that would read or write beyond", () => {
    const cases: [string, number[], number][] = [
      ["an offset before the start", [0x10, 0x61, 2, 0, 0], 5],
      ["an offset of nothing", [0x10, 0x61, 0, 0, 0], 5],
      ["literals that are not there", [0xf0, 200, 1], 215],
      ["a length that ends early", [0xf0, 255], 300],
      ["half an offset", [0x10, 0x61, 1], 5],
      ["more than was stated", [0x1f, 0x61, 1, 0, 255, 10, 0x00], 10],
      ["less than was stated", [0x10, 0x61], 5],
      ["a bomb", [0x10, 0x61], 1_000_000],
    ];
    for (const [what, block, rawLength] of cases) {
      expect(() => decodeLz4Block(Uint8Array.from(block), rawLength), what).toThrow(WireError);
    }
  });

  it("answer noise with bytes or a WireError", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), fc.nat(1000), (noise, rawLength) => {
        try {
          expect(decodeLz4Block(noise, rawLength).length).toBe(rawLength);
        } catch (error) {
          expect(error).toBeInstanceOf(WireError);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

it("CRC-32 has its well-known check value", () => {
  expect(crc32(new TextEncoder().encode("123456789"))).toBe(0xcbf43926);
});
