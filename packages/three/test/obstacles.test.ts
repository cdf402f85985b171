import fc from "fast-check";
import { Mesh, MeshBasicMaterial, Quaternion, Raycaster, Vector3 } from "three";
import { expect, it } from "vitest";
import { type Form, readForm } from "../../nowcast/src/world/describe/shape.js";
import { type DrawnKind, describeBody } from "../src/look/body.js";
import { createPose, type Pose } from "../src/pose.js";
import { createGeometry } from "../src/scene/form-geometry.js";
import { Obstacles } from "../src/scene/obstacles.js";
import { createProp, type Prop } from "../src/scene/prop.js";

function prop(form: Form, pose: Pose, scale: [number, number, number] = [1, 1, 1]): Prop {
  const kind: DrawnKind = { name: "thing", body: { motion: "fixed" }, walker: undefined, look: undefined };
  const body = describeBody({ id: 1, kind, scale, parent: undefined, attributes: { ...form } });
  return createProp(body, form, pose);
}

function around(...props: Prop[]): Obstacles {
  const obstacles = new Obstacles();
  for (const each of props) obstacles.add(each);
  return obstacles;
}

const BALL: Form = { shape: "sphere", radius: 1 };
const WEDGE = readForm({
  shape: "hull",
  points: [
    [-0.5, -0.5, -0.5],
    [-0.5, -0.5, 0.5],
    [0.5, -0.5, -0.5],
    [0.5, -0.5, 0.5],
    [-0.5, 0.5, -0.5],
    [-0.5, 0.5, 0.5],
  ],
})!;

it("stops a ray at a ball, and ignores excluded props", () => {
  const obstacles = around(prop(BALL, createPose(0, 0, -5)));
  expect(obstacles.cast(0, 0, 0, 0, 0, -1)).toBeCloseTo(4);
  expect(obstacles.cast(0, 0, 0, 0, 0, -1, { margin: 0.5 })).toBeCloseTo(3.5);
  expect(obstacles.cast(0, 0, 0, 0, 0, -1, { reach: 3 })).toBe(Number.POSITIVE_INFINITY);
  expect(obstacles.cast(0, 0, 0, 0, 0, -1, { except: 1 })).toBe(Number.POSITIVE_INFINITY);
  expect(obstacles.cast(0, 0, 0, 0, 0, 1)).toBe(Number.POSITIVE_INFINITY);
  expect(obstacles.cast(0, 0, -5, 0, 0, 1)).toBe(Number.POSITIVE_INFINITY);
});

it("finds the slope of a scaled ramp under the feet", () => {
  const obstacles = around(prop(WEDGE, createPose(0, 0.75), [4, 1.5, 3]));
  // The ramp goes down from 1.5 m at −2 to nothing at 2.
  expect(obstacles.cast(-1, 3, 0, 0, -1, 0)).toBeCloseTo(3 - 1.125);
  expect(obstacles.cast(1, 3, 0, 0, -1, 0)).toBeCloseTo(3 - 0.375);
  expect(obstacles.cast(3, 3, 0, 0, -1, 0)).toBe(Number.POSITIVE_INFINITY);
});

it("agrees with an independent ray test on hills that are turned and scaled", () => {
  let seed = 3;
  const heights = Array.from({ length: 400 }, () => {
    seed = (seed * 16807) % 2147483647;
    return (seed / 2147483647) * 3;
  });
  const form = readForm({ shape: "heights", heights, columns: 20, size: [30, 1, 40] })!;
  const axis = new Quaternion(0.2, 0.7, -0.1, 0.9).normalize();
  const pose = { position: new Vector3(1, -2, 3), quaternion: axis };
  const obstacles = around(prop(form, pose, [1.5, 2, 0.5]));
  const mesh = new Mesh(createGeometry(form), new MeshBasicMaterial({ side: 2 }));
  mesh.position.set(1, -2, 3);
  mesh.quaternion.copy(axis);
  mesh.scale.set(1.5, 2, 0.5);
  mesh.updateMatrixWorld();
  const number = (size: number) => fc.double({ min: -size, max: size, noNaN: true });
  const vector = (size: number) => fc.tuple(number(size), number(size), number(size));
  let met = 0;
  fc.assert(
    fc.property(vector(20), vector(1), (from, toward) => {
      const direction = new Vector3(...toward);
      fc.pre(direction.length() > 0.01);
      direction.normalize();
      const [hit] = new Raycaster(new Vector3(...from), direction, 0, 100).intersectObject(mesh);
      const found = obstacles.cast(...from, direction.x, direction.y, direction.z, { reach: 100 });
      if (hit) met++;
      // A ray through an edge may hit or miss. Very few rays go through an edge.
      if (hit && Number.isFinite(found)) expect(found).toBeCloseTo(hit.distance, 2);
      else expect(Number.isFinite(found)).toBe(hit !== undefined);
    }),
    { numRuns: 300 },
  );
  expect(met).toBeGreaterThan(20);
});
