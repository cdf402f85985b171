import { InstancedMesh, Matrix4, Vector3 } from "three";
import { expect, it } from "vitest";
import { type DrawnKind, describeBody } from "../src/look/body.js";
import { copyPose, createPose } from "../src/pose.js";
import { WorldScene } from "../src/world-scene.js";

const LAWN: DrawnKind = {
  name: "lawn",
  body: { motion: "fixed", shape: "box", size: [40, 1, 40] },
  walker: undefined,
  look: { color: "#86a866" },
};
const PATH: DrawnKind = {
  name: "path",
  body: undefined,
  walker: undefined,
  look: { shape: "box", size: [4, 0.012, 30] },
};

function add(scene: WorldScene, id: number, kind: DrawnKind, y: number, attributes = {}): void {
  const body = describeBody({ id, kind, scale: [1, 1, 1], parent: undefined, attributes });
  scene.change(body, createPose(0, y, 0), undefined);
}

/** The places of all tufts on the path, which lies along Z. */
function tuftsOnPath(scene: WorldScene): { on: number; all: number } {
  let [on, all] = [0, 0];
  const [matrix, at] = [new Matrix4(), new Vector3()];
  scene.group.traverse((object) => {
    if (!(object instanceof InstancedMesh) || object.count < 100) return;
    for (let tuft = 0; tuft < object.count; tuft++) {
      object.getMatrixAt(tuft, matrix);
      at.setFromMatrixPosition(matrix);
      all++;
      if (Math.abs(at.x) < 2 && Math.abs(at.z) < 15) on++;
    }
  });
  return { on, all };
}

it("grass_grows_beside_a_flat_path_and_not_through_it", () => {
  const scene = new WorldScene({ detail: { bevelSegments: 1, rich: false, grass: true } });
  add(scene, 1, LAWN, -0.5);
  scene.animate(1);
  expect(tuftsOnPath(scene).on).toBeGreaterThan(0);
  add(scene, 2, PATH, 0.006);
  scene.animate(1);
  const { on, all } = tuftsOnPath(scene);
  expect(on).toBe(0);
  expect(all).toBeGreaterThan(1_000);
});

it("grass_grows_although_the_colour_of_a_path_changes_all_the_time", () => {
  const scene = new WorldScene({ detail: { bevelSegments: 1, rich: false, grass: true } });
  add(scene, 1, LAWN, -0.5);
  for (let change = 0; change < 10; change++) {
    add(scene, 2, PATH, 0.006, { color: change });
    scene.animate(0.1);
  }
  const { on, all } = tuftsOnPath(scene);
  expect(on).toBe(0);
  expect(all).toBeGreaterThan(1_000);
});

it("grass_grows_below_transparent_markers_and_where_a_flat_prop_has_left", () => {
  const scene = new WorldScene({ detail: { bevelSegments: 1, rich: false, grass: true } });
  add(scene, 1, LAWN, -0.5);
  add(scene, 2, PATH, 0.006, { opacity: 0.5 });
  scene.animate(1);
  const { on } = tuftsOnPath(scene);
  expect(on).toBeGreaterThan(0);
  add(scene, 3, PATH, 0.006);
  scene.animate(1);
  expect(tuftsOnPath(scene).on).toBe(0);
  scene.placeProps({
    pose: (id, out) => id === 3 && copyPose(createPose(0, 0.006, 16), out) === undefined,
    display: { hasJumped: () => false },
  });
  scene.animate(1);
  expect(tuftsOnPath(scene).on).toBe(on);
});
