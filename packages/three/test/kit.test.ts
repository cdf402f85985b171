import { readFileSync } from "node:fs";
import { Box3, Mesh } from "three";
import { expect, it } from "vitest";
import { describeBody } from "../src/look/body.js";
import { createKitModel } from "../src/models/kit.js";
import { createPose } from "../src/pose.js";
import { WorldScene } from "../src/world-scene.js";

const HEIGHTS = [
  ["tree", 3.75],
  ["pine", 4.26],
  ["bush", 0.86],
  ["rock", 0.83],
  ["fence", 1],
  ["lamp", 3.1],
  ["bench", 0.89],
  ["crate", 1],
  ["barrel", 1.08],
  ["sign", 1.64],
  ["boat", 0.84],
] as const;
const TRIANGLES_MAX = 700;

it("the_guide_lists_the_models_of_the_kit", () => {
  const guide = readFileSync(new URL("../../../docs/how-to/pages.md", import.meta.url), "utf8");
  const rows = guide.slice(guide.indexOf("models of `@nowcast/kit/`")).split("\n").slice(2, 5).join();
  const listed = [...rows.matchAll(/`(\w+)`/g)].map(([, name]) => name);
  expect(listed.sort()).toEqual(HEIGHTS.map(([name]) => name as string).sort());
});

it.each(HEIGHTS)("%s_has_the_height_of_its_body_and_few_triangles", (name, height) => {
  const { root } = createKitModel(name);
  const { min, max } = new Box3().setFromObject(root);
  expect(max.y).toBeCloseTo(height / 2, 2);
  // Stones and bushes reach a little into the ground.
  expect(min.y).toBeLessThan(0.01 - height / 2);
  let triangles = 0;
  root.traverse((object) => {
    if (!(object instanceof Mesh)) return;
    const { geometry } = object;
    triangles += (geometry.index ?? geometry.getAttribute("position")).count / 3;
  });
  expect(triangles).toBeGreaterThan(20);
  expect(triangles).toBeLessThan(TRIANGLES_MAX);
});

it("a_world_shows_a_model_of_the_kit_without_a_file_and_reports_an_unknown_one", async () => {
  const reports: string[] = [];
  const scene = new WorldScene({ report: ({ message }) => reports.push(message) });
  const put = (id: number, model: string): void => {
    const kind = { name: "thing", body: undefined, walker: undefined, look: { model } };
    const entity = { id, kind, scale: [1, 1, 1] as const, parent: undefined, attributes: {} };
    scene.change(describeBody(entity), createPose(), undefined);
  };
  put(1, "@nowcast/kit/tree");
  put(2, "@nowcast/kit/elm");
  await expect.poll(() => [scene.get(1)?.isModelled, reports.length]).toEqual([true, 1]);
  expect(reports[0]).toContain("the kit has no such model; it has tree");
  expect(scene.get(2)?.isModelled).toBe(false);
});
