/** The packed package works as installed from npm. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, it } from "vitest";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
const BIN = join(ROOT, "node_modules/.bin");
/** Time limit for packing, which compiles the package and calls npm. */
const PACKING_MS_MAX = 120_000;
/** After gzip, without Rapier. */
const OWN_BYTES_MAX = 12_000;

let folder: string;
let tarball: string;
let files: readonly string[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "nowcast-predict-"));
  const sources = join(folder, "predict-rapier");
  await mkdir(sources);
  // Built in another folder, because other tests run the package's own `dist`.
  await run(join(BIN, "tsc"), ["-p", "tsconfig.build.json", "--outDir", join(sources, "dist")], {
    cwd: PACKAGE,
  });
  for (const name of ["package.json", "README.md", "LICENSE-APACHE", "LICENSE-MIT"]) {
    await copyFile(join(PACKAGE, name), join(sources, name));
  }
  const pack = ["pack", "--json", "--silent", "--ignore-scripts", "--pack-destination", folder];
  const { stdout } = await run("npm", pack, { cwd: sources });
  const [packed] = JSON.parse(stdout.slice(stdout.indexOf("["))) as [
    { filename: string; files: { path: string }[] },
  ];
  tarball = join(folder, packed.filename);
  files = packed.files.map(({ path }) => path);
}, PACKING_MS_MAX);
afterAll(() => rm(folder, { recursive: true }));

it("has its licences, its types and its maps, and no WebAssembly of its own", () => {
  for (const name of ["LICENSE-MIT", "LICENSE-APACHE", "README.md", "dist/index.d.ts", "dist/index.js.map"]) {
    expect(files).toContain(name);
  }
  expect(files.filter((name) => name.includes("node_modules") || name.endsWith(".wasm"))).toEqual([]);
});

it("passes publint", async () => {
  await run(join(BIN, "publint"), [tarball, "--strict"]);
});

it("names the one release of Rapier that calculates as the server does", () => {
  const { dependencies } = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8"));
  expect(dependencies).toEqual({ "@dimforge/rapier3d-deterministic-compat": "0.21.0" });
});

it("compiles the example of its front page", () => {
  const readme = readFileSync(join(PACKAGE, "README.md"), "utf8");
  expect(/```ts\n(.*?)```/s.exec(readme)![1]).toBe(readFileSync(join(PACKAGE, "test/example.ts"), "utf8"));
});

it("adds no more to a page than documented, besides Rapier, which is loaded later", async () => {
  const { outputFiles } = await build({
    entryPoints: [join(PACKAGE, "src/index.ts")],
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    external: ["nowcast/extend", "nowcast/world", "@dimforge/rapier3d-deterministic-compat"],
    write: false,
    logLevel: "error",
  });
  const bytes = gzipSync(outputFiles[0]!.contents, { level: 9 }).length;
  console.log(`${bytes} bytes after gzip`);
  expect(bytes).toBeLessThan(OWN_BYTES_MAX);
});
