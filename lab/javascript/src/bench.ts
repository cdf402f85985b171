import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { runInBrowser } from "./serve.js";
import { runTask } from "./suites.js";
import type { Task } from "./types.js";

/** Reads a task, runs it in Node or in Chromium, and prints the results as JSON. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      task: { type: "string" },
      page: { type: "string" },
      browser: { type: "boolean", default: false },
      "browser-path": { type: "string", default: "/usr/bin/chromium" },
    },
  });
  if (values.task === undefined) throw new Error("--task names the file with the task");
  const task = JSON.parse(readFileSync(values.task, "utf8")) as Task;
  const findings = values.browser
    ? await runInBrowser(task, readFileSync(values.page ?? "", "utf8"), values["browser-path"])
    : runTask(task, `Node ${process.version}`, []);
  process.stdout.write(`${JSON.stringify(findings)}\n`);
}

await main();
