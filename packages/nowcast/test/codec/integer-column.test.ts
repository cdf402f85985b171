import fc from "fast-check";
import { expect, it } from "vitest";
import { WireInput } from "../../src/codec/input.js";
import { nextInteger, openIntegers } from "../../src/codec/integer-reader.js";
import { integerWriter } from "../../src/codec/integer-writer.js";
import { allocate } from "../../src/codec/memory.js";
import { readNumberColumn } from "../../src/codec/number-columns.js";
import { KINDS } from "../../src/codec/numbers.js";

/** Words used by the head of a column. */
const HEAD_WORDS = 3;

const memory = allocate(1024);
const write = integerWriter(memory);

/** The meaning of the bits of a type. */
const as = {
  u16: (bits: number) => bits & 0xffff,
  u32: (bits: number) => bits >>> 0,
  i16: (bits: number) => (bits << 16) >> 16,
  i32: (bits: number) => bits,
} as const;

const UNSIGNED = { u16: true, u32: true, i16: false, i32: false } as const;

/** Integers of a type: near each other, anywhere, and at the ends of its range, where differences exceed 32 bits. */
function integers(min: number, max: number): fc.Arbitrary<number[]> {
  const start = fc.integer({ min, max });
  const ends = fc.constantFrom(min, min + 1, Math.floor((min + max) / 2), max - 1, max);
  const near = fc
    .tuple(start, fc.integer({ min: 0, max: 30 }), fc.array(fc.nat(), { minLength: 3, maxLength: 40 }))
    .map(([first, bits, steps]) => {
      const rising = [first];
      for (const step of steps) rising.push(Math.min(max, rising.at(-1)! + (step % 2 ** bits)));
      return rising;
    });
  return fc.oneof(near, fc.array(fc.oneof(ends, start), { minLength: 4, maxLength: 40 }));
}

for (const [name, isUnsigned] of Object.entries(UNSIGNED)) {
  it(`a column of ${name} is read back unchanged, with and without a reader's own memory`, () => {
    const kind = KINDS[name as keyof typeof UNSIGNED];
    const [min, max] = [Number(kind.min), Number(kind.max)];
    fc.assert(
      fc.property(integers(min, max), fc.nat({ max: 3 }), (values, from) => {
        const count = values.length;
        const { bytes, words } = memory;
        // The values wait directly after the head. The column grows toward values that have not been read
        // yet.
        const start = HEAD_WORDS + from;
        words.set(values, start);
        const at = start * 4 - HEAD_WORDS * 4;
        const end = write(at, start, count, kind.width, isUnsigned);
        expect(end).toBeLessThanOrEqual(at + count * kind.width + 1);
        const column = bytes.slice(at, end);
        expect(Array.from(readNumberColumn(new WireInput(column), kind, count))).toEqual(values);

        // The column is followed by the rest of the message.
        const padded = Uint8Array.from([...column, 0xff, 0xff, 0xff, 0xff]);
        const view = new DataView(padded.buffer);
        const bounds = { min, max, width: kind.width };
        const opened = openIntegers(view, 0, column.length, bounds, count);
        for (let cut = 0; cut < column.length; cut++)
          expect(openIntegers(view, 0, cut, bounds, count)).toBe(undefined);
        // Values that may not fit are left to the general reader.
        if (opened === undefined) return;
        expect(opened.end).toBe(column.length);
        let value = opened.before;
        for (let i = 0; i < count; i++) {
          value = nextInteger(view, opened, value, i);
          expect(as[name as keyof typeof as](value)).toBe(values[i]);
        }
      }),
      { numRuns: 1000 },
    );
  });
}
