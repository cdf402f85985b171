/** The packed package works as installed from npm. */
import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
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

it("is bundled by Vite in a folder of its own, with its peers, as the pages of the README", async () => {
  const app = join(folder, "app");
  const modules = join(app, "node_modules");
  await mkdir(join(modules, "@nowcast"), { recursive: true });
  const own = join(modules, "@nowcast/page");
  await mkdir(own);
  await run("tar", ["-xzf", tarball, "-C", own, "--strip-components", "1"]);
  for (const peer of PEERS) {
    await symlink(join(ROOT, "node_modules", peer), join(modules, peer));
  }
  const readme = await readFile(join(own, "README.md"), "utf8");
  const [element, page] = [...readme.matchAll(/```html\n(.*?)```/gs)].map(([, text]) => text!);
  await writeFile(join(app, "element.html"), element!);
  await writeFile(join(app, "index.html"), page!);
  await writeFile(join(app, "page.ts"), /```ts\n(.*?)```/s.exec(readme)![1]!);
  const input = ["element.html", "index.html"].map((name) => join(app, name));
  const options = { target: "es2022", outDir: "out", rollupOptions: { input } };
  await build({ root: app, logLevel: "error", build: options });
  for (const name of input)
    expect(await readFile(name.replace(app, join(app, "out")), "utf8")).toContain(".js");
  expect((await readdir(join(app, "out/assets"))).some((name) => name.startsWith("element-"))).toBe(true);
});
