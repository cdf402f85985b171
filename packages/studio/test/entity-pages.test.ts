import { describe, expect, it } from "vitest";
import type { Row, Rows } from "../src/api/types.js";
import { EntityPages } from "../src/world/entity-pages.js";

/** A server with rows of the ids 10, 20, 30 and so on. */
class TestRows {
  readonly requests: { after: number | undefined; limit: number }[] = [];
  ids: number[];

  constructor(count: number) {
    this.ids = Array.from({ length: count }, (_, index) => (index + 1) * 10);
  }

  readonly load = async (after: number | undefined, limit: number): Promise<Rows> => {
    this.requests.push({ after, limit });
    const first = after === undefined ? 0 : this.ids.findIndex((id) => id > after);
    const ids = first < 0 ? [] : this.ids.slice(first, first + limit);
    const isLast = ids.length === 0 || ids.at(-1) === this.ids.at(-1);
    return { tick: 1, total: this.ids.length, rows: ids.map(rowOf), next: isLast ? null : ids.at(-1)! };
  };
}

function rowOf(id: number): Row {
  return { id, kind: "block", position: [id, 0, 0], tags: [], owner: null, parent: null, label: null };
}

describe("the pages of a list of entities", () => {
  it("rows_are_loaded_up_to_the_wanted_one_and_no_further", async () => {
    const server = new TestRows(100_000);
    const pages = new EntityPages(server.load, 100_000, () => undefined);
    await pages.want(20);
    expect(server.requests).toEqual([{ after: undefined, limit: 100 }]);
    await pages.want(2_500);
    expect(server.requests).toHaveLength(4);
    expect(pages.at(2_499)?.id).toBe(25_000);
    expect(pages.at(5_000)).toBeUndefined();
    expect(pages.indexOf(25_000)).toBe(2_499);
    expect(pages.indexOf(25_001)).toBe(-1);
  });

  it("the_total_is_the_number_of_rows_when_all_are_loaded", async () => {
    const pages = new EntityPages(new TestRows(7).load, 50, () => undefined);
    await pages.want(1);
    expect(pages.total).toBe(7);
  });

  it("a_refresh_reads_only_the_visible_rows_and_notices_that_one_is_gone", async () => {
    const server = new TestRows(300);
    const pages = new EntityPages(server.load, 300, () => undefined);
    await pages.want(300);
    server.requests.length = 0;
    expect(await pages.refresh(50, 70)).toBe(true);
    expect(server.requests).toEqual([{ after: 500, limit: 20 }]);
    server.ids = server.ids.filter((id) => id !== 600);
    expect(await pages.refresh(50, 70)).toBe(false);
  });

  it("a_closed_list_reports_no_more_rows", async () => {
    let changes = 0;
    const pages = new EntityPages(new TestRows(300).load, 300, () => {
      changes += 1;
    });
    const wanted = pages.want(300);
    pages.close();
    await wanted;
    expect(changes).toBe(0);
  });
});
