/** The animation of the updatable queue shows the queue of the SDK. */
import { expect, it } from "vitest";
import { ENTRIES_MAX, QueueModel } from "../src/queue/queue-model.js";

const textsOf = (model: QueueModel): readonly string[] => model.entries().map(({ value }) => value.text);

it("newer_state_takes_the_place_of_the_older_one_and_events_are_barriers", () => {
  const model = new QueueModel();
  model.putState(0, 0);
  model.putState(0, 1);
  expect(model.putState(0, 0)).toBe("replaced");
  expect(textsOf(model)).toEqual(["A3", "B2"]);
  model.putEvent(0);
  expect(model.putState(0, 0)).toBe("queued");
  expect(textsOf(model)).toEqual(["A3", "B2", "!4", "A5"]);
  expect(model.plain.map(({ value }) => value.text)).toEqual(["A1", "B2", "A3", "!4", "A5"]);
});

it("showing_the_entries_changes_nothing", () => {
  const model = new QueueModel();
  for (let put = 0; put < 5; put++) model.putState(put, put % 3);
  model.putEvent(9);
  const before = textsOf(model);
  expect(textsOf(model)).toEqual(before);
  expect(model.replaced).toBe(2);
});

it("plain_queue_gets_full_where_the_updatable_one_does_not", () => {
  const model = new QueueModel();
  for (let put = 0; put < 100; put++) model.putState(put, put % 3);
  expect(model.plain).toHaveLength(ENTRIES_MAX);
  expect(model.refused.plain).toBe(100 - ENTRIES_MAX);
  expect(model.refused.updatable).toBe(0);
  expect(textsOf(model)).toEqual(["A100", "B98", "C99"]);
  model.take(200);
  expect(model.taken.updatable).toMatchObject({ entry: { value: { text: "A100" } }, ageMs: 101 });
  expect(model.taken.plain).toMatchObject({ entry: { value: { text: "A1" } }, ageMs: 200 });
});
