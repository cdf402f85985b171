import { measure, wants } from "./measure.js";
import { json, messageSuites, msgpackCodecs } from "./messages.js";
import { movementSuite } from "./movement.js";
import { inferredCodec } from "./nowcast-codec.js";
import type { Findings, Suite, Task } from "./types.js";

/** Runs the requested tests in this engine. */
export function runTask(task: Task, engine: string, notes: string[]): Findings {
  const suites: Suite<unknown>[] = [];
  const about = [
    ...notes,
    '"nowcast, shape known" writes into one buffer that is used again, as "custom, one buffer" does: a channel copies it into its packet. ' +
      '"nowcast, to keep" makes every body a separate copy, like the other codecs.',
  ];
  if (wants(task, "messages")) suites.push(...messageSuites());
  if (wants(task, "movement")) suites.push(movementSuite(task.moves) as Suite<unknown>);
  if (wants(task, "save")) {
    suites.push({
      test: "save",
      title: "Game save",
      unit: "ms",
      value: task.save,
      codecs: [json(), ...msgpackCodecs<unknown>(), inferredCodec()],
    });
  }
  return { engine, notes: about, tests: suites.map((suite) => measure(suite, task.samples)) };
}
