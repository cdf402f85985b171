import { InstancedMesh, Matrix4, Vector3 } from "three";
import { expect, it } from "vitest";
import { type DrawnKind, describeBody } from "../src/look/body.js";
import { createPose } from "../src/pose.js";
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

function add(scene: WorldScene, id: number, kind: DrawnKind, y: number): void {
  const body = describeBody({ id, kind, scale: [1, 1, 1], parent: undefined, attributes: {} });
  scene.add(body, createPose(0, y, 0), undefined);
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
