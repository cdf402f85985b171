import { Color, Mesh, Scene, type WebGLRenderer } from "three";
import { expect, it } from "vitest";
import { SkyBackdrop } from "../src/sky/sky-backdrop.js";
import { Sun } from "../src/sun.js";

function backdrop() {
  const scene = new Scene();
  scene.background = new Color("#bcd7f0");
  const domElement = new EventTarget();
  let paints = 0;
  const renderer = {
    domElement,
    setRenderTarget: () => undefined,
    render: () => {
      paints++;
    },
  } as unknown as WebGLRenderer;
  const sky = new SkyBackdrop(scene, renderer, new Sun());
  return { scene, sky, domElement, paints: () => paints };
}

it("leaves the scene as it was without a sky of the world, and after it", () => {
  const { scene, sky, paints } = backdrop();
  const own = scene.background;
  sky.set(undefined);
  sky.update(1);
  expect([scene.background, scene.fog, scene.children.length, paints()]).toEqual([own, null, 0, 0]);
  sky.set({ time: 22, fog: 0.5 });
  sky.update(1);
  expect(scene.background).not.toBe(own);
  expect(scene.fog).toMatchObject({ density: 0.06 * 0.25 });
  expect([scene.children.length, paints()]).toEqual([1, 1]);
  sky.set(undefined);
  expect([scene.background, scene.fog, scene.children.length]).toEqual([own, null, 0]);
});

it("draws a sea at its height while the world has one, whose waves rest for users who prefer that", () => {
  const { scene, sky } = backdrop();
  sky.update(1, -3.2);
  const [around] = scene.children;
  expect([around?.visible, around?.position.y]).toEqual([true, -3.2]);
  const waves = () =>
    around?.children.map((part) => JSON.stringify(part instanceof Mesh && part.material.uniforms)).join();
  const before = waves();
  sky.update(1, -3.2, true);
  expect(waves()).toBe(before);
  sky.update(1, -3.2);
  expect(waves()).not.toBe(before);
  sky.update(1);
  expect(around?.visible).toBe(false);
  sky.dispose();
  expect(scene.children).toEqual([]);
});

it("paints the sky again after the graphics context was restored", () => {
  const { sky, domElement, paints } = backdrop();
  domElement.dispatchEvent(new Event("webglcontextrestored"));
  expect(paints()).toBe(0);
  sky.set({ time: 6 });
  sky.update(1);
  expect(paints()).toBe(1);
  domElement.dispatchEvent(new Event("webglcontextrestored"));
  expect(paints()).toBe(2);
  sky.dispose();
  domElement.dispatchEvent(new Event("webglcontextrestored"));
  expect(paints()).toBe(2);
});
