/** The SDK as npm would publish it, installed in an empty folder. */
import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
const SDK = fileURLToPath(new URL("../..", import.meta.url));

export interface Packed {
  readonly folder: string;
  readonly tarball: string;
  /** Names of the files in it. */
  readonly files: readonly string[];
  write(name: string, text: string): Promise<string>;
  remove(): Promise<void>;
}

export async function packSdk(): Promise<Packed> {
  const folder = await mkdtemp(join(tmpdir(), "nowcast-packed-"));
  // Built in another folder, because other tests run the SDK's own `dist`.
  const sdk = join(folder, "sdk");
  await mkdir(sdk);
  const compiler = join(ROOT, "node_modules/.bin/tsc");
  await run(compiler, ["-p", "tsconfig.build.json", "--outDir", join(sdk, "dist")], { cwd: SDK });
  for (const name of ["package.json", "README.md", "LICENSE-APACHE", "LICENSE-MIT"]) {
    await copyFile(join(SDK, name), join(sdk, name));
  }
  const pack = ["pack", "--json", "--silent", "--ignore-scripts", "--pack-destination", folder];
  const { stdout } = await run("npm", pack, { cwd: sdk });
  const [{ filename, files }] = JSON.parse(stdout.slice(stdout.indexOf("["))) as [
    { filename: string; files: { path: string }[] },
  ];
  const tarball = join(folder, filename);
  await writeFile(join(folder, "package.json"), '{ "name": "consumer", "private": true, "type": "module" }');
  await run("npm", ["install", "--offline", "--no-fund", "--no-audit", "--silent", tarball], { cwd: folder });
  return {
    folder,
    tarball,
    files: files.map(({ path }) => path),
    write: async (name, text) => {
      await writeFile(join(folder, name), text);
      return join(folder, name);
    },
    remove: () => rm(folder, { recursive: true }),
  };
}
