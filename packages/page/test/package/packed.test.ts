/** The packed package works as installed from npm. */
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { blocksOf, PACKING_MS_MAX, Packed } from "../../../nowcast/test/package/packed.js";

let packed: Packed;
beforeAll(async () => {
  packed = await Packed.pack("page");
}, PACKING_MS_MAX);
afterAll(() => packed?.remove());

it("has its licences, its types and its maps, and no library of its own", () => packed.expectPublishable());

it("is bundled by Vite in a folder of its own, with its peers, as the pages of the guide", async () => {
  const project = await packed.install("@nowcast/page", ["nowcast", "three", "@nowcast/three"]);
  const guide = await readFile(new URL("../../../../docs/how-to/page-parts.md", import.meta.url), "utf8");
  const [element, page] = blocksOf(guide, "html");
  await project.write("element.html", element!);
  await project.write("index.html", page!);
  await project.write("page.ts", blocksOf(guide, "ts")[0]!);
  const code = await project.bundle(["element.html", "index.html"]);
  expect(code.get("element")).toContain("nowcast-world");
  expect(code.get("index")).toContain("/r/");
});
