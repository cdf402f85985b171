import { MeshLambertMaterial, PerspectiveCamera, Vector3, Vector4, type WebGLRenderer } from "three";
import { expect, it } from "vitest";
import { createKitModel } from "../src/models/kit.js";
import { Sightline } from "../src/scene/sightline.js";

interface Shader {
  uniforms: Record<string, { value: Vector4 }>;
  vertexShader: string;
  fragmentShader: string;
}

function compile(material: MeshLambertMaterial): Shader {
  const fragmentShader = "#include <common>\nvoid main() {\n#include <clipping_planes_fragment>\n}";
  const shader: Shader = { uniforms: {}, vertexShader: "", fragmentShader };
  material.onBeforeCompile(shader as never, undefined as unknown as WebGLRenderer);
  return shader;
}

it("opens_the_way_from_the_camera_to_a_watched_place_and_closes_it", () => {
  const sightline = new Sightline();
  const { uniforms, fragmentShader } = compile(sightline.open(new MeshLambertMaterial()));
  expect(fragmentShader).toContain("discard");
  const sight = uniforms["sight"]!.value;
  expect(sight.w).toBe(0);
  const camera = new PerspectiveCamera();
  camera.position.set(0, 1, 10);
  sightline.watch(camera, new Vector3(0, 1, 4));
  expect(sight.w).toBeGreaterThan(0);
  expect([sight.x, sight.y]).toEqual([0, 0]);
  // The opening ends before the watched person, so that the wall behind stays whole.
  expect(sight.z).toBeLessThan(-4.5);
  expect(sight.z).toBeGreaterThan(-6);
  sightline.watch(camera, undefined);
  expect(sight).toEqual(new Vector4(0, 0, 0, 0));
});

it("keeps_the_floor_whole_for_a_camera_that_looks_up_from_the_floor", () => {
  const sightline = new Sightline();
  const { uniforms } = compile(sightline.open(new MeshLambertMaterial()));
  const camera = new PerspectiveCamera();
  const radiusFrom = (height: number): number => {
    camera.position.set(0, height, 3);
    sightline.watch(camera, new Vector3(0, 0.9, 0));
    return uniforms["sight"]!.value.w;
  };
  expect(radiusFrom(0.22)).toBe(0);
  expect(radiusFrom(0.7)).toBeLessThan(radiusFrom(0.9));
  expect(radiusFrom(0.9)).toBe(radiusFrom(3));
});

it("opens_nothing_if_the_camera_is_at_the_watched_person", () => {
  const sightline = new Sightline();
  const { uniforms } = compile(sightline.open(new MeshLambertMaterial()));
  sightline.watch(new PerspectiveCamera(), new Vector3(0, 0, -0.5));
  expect(uniforms["sight"]!.value.w).toBe(0);
});

it("opens_lit_parts_of_models_and_leaves_their_lights_whole", () => {
  const { root } = new Sightline().openModel(createKitModel("lamp"));
  const keys = root.children.map((child) =>
    (child as unknown as { material: MeshLambertMaterial }).material.customProgramCacheKey(),
  );
  expect(keys.map((key) => key.endsWith("sightline"))).toEqual([true, false]);
});
