import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Builds the SDK once for all tests of this folder, because the bots are plain JavaScript and need the compiled SDK. */
export default function buildSdk(): void {
  const compile = ["node_modules/typescript/bin/tsc", "-p", "packages/nowcast/tsconfig.build.json"];
  execFileSync(process.execPath, compile, { cwd: fileURLToPath(new URL("../..", import.meta.url)) });
}
