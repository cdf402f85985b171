import fc from "fast-check";
import { expect, it } from "vitest";
import { WireInput } from "../src/wire/input.js";
import { readIntegers, writeIntegers } from "../src/wire/integer-column.js";
import { readNumberColumn } from "../src/wire/number-columns.js";
import { KINDS } from "../src/wire/numbers.js";

const UNSIGNED = { u16: true, u32: true, i16: false, i32: false } as const;

/** Integers of a type: near each other, anywhere, and at its ends, where steps leave 32 bits. */
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
  it(`a column of ${name} is what was written, for the reader of columns and for the one without memory of its own`, () => {
    const kind = KINDS[name as keyof typeof UNSIGNED];
    const [min, max] = [Number(kind.min), Number(kind.max)];
    fc.assert(
      fc.property(integers(min, max), fc.nat({ max: 3 }), (values, from) => {
        const count = values.length;
        const bytes = new Uint8Array(count * 4 + 16);
        const words = Int32Array.from([...new Array<number>(from).fill(7), ...values]);
        const end = writeIntegers(bytes, 0, words, from, count, kind.width, isUnsigned);
        expect(end).toBeLessThanOrEqual(count * kind.width + 1);
        const column = bytes.subarray(0, end);
        expect(Array.from(readNumberColumn(new WireInput(column), kind, count))).toEqual(values);

        const target = { values: new Int32Array(count), min, max, width: kind.width };
        expect(readIntegers(column, 0, end, target, count)).toBe(end);
        expect(target.values).toEqual(Int32Array.from(values));
        for (let cut = 0; cut < end; cut++) expect(readIntegers(column, 0, cut, target, count)).toBe(-1);
      }),
      { numRuns: 1000 },
    );
  });
}
