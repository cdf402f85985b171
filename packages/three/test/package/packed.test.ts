/** The packed package works as installed from npm. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { blocksOf, PACKING_MS_MAX, Packed, ROOT } from "../../../nowcast/test/package/packed.js";

const PACKAGE = join(ROOT, "packages/three");
const GUIDE = readFileSync(join(ROOT, "docs/how-to/three.md"), "utf8");

let packed: Packed;
beforeAll(async () => {
  packed = await Packed.pack("three");
}, PACKING_MS_MAX);
afterAll(() => packed?.remove());

it("has its licences, its types and its maps, and no three.js of its own", () => packed.expectPublishable());

it("is bundled by Vite in a folder of its own, with its peers, as the page of the guide", async () => {
  const project = await packed.install("@nowcast/three", ["nowcast", "three"]);
  await project.write("index.html", '<div id="labels"></div><script type="module" src="/page.ts"></script>');
  await project.write("page.ts", blocksOf(GUIDE, "ts")[0]!);
  expect((await project.bundle()).get("index")).toContain("/r/");
});

it("has the example of its guide, which is compiled", () => {
  const example = readFileSync(join(PACKAGE, "test/example.ts"), "utf8");
  expect(blocksOf(GUIDE, "ts")[0]).toBe(example);
  // A camera that reads a pose before the frame shows the avatar's position of the previous frame.
  expect(example.indexOf("world.frame(")).toBeGreaterThan(0);
  expect(example.indexOf("world.frame(")).toBeLessThan(example.indexOf("world.pose("));
});
