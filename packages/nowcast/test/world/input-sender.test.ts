import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { backOffMs } from "../../src/world/back-off.js";
import type { Input } from "../../src/world/index.js";
import { InputSender } from "../../src/world/input-sender.js";

const STILL = { forward: 0, right: 0, yaw: 0, run: false, jump: false };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function createSender(): { sender: InputSender; sent: Input[] } {
  const sent: Input[] = [];
  const sender = new InputSender((input) => {
    sent.push({ ...input });
    return true;
  });
  return { sender, sent };
}

it("the_newest_input_is_sent_at_most_thirty_times_a_second_and_only_if_it_differs", () => {
  const { sender, sent } = createSender();
  for (let ms = 1; ms <= 500; ms++) {
    sender.set({ ...STILL, yaw: ms });
    vi.advanceTimersByTime(1);
  }
  vi.advanceTimersByTime(100);
  expect(sent.length).toBeGreaterThan(12);
  expect(sent.length).toBeLessThanOrEqual(17);
  expect(sent.at(-1)!.yaw).toBe(500);
  const { length } = sent;
  sender.set({ ...STILL, yaw: 500 });
  vi.advanceTimersByTime(100);
  expect(sent.length).toBe(length);
});

it("a_jump_shorter_than_the_pause_between_two_sends_is_sent_once", () => {
  const { sender, sent } = createSender();
  sender.set({ ...STILL, forward: 1 });
  sender.set({ ...STILL, forward: 1, jump: true });
  sender.set({ ...STILL, forward: 0.5 });
  vi.advanceTimersByTime(200);
  expect(sent.map(({ forward, jump }) => [forward, jump])).toEqual([
    [1, false],
    [0.5, true],
    [0.5, false],
  ]);
});

it("numbers_beyond_their_bounds_are_clamped_and_others_are_a_misuse", () => {
  const { sender, sent } = createSender();
  expect(() => sender.set({ ...STILL, yaw: Number.NaN })).toThrow("input.yaw is NaN");
  sender.set({ ...STILL, forward: 1e300, right: -7 });
  expect(sent).toMatchObject([{ forward: 1, right: -1 }]);
});

it("the_pause_between_attempts_doubles_up_to_five_seconds_and_is_jittered", () => {
  expect([0, 1, 2, 3, 8, 9, 10, 11, 12, 100].map((attempt) => backOffMs(attempt, 0))).toEqual([
    100, 200, 400, 400, 400, 800, 1600, 3200, 5000, 5000,
  ]);
  expect(backOffMs(0, 1)).toBe(50);
});
