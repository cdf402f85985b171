/** The packed package works as installed from npm. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, it } from "vitest";
import { blocksOf, PACKING_MS_MAX, Packed, ROOT } from "../../../nowcast/test/package/packed.js";

const PACKAGE = join(ROOT, "packages/predict-rapier");
const RAPIER = "@dimforge/rapier3d-deterministic-compat";
/** After gzip, without Rapier. */
const OWN_BYTES_MAX = 13_000;

let packed: Packed;
beforeAll(async () => {
  packed = await Packed.pack("predict-rapier");
}, PACKING_MS_MAX);
afterAll(() => packed?.remove());

it("has its licences, its types and its maps, and no WebAssembly of its own", () =>
  packed.expectPublishable());

it("is bundled by Vite in a folder of its own, with its peers, and loads Rapier later", async () => {
  const project = await packed.install("@nowcast/predict-rapier", ["nowcast", RAPIER]);
  await project.write("index.html", '<script type="module" src="/main.js"></script>');
  await project.write(
    "main.js",
    'import * as own from "@nowcast/predict-rapier";\nconsole.log("a page", own);\n',
  );
  const code = await project.bundle();
  expect(code.get("index")).toContain("a page");
  expect(code.get("index")!.length).toBeLessThan(1_000_000);
  expect(Math.max(...[...code.values()].map(({ length }) => length))).toBeGreaterThan(1_000_000);
});

it("names the one release of Rapier that calculates as the server does", () => {
  const { dependencies } = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8"));
  expect(dependencies).toEqual({ [RAPIER]: "0.21.0" });
});

it("compiles the example of its front page", () => {
  const readme = readFileSync(join(PACKAGE, "README.md"), "utf8");
  expect(blocksOf(readme, "ts")[0]).toBe(readFileSync(join(PACKAGE, "test/example.ts"), "utf8"));
});

it("adds no more to a page than documented, besides Rapier, which is loaded later", async () => {
  const { outputFiles } = await build({
    entryPoints: [join(PACKAGE, "src/index.ts")],
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    external: ["nowcast/extend", "nowcast/world", RAPIER],
    write: false,
    logLevel: "error",
  });
  const bytes = gzipSync(outputFiles[0]!.contents, { level: 9 }).length;
  console.log(`${bytes} bytes after gzip`);
  expect(bytes).toBeLessThan(OWN_BYTES_MAX);
});
