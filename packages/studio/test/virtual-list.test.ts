import { describe, expect, it } from "vitest";
import { contentHeight, scrollTo, visibleRange } from "../src/virtual-list.js";

describe("the rows that a list draws", () => {
  it("a_short_list_is_drawn_completely", () => {
    expect(visibleRange(5, 30, 0, 400)).toEqual({ first: 0, end: 5, topPx: 0 });
    expect(visibleRange(0, 30, 0, 400)).toEqual({ first: 0, end: 0, topPx: 0 });
  });

  it("a_list_of_100000_rows_draws_only_rows_near_the_window", () => {
    for (const scrollPx of [0, 1_234, 1_500_000, 3_000_000 - 400]) {
      const { first, end, topPx } = visibleRange(100_000, 30, scrollPx, 400);
      expect(end - first).toBeLessThan(32);
      expect(topPx).toBeCloseTo(first * 30);
      expect(first * 30).toBeLessThanOrEqual(scrollPx);
      expect(end * 30).toBeGreaterThanOrEqual(scrollPx + 400);
    }
  });

  it("a_list_higher_than_browsers_allow_reaches_its_last_row", () => {
    const heightPx = contentHeight(2_000_000, 30);
    expect(heightPx).toBeLessThanOrEqual(8_000_000);
    const { first, end, topPx } = visibleRange(2_000_000, 30, heightPx - 400, 400);
    expect(end).toBe(2_000_000);
    // The last row ends at the lower edge of the content.
    expect(topPx + (end - first) * 30).toBeCloseTo(heightPx);
  });

  it("scrolling_to_a_row_makes_it_visible_and_leaves_visible_rows_in_place", () => {
    for (const count of [1_000, 2_000_000]) {
      for (const index of [0, 17, 500, count - 1]) {
        const atPx = scrollTo(index, count, 30, 5_000, 400);
        const { first, topPx } = visibleRange(count, 30, atPx, 400);
        const rowPx = topPx + (index - first) * 30 - atPx;
        expect(rowPx).toBeGreaterThan(-0.5);
        expect(rowPx + 30).toBeLessThan(400.5);
      }
    }
    expect(scrollTo(170, 1_000, 30, 5_000, 400)).toBe(5_000);
  });
});
