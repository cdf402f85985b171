/** A new world from a checkout, whose packages are in no registry. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { nowcastBinary } from "../../nowcast/test/server-process.js";

it("a_new_world_from_a_checkout_installs_its_compiler_from_there_and_passes_its_tests", () => {
  const parent = mkdtempSync(join(tmpdir(), "nowcast checkout-"));
  const { NOWCAST_BIN: _, ...env } = process.env;
  const run = (program: string, words: string, cwd: string): void => {
    const { status, stdout, stderr } = spawnSync(program, words.split(" "), { cwd, env, encoding: "utf8" });
    expect(`${words}: ${status} ${status === 0 ? "" : stdout + stderr}`).toBe(`${words}: 0 `);
  };
  try {
    run(nowcastBinary(), "new my-world --typescript", parent);
    const world = join(parent, "my-world");
    run("npm", "install --no-audit --no-fund --prefer-offline", world);
    run("npm", "run check", world);
    run("npm", "test", world);
  } finally {
    rmSync(parent, { recursive: true, force: true });
  }
});
