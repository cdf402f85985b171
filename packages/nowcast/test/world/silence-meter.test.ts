import { expect, it } from "vitest";
import { SilenceMeter } from "../../src/world/silence-meter.js";

it("silence_counts_from_the_newest_message", () => {
  const meter = new SilenceMeter();
  expect(meter.measure(0)).toBe(Number.POSITIVE_INFINITY);
  meter.arrived(1_000);
  for (let nowMs = 1_000; nowMs < 4_000; nowMs += 250) meter.ran(nowMs);
  expect(meter.measure(4_000)).toBe(3_000);
  meter.arrived(4_100);
  expect(meter.measure(4_100)).toBe(0);
});

it("stall_of_the_program_does_not_count_as_silence", () => {
  const meter = new SilenceMeter();
  meter.arrived(1_000);
  for (let nowMs = 1_000; nowMs <= 1_250; nowMs += 250) meter.ran(nowMs);
  // For two seconds the program was stalled, so messages may wait in its queue.
  expect(meter.measure(3_300)).toBe(0);
  for (let nowMs = 3_400; nowMs < 4_300; nowMs += 100) meter.ran(nowMs);
  expect(meter.measure(4_300)).toBe(1_000);
});

it("program_that_reads_the_connection_rarely_measures_the_whole_silence", () => {
  const meter = new SilenceMeter();
  meter.arrived(0);
  for (let nowMs = 0; nowMs < 10_000; nowMs += 250) meter.ran(nowMs);
  expect(meter.measure(10_000)).toBe(10_000);
});
