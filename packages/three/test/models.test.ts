import { type InstancedMesh, Matrix4, type Object3D, Quaternion, Vector3 } from "three";
import { expect, it } from "vitest";
import { Assets } from "../src/assets.js";
import { type DrawnKind, describeBody } from "../src/look/body.js";
import { findClip, gaitNames, motionNames } from "../src/models/moving-model.js";
import { createPose } from "../src/pose.js";
import { WorldScene } from "../src/world-scene.js";
import { describeTriangle, packGlb } from "./glb.js";

const FILES: Record<string, ArrayBuffer> = {
  leaf: packGlb(describeTriangle()),
  dancer: packGlb(describeTriangle(["idle", "Armature|walk", "run"])),
  broken: new ArrayBuffer(40),
};
const DEFINITION = {
  assets: Object.keys(FILES).map((name) => ({
    name: `assets/${name}.glb`,
    hash: `hash-of-${name}`,
    bytes: FILES[name]!.byteLength,
    type: "model/gltf-binary",
  })),
};

function kind(look: Record<string, unknown>, walker?: Record<string, unknown>): DrawnKind {
  const body = walker ? undefined : { shape: "box", size: [1, 1, 1] };
  return { name: "thing", body, walker, look };
}

function create(): { scene: WorldScene; reports: string[]; settle: () => Promise<void> } {
  const loading: Promise<unknown>[] = [];
  const reports: string[] = [];
  const assets = new Assets("", (url) => {
    const answer = Promise.resolve(new Response(FILES[url.replace("/assets/hash-of-", "")] ?? null));
    loading.push(answer);
    return answer;
  });
  const scene = new WorldScene({ assets, report: ({ message }) => reports.push(message) });
  scene.define(DEFINITION);
  const models = (): string => JSON.stringify([shown(scene), reports]);
  const settle = async (): Promise<void> => {
    const before = models();
    for (let turn = 0; turn < 200 && models() === before; turn++)
      await new Promise((done) => setTimeout(done, 10));
  };
  return { scene, reports, settle };
}

function put(scene: WorldScene, id: number, of: DrawnKind, pose = createPose(), attributes = {}): void {
  const entity = { id, kind: of, scale: [1, 1, 1] as const, parent: undefined, attributes };
  scene.change(describeBody(entity), pose, undefined);
}

/** Number of drawn boxes, instances of models, and clones of models. */
function shown({ group }: WorldScene): { boxes: number; still: number; clones: number } {
  const [, boxes, , , models] = group.children;
  const instances = (of: Object3D): number =>
    of.children.reduce((sum, child) => sum + ((child as Partial<InstancedMesh>).count ?? 0), 0);
  const clones = models!.children.filter((child) => !(child as Partial<InstancedMesh>).isInstancedMesh);
  return { boxes: instances(boxes!), still: instances(models!), clones: clones.length };
}

it("shows the form until the model is loaded, and then draws all instances by one mesh", async () => {
  const { scene, settle } = create();
  const leaf = kind({ model: "assets/leaf.glb", scale: 2 });
  put(scene, 1, leaf, createPose(3));
  put(scene, 2, leaf);
  expect(shown(scene)).toEqual({ boxes: 2, still: 0, clones: 0 });
  await settle();
  expect(shown(scene)).toEqual({ boxes: 0, still: 2, clones: 0 });
  put(scene, 3, leaf);
  expect(shown(scene)).toEqual({ boxes: 0, still: 3, clones: 0 });

  const mesh = scene.group.children[4]!.children[0] as InstancedMesh;
  const matrix = new Matrix4();
  mesh.getMatrixAt(0, matrix);
  expect(new Vector3(1, 0, 0).applyMatrix4(matrix).toArray()).toEqual([5, 0, 0]);

  scene.placeProps({
    pose: (id, out) => {
      out.position.set(id * 10, 0, 0);
      return true;
    },
    display: { hasJumped: () => false },
  });
  mesh.getMatrixAt(2, matrix);
  expect(new Vector3().setFromMatrixPosition(matrix).x).toBe(30);

  scene.remove(1);
  scene.remove(3);
  expect(shown(scene)).toEqual({ boxes: 0, still: 1, clones: 0 });
  mesh.getMatrixAt(0, matrix);
  expect(new Vector3().setFromMatrixPosition(matrix).x).toBe(20);
  scene.remove(2);
  expect(scene.group.children[4]!.children).toEqual([]);
});

