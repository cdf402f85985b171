// Bundles the bench for Node and for the page, and runs it; `cargo xtask lab codec` calls this.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
// Inside the package, so that modules left out of the bundle are found from there.
const folder = mkdtempSync(join(here, "dist-"));
try {
  /** @type {import("esbuild").BuildOptions} */
  const shared = { bundle: true, format: "esm", target: "es2022", logLevel: "error", outdir: folder };
  await build({
    ...shared,
    entryPoints: [join(here, "src/bench.ts")],
    platform: "node",
    packages: "external",
  });
  await build({ ...shared, entryPoints: [join(here, "src/page.ts")], platform: "browser" });
  const page = join(folder, "page.js");
  const args = [join(folder, "bench.js"), "--page", page, ...process.argv.slice(2)];
  process.exitCode = spawnSync(process.execPath, args, { stdio: "inherit" }).status ?? 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
