import { expect, it } from "vitest";
import { reachOf, SilenceMeter } from "../src/hud/connection-banner.js";

it("hiccup_shorter_than_a_second_changes_nothing", () => {
  expect(reachOf("open", 600)).toBe("good");
  expect(reachOf("reconnecting", 600)).toBe("good");
});

it("silence_of_a_second_is_unstable_and_of_three_is_lost_while_reconnecting", () => {
  expect(reachOf("open", 1_000)).toBe("unstable");
  expect(reachOf("open", 20_000)).toBe("unstable");
  expect(reachOf("reconnecting", 2_900)).toBe("unstable");
  expect(reachOf("reconnecting", 3_000)).toBe("lost");
});

it("first_attempt_and_end_are_shown_whatever_the_silence", () => {
  expect(reachOf("connecting", 0)).toBe("connecting");
  expect(reachOf("closed", 60_000)).toBe("closed");
});

it("stall_of_the_page_itself_does_not_count_as_silence", () => {
  const meter = new SilenceMeter();
  const heardAtMs = 1_000;
  for (let nowMs = 1_000; nowMs <= 1_300; nowMs += 100) meter.measure(nowMs, heardAtMs);
  // Two seconds without a frame: messages may wait in the page's own queue.
  expect(meter.measure(3_300, heardAtMs)).toBe(0);
  for (let nowMs = 3_400; nowMs < 4_300; nowMs += 100) meter.measure(nowMs, heardAtMs);
  expect(meter.measure(4_300, heardAtMs)).toBe(1_000);
});
