import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { StallWatch } from "../../src/world/interpolation/stall-watch.js";

let watch: StallWatch;
let nowMs = 1_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  vi.spyOn(performance, "now").mockImplementation(() => nowMs);
  watch = new StallWatch();
});

afterEach(() => {
  watch.close();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** Advances the time while the program and its timers run. */
function run(ms: number): void {
  for (const endMs = nowMs + ms; nowMs < endMs; ) {
    nowMs += 1;
    vi.advanceTimersByTime(1);
  }
}

describe("a watch for stalls", () => {
  it("dates reads of a program that runs by their own time", () => {
    run(100);
    expect(watch.earliestMs(nowMs)).toBe(nowMs);
    run(7);
    expect(watch.earliestMs(nowMs)).toBe(nowMs);
  });

  it("dates reads after a long task to its beginning, before and after the late beat", () => {
    run(100);
    const beganMs = nowMs;
    nowMs += 200;
    expect(watch.earliestMs(nowMs)).toBe(beganMs);
    // The beat is handled, then the other reads that waited, seven milliseconds each.
    vi.advanceTimersByTime(10);
    for (let read = 0; read < 5; read++) {
      nowMs += 7;
      expect(watch.earliestMs(nowMs)).toBe(beganMs);
    }
  });

  it("dates reads by their own time again once the program has caught up", () => {
    run(100);
    nowMs += 200;
    vi.advanceTimersByTime(10);
    expect(watch.earliestMs(nowMs)).toBeLessThan(nowMs);
    run(30);
    expect(watch.earliestMs(nowMs)).toBe(nowMs);
  });
});
