import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const SCRIPT = fileURLToPath(new URL("../../frame-cost.mjs", import.meta.url));
// A new space of this size needs no collection during a measurement, which would hide garbage.
const FLAGS = ["--single-threaded", "--expose-gc", "--min-semi-space-size=64", "--max-semi-space-size=64"];

it("a_frame_with_300_entities_makes_no_objects_except_the_events_of_snapshots", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [...FLAGS, SCRIPT, "--check"]);
  expect(stdout).toMatch(/garbage: [\d.]+ bytes a frame/);
});
