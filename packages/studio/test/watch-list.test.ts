/**
 * Watched values: readings that fail, and the newest writer.
 *
 * @vitest-environment jsdom
 */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { StudioError } from "../src/api/studio-api.js";
import type { Writer } from "../src/api/types.js";
import type { Context } from "../src/context.js";
import { WatchList } from "../src/world/watch-list.js";

let readings: number;
let answer: () => unknown;
let list: WatchList;
let opened: string[];

beforeEach(() => {
  vi.useFakeTimers();
  readings = 0;
  opened = [];
  answer = () => ({ tick: readings, attributes: { hp: 10 } });
  const entity = async (): Promise<unknown> => {
    readings += 1;
    return answer();
  };
  const openCode = (file: string, line: number): void => void opened.push(`${file}:${line}`);
  list = new WatchList({ api: { entity }, openCode } as unknown as Context, "room", () => undefined);
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

it("shows the newest writer of a value, and opens its line", async () => {
  await vi.advanceTimersByTimeAsync(0);
  const line = list.element.querySelector<HTMLElement>(".writer")!;
  expect(line.hidden, "nothing wrote the value since it is watched").toBe(true);
  const read = async (writer: Partial<Writer>): Promise<string | null> => {
    const nothing = { name: null, player: null, file: null, line: null };
    const hp = { tick: 120, hook: "edit", ...nothing, ...writer };
    answer = () => ({ tick: 300, attributes: { hp: 9 }, writers: { attributes: { hp }, private: null } });
    await vi.advanceTimersByTimeAsync(300);
    return line.textContent;
  };
  const build = { hook: "action", name: "build", player: "Ada", file: "tower.luau", line: 42 };
  expect(await read(build)).toBe("tower.luau:42 · action “build” by Ada · 3.0 s ago");
  expect(line.hidden).toBe(false);
  line.querySelector("button")!.click();
  expect(opened).toEqual(["tower.luau:42"]);
  expect(await read({ hook: "timer", name: "wave", tick: 240 })).toBe("timer “wave” · 1.0 s ago");
  expect(await read({ hook: "join", player: "Bo" })).toBe("join of Bo · 3.0 s ago");
  expect(await read({ hook: "owner", player: "Bo" })).toBe("set by Bo, the owner · 3.0 s ago");
  expect(await read({ tick: 301 })).toBe("edit in the studio · now");
});
