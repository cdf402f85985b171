/** The packed package works as installed from npm. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { PACKING_MS_MAX, Packed } from "../../../nowcast/test/package/packed.js";

const MAIN = `import { useScreen } from "@nowcast/react";
console.log("a page", useScreen);
`;

let packed: Packed;
beforeAll(async () => {
  packed = await Packed.pack("react");
}, PACKING_MS_MAX);
afterAll(() => packed?.remove());

it("has its licences, its types and its maps, and no React of its own", () => packed.expectPublishable());

it("is bundled by Vite in a folder of its own, with its peers", async () => {
  const project = await packed.install("@nowcast/react", ["nowcast", "react"]);
  await project.write("index.html", '<script type="module" src="/main.js"></script>');
  await project.write("main.js", MAIN);
  expect((await project.bundle()).get("index")).toContain("a page");
});
