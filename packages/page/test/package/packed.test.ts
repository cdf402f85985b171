/** The packed package works as installed from npm. */
import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "vite";
import { afterAll, beforeAll, expect, it } from "vitest";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
const PEERS = ["nowcast", "three", "@nowcast/three"];
const MAIN = `import "@nowcast/page/element";
import { WorldPage } from "@nowcast/page";
console.log(WorldPage);
`;
const BIN = join(ROOT, "node_modules/.bin");
/** Time limit for packing, which compiles the package and calls npm. */
const PACKING_MS_MAX = 120_000;

let folder: string;
let tarball: string;
let files: readonly string[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "nowcast-page-"));
  const sources = join(folder, "page");
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

it("has its licences, its types and its maps, and no library of its own", () => {
  for (const name of ["LICENSE-MIT", "LICENSE-APACHE", "README.md", "dist/index.d.ts", "dist/index.js.map"]) {
    expect(files).toContain(name);
  }
  expect(files.filter((name) => name.includes("node_modules"))).toEqual([]);
});

it("passes publint", async () => {
  await run(join(BIN, "publint"), [tarball, "--strict"]);
});

it("is bundled by Vite in a folder of its own, with its peers", async () => {
  const app = join(folder, "app");
  const modules = join(app, "node_modules");
  await mkdir(join(modules, "@nowcast"), { recursive: true });
  const own = join(modules, "@nowcast/page");
  await mkdir(own);
  await run("tar", ["-xzf", tarball, "-C", own, "--strip-components", "1"]);
  for (const peer of PEERS) {
    await symlink(join(ROOT, "node_modules", peer), join(modules, peer));
  }
  await writeFile(join(app, "index.html"), '<script type="module" src="/main.js"></script>');
  await writeFile(join(app, "main.js"), MAIN);
  await build({ root: app, logLevel: "error", build: { target: "es2022", outDir: "out" } });
  expect((await readdir(join(app, "out/assets"))).some((name) => name.endsWith(".js"))).toBe(true);
});