it("keeps the form if the model is broken or missing, and reports that once", async () => {
  const { scene, reports, settle } = create();
  put(scene, 1, kind({ model: "assets/broken.glb" }));
  await settle();
  put(scene, 2, kind({ model: "assets/broken.glb" }));
  put(scene, 3, kind({ model: "assets/nowhere.glb" }));
  await settle();
  expect(shown(scene)).toEqual({ boxes: 3, still: 0, clones: 0 });
  expect(reports).toEqual([
    "assets/broken.glb: Error: it is not a .glb file",
    "assets/nowhere.glb: the world has no such file",
  ]);
});

it("gives players a model that stands on their feet and looks ahead", async () => {
  const { scene, settle } = create();
  put(scene, 1, kind({ model: "assets/dancer.glb" }, { height: 2 }), createPose(0, 1));
  await settle();
  expect(shown(scene)).toEqual({ boxes: 0, still: 0, clones: 1 });
  expect(scene.crowd.get(1)?.isModelled).toBe(true);
  scene.animate(0.1);
  const [root] = scene.group.children[4]!.children;
  expect(root!.position.y).toBeCloseTo(0);
  expect(new Vector3(0, 0, 1).applyQuaternion(root!.quaternion).z).toBeCloseTo(-1);
  // It is not drawn if the camera is inside.
  scene.animate(0.1, 1);
  expect(root!.visible).toBe(false);
});

it("plays the animation of an attribute, keeps the same model, and frees it at the end", async () => {
  const { scene, settle } = create();
  const dancer = kind({ model: "assets/dancer.glb" });
  put(scene, 1, dancer);
  await settle();
  const leaf = (): Object3D => scene.group.children[4]!.getObjectByName("leaf")!;
  const first = leaf();
  const before = first.quaternion.clone();
  scene.animate(0.5);
  expect(first.quaternion.equals(before)).toBe(true);
  put(scene, 1, dancer, createPose(), { animation: "run" });
  scene.animate(0.5);
  expect(leaf()).toBe(first);
  expect(first.quaternion.angleTo(new Quaternion())).toBeGreaterThan(0.1);
  scene.dispose();
  expect(shown(scene)).toEqual({ boxes: 0, still: 0, clones: 0 });
});

it("lets players stand, walk and run by their speed, with any of Blender's names", () => {
  const gait = { walkSpeed: 3, runSpeed: 6, acceleration: 40 };
  const clips = [{ name: "Idle" }, { name: "Armature|walk" }];
  const chosen = (speed: number): string | undefined => findClip(clips, gaitNames(speed, gait))?.name;
  expect([0.1, 2, 6].map(chosen)).toEqual(["Idle", "Armature|walk", "Armature|walk"]);
  expect(findClip(clips, ["jump"])).toBeUndefined();
});

it("has a sea at the declared height, and none without a declaration", () => {
  const { scene } = create();
  expect(scene.sea).toBeUndefined();
  put(scene, 1, kind({ sea: -3.2 }));
  expect(scene.sea).toBe(-3.2);
  scene.remove(1);
  expect(scene.sea).toBeUndefined();
});

it("a standing walker with a model makes its gesture, if the model has an animation with its name", () => {
  const gait = { walkSpeed: 3, runSpeed: 6, acceleration: 40 };
  const clips = ["Armature|Wave", "Armature|Idle", "Armature|Walk"].map((name) => ({ name }));
  const chosen = (emote: string | undefined, speed: number): string | undefined =>
    findClip(clips, motionNames({ emote, motion: { speed } }, gait))?.name;
  expect(chosen("wave", 0)).toBe("Armature|Wave");
  expect(chosen("wave", 3)).toBe("Armature|Walk");
  expect(chosen("bow", 0)).toBe("Armature|Idle");
  expect(chosen(undefined, 0)).toBe("Armature|Idle");
});
