import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The bots are plain JavaScript and use the SDK as applications do: built, and once for all tests of this folder. */
export default function buildSdk(): void {
  const compile = ["node_modules/typescript/bin/tsc", "-p", "packages/nowcast/tsconfig.build.json"];
  execFileSync(process.execPath, compile, { cwd: fileURLToPath(new URL("../..", import.meta.url)) });
}
