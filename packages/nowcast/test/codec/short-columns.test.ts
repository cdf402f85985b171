import { expect, test } from "vitest";
import { widenShort } from "../../src/codec/number-columns.js";

test("a single widens to the double that its shortest decimal means", () => {
  for (const wide of [-94.8307, 33.37242, 0.010437689, 61.570312, 1.5, 100, 16_777_216, 0.1, 3.4e-5, 0, -0]) {
    expect(widenShort(Math.fround(wide))).toBe(wide);
  }
});

test("a single that no decimal names stays the same", () => {
  for (const single of [Number.POSITIVE_INFINITY, Number.NaN, 2 ** 100]) {
    expect(widenShort(single)).toBe(single);
  }
});
