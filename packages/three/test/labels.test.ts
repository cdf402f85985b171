/**
 * Names above people: they do not cover each other, and fade behind obstacles.
 *
 * @vitest-environment jsdom
 */
import { PerspectiveCamera } from "three";
import { expect, it } from "vitest";
import { Labels } from "../src/labels.js";
import { createPose } from "../src/pose.js";

const NOTHING = { cast: () => Number.POSITIVE_INFINITY };

function stage(): { labels: Labels; layer: HTMLElement; camera: PerspectiveCamera } {
  const layer = document.createElement("div");
  Object.defineProperties(layer, { clientWidth: { value: 800 }, clientHeight: { value: 600 } });
  const camera = new PerspectiveCamera(60, 800 / 600, 0.1, 100);
  camera.position.set(0, 1.5, 10);
  camera.lookAt(0, 1.5, 0);
  camera.updateMatrixWorld();
  const labels = new Labels(layer);
  labels.topPx = 59;
  return { labels, layer, camera };
}

function placesOf(layer: HTMLElement): number[][] {
  return [...layer.querySelectorAll<HTMLElement>(".label")].map(({ style }) =>
    [...style.transform.matchAll(/-?\d+/g)].map(([number]) => Number(number)),
  );
}

it("names at one place are stacked, and names apart stay", () => {
  const { labels, layer, camera } = stage();
  for (const [id, x] of [0, 0.1, 0.2, 4].entries()) labels.set(id, "Somebody", createPose(x, 1), 1);
  labels.update(0, camera, undefined, NOTHING);
  const places = placesOf(layer);
  expect(places).toHaveLength(4);
  const heights = places.map(([, y]) => y!);
  expect(heights[0]! - heights[1]!).toBe(25);
  expect(heights[1]! - heights[2]!).toBe(25);
  expect(heights[3]).toBe(heights[0]);
});

it("names and bubbles at the edges of the picture are whole, and below the buttons of a page", () => {
  const { labels, layer, camera } = stage();
  labels.set(0, "Somebody at the right", createPose(7.9, 1), 1);
  labels.set(1, "Somebody at the left", createPose(-7.9, 1), 1);
  labels.set(2, "Ada", createPose(0, 6.5), 1);
  labels.set(3, "Ben", createPose(0, 6.6), 1);
  labels.say(1, "A line of chat that is as wide as a bubble may be", 0);
  labels.update(0, camera, undefined, NOTHING);
  const [right, left, first, second] = placesOf(layer);
  expect(right![0]! + (21 * 8.2 + 20) / 2).toBeLessThanOrEqual(800);
  expect(left![0]! - 120).toBeGreaterThanOrEqual(0);
  // The place of a name is its lower edge.
  expect(first![1]).toBe(84);
  expect(second![1]).toBe(84 + 25);
});

it("a name near the upper edge moves up if a place is free there, and down otherwise", () => {
  const { labels, layer, camera } = stage();
  for (const id of [0, 1, 2]) labels.set(id, "Ada", createPose(0, 4), 1);
  labels.update(0, camera, undefined, NOTHING);
  const [first, second, third] = placesOf(layer).map(([, y]) => y!);
  expect(first).toBeGreaterThan(84 + 25);
  expect(first).toBeLessThan(84 + 50);
  expect([second, third]).toEqual([first! - 25, first! + 25]);
});

it("a name behind an obstacle fades, and comes back when the obstacle is gone", () => {
  const { labels, layer, camera } = stage();
  labels.set(1, "Somebody", createPose(0, 1), 1);
  const opacity = (): string => layer.querySelector<HTMLElement>(".label")!.style.opacity;
  const wall = { cast: () => 5 };
  for (let frame = 0; frame < 3; frame++) labels.update(frame, camera, undefined, wall);
  expect(opacity()).toBe("0.25");
  for (let frame = 3; frame < 6; frame++) labels.update(frame, camera, undefined, NOTHING);
  expect(Number(opacity())).toBeGreaterThan(0.9);
});
