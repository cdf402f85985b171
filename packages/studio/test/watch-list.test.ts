/**
 * Readings of watched values that fail.
 *
 * @vitest-environment jsdom
 */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { StudioError } from "../src/api/studio-api.js";
import type { Context } from "../src/context.js";
import { WatchList } from "../src/world/watch-list.js";

let readings: number;
let answer: () => unknown;
let list: WatchList;

beforeEach(() => {
  vi.useFakeTimers();
  readings = 0;
  answer = () => ({ tick: readings, attributes: { hp: 10 } });
  const entity = async (): Promise<unknown> => {
    readings += 1;
    return answer();
  };
  list = new WatchList({ api: { entity } } as unknown as Context, "room", () => undefined);
  list.add({ name: "hp", entity: { id: 9, kind: "block" } });
});
afterEach(() => {
  list.stop();
  vi.useRealTimers();
});

const refuse = (status: number, code: string): void => {
  answer = () => {
    throw new StudioError(status, code, code, undefined, undefined);
  };
};
const shown = (): string | null | undefined => list.element.querySelector(".value")?.textContent;
const listed = (): number => list.element.querySelectorAll("li").length;

it("lists a value once if a reading between two equal ones fails, and reads once a second after the failure", async () => {
  await vi.advanceTimersByTimeAsync(0);
  const succeed = answer;
  refuse(429, "too_many");
  await vi.advanceTimersByTimeAsync(300);
  expect([shown(), listed(), readings]).toEqual(["too_many", 1, 2]);
  answer = succeed;
  await vi.advanceTimersByTimeAsync(500);
  expect(readings).toBe(2);
  await vi.advanceTimersByTimeAsync(500);
  expect([shown(), listed(), readings]).toEqual(["10", 1, 3]);
  await vi.advanceTimersByTimeAsync(300);
  expect(readings).toBe(4);
});

it("reads a despawned entity no more", async () => {
  await vi.advanceTimersByTimeAsync(0);
  refuse(404, "not_found");
  await vi.advanceTimersByTimeAsync(5000);
  expect([shown(), listed(), readings]).toEqual(["not_found", 1, 2]);
});
