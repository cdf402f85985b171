import fc from "fast-check";
import { Box3, Quaternion, Ray, Vector3 } from "three";
import { expect, it } from "vitest";
import { createPose } from "../src/pose.js";
import { type RayBox, rayBoxDistance } from "../src/scene/ray.js";

const upright: RayBox = { ...createPose(0, 0, -5), halfX: 1, halfY: 1, halfZ: 1 };

it("meets the near face of a box ahead", () => {
  expect(rayBoxDistance(upright, 0, 0, 0, 0, 0, 0, -1)).toBeCloseTo(4);
  expect(rayBoxDistance(upright, 0.25, 0, 0, 0, 0, 0, -1)).toBeCloseTo(3.75);
});

it("misses a box beside or behind", () => {
  expect(rayBoxDistance(upright, 0, 3, 0, 0, 0, 0, -1)).toBe(Number.POSITIVE_INFINITY);
  expect(rayBoxDistance(upright, 0, 0, 0, 0, 0, 0, 1)).toBe(Number.POSITIVE_INFINITY);
});

it("does not count a box that the ray starts in", () => {
  expect(rayBoxDistance(upright, 0, 0, 0, -5, 0, 0, -1)).toBe(Number.POSITIVE_INFINITY);
});

it("meets a turned box on its edge", () => {
  const turned = { ...upright, ...createPose(0, 0, -5, Math.PI / 4) };
  expect(rayBoxDistance(turned, 0, 0, 0, 0, 0, 0, -1)).toBeCloseTo(5 - Math.SQRT2);
});

it("agrees with an independent ray test in the box's frame", () => {
  const number = (size: number) => fc.double({ min: -size, max: size, noNaN: true });
  const vector = (size: number) => fc.tuple(number(size), number(size), number(size));
  fc.assert(
    fc.property(vector(4), vector(3), vector(1), vector(1), (at, axis, from, toward) => {
      const direction = new Vector3(...toward);
      const q = new Quaternion(...axis, 1).normalize();
      const origin = new Vector3(...from).multiplyScalar(8);
      fc.pre(direction.length() > 0.01);
      direction.normalize();
      const box = { position: new Vector3(...at), quaternion: q, halfX: 0.5, halfY: 1, halfZ: 0.3 };
      const inverse = q.clone().invert();
      const ray = new Ray(
        origin
          .clone()
          .sub(new Vector3(...at))
          .applyQuaternion(inverse),
        direction.clone().applyQuaternion(inverse),
      );
      const bounds = new Box3(new Vector3(-0.5, -1, -0.3), new Vector3(0.5, 1, 0.3));
      fc.pre(bounds.distanceToPoint(ray.origin) > 1e-6);
      const hit = ray.intersectBox(bounds, new Vector3());
      const expected = hit ? hit.distanceTo(ray.origin) : Number.POSITIVE_INFINITY;
      const actual = rayBoxDistance(box, 0, ...origin.toArray(), ...direction.toArray());
      // A ray that only grazes an edge may hit or miss.
      const grazing = Number.isFinite(actual) !== Number.isFinite(expected);
      if (grazing) {
        const grown = bounds.clone().expandByScalar(1e-6);
        const shrunk = bounds.clone().expandByScalar(-1e-6);
        return ray.intersectsBox(grown) && !ray.intersectsBox(shrunk);
      }
      return actual === expected || Math.abs(actual - expected) < 1e-6;
    }),
    { numRuns: 500 },
  );
});
