/** The packed package works as installed from npm. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
const BIN = join(ROOT, "node_modules/.bin");
/** Time limit for packing, which compiles the package and calls npm. */
const PACKING_MS_MAX = 120_000;

let folder: string;
let tarball: string;
let files: readonly string[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "nowcast-three-"));
  const sources = join(folder, "three");
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

it("has its licences, its types and its maps, and no three.js of its own", () => {
  for (const name of ["LICENSE-MIT", "LICENSE-APACHE", "README.md", "dist/index.d.ts", "dist/index.js.map"]) {
    expect(files).toContain(name);
  }
  expect(files.filter((name) => name.includes("node_modules"))).toEqual([]);
});

it("passes publint", async () => {
  await run(join(BIN, "publint"), [tarball, "--strict"]);
});

it("has the example of its front page, which is compiled", () => {
  const readme = readFileSync(join(PACKAGE, "README.md"), "utf8");
  const example = readFileSync(join(PACKAGE, "test/example.ts"), "utf8");
  expect(/```ts\n(.*?)```/s.exec(readme)![1]).toBe(example);
  // A camera that reads a pose before the view samples the frame shows the avatar's position of the previous frame.
  expect(example.indexOf("view.sample(")).toBeGreaterThan(0);
  expect(example.indexOf("view.sample(")).toBeLessThan(example.indexOf("view.pose("));
});
