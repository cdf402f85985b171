/** The program `nowcast`, as the tests of the documents run it. */
import { spawnSync } from "node:child_process";
import { nowcastBinary } from "../../nowcast/test/server-process.js";

export interface Run {
  readonly code: number | null;
  readonly output: string;
}

/** Runs a command in a folder, and returns everything that it prints. */
export function runNowcast(words: readonly string[], folder: string): Run {
  const { status, stdout, stderr } = spawnSync(nowcastBinary(), words, {
    cwd: folder,
    encoding: "utf8",
    // The width of helps.
    env: { ...process.env, COLUMNS: "100" },
    maxBuffer: 1 << 24,
  });
  return { code: status, output: `${stdout}${stderr}` };
}

const helps = new Map<string, string>();

/** The help of a command; empty if there is no such command. */
export function helpOf(command: readonly string[]): string {
  const key = command.join(" ");
  const known = helps.get(key);
  if (known !== undefined) return known;
  const { code, output } = runNowcast([...command, "--help"], process.cwd());
  const help = code === 0 ? output : "";
  helps.set(key, help);
  return help;
}
