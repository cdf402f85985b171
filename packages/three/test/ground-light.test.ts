/** The shade of bodies on the ground, and the glare of bodies that glow. */
import { type InstancedMesh, Matrix4, Vector3 } from "three";
import { describe, expect, it } from "vitest";
import { describeBody } from "../src/look/body.js";
import { createPose, type Pose } from "../src/pose.js";
import { Footprints } from "../src/scene/footprints.js";
import { HALOS_MAX, Halos } from "../src/scene/halos.js";
import { createProp, type Prop } from "../src/scene/prop.js";

function propAt(id: number, pose: Pose, look: Record<string, unknown> = {}): Prop {
  const kind = { name: "thing", body: { shape: "box", size: [1, 1, 1] }, walker: undefined, look };
  const body = describeBody({ id, kind, scale: [1, 1, 1], parent: undefined, attributes: {} });
  const form = body.appearance!.form!;
  if (form.shape === "person") throw new Error("the test expects a thing");
  return createProp(body, form, pose);
}

describe("a footprint", () => {
  const printOf = (footprints: Footprints, place: number): { at: Vector3; strength: number } => {
    const mesh = footprints.group.children[0] as InstancedMesh;
    const matrix = new Matrix4();
    mesh.getMatrixAt(place, matrix);
    const strength = mesh.geometry.getAttribute("aFoot").getW(place);
    return { at: new Vector3().setFromMatrixPosition(matrix), strength };
  };

  it("is_dark_below_a_body_on_the_ground_and_fades_with_its_height", () => {
    const footprints = new Footprints((_x, y) => (y > 2 ? 2 : undefined));
    const heights = [2.5, 2.8, 9] as const;
    const props = heights.map((y, id) => propAt(id, createPose(3, y, -1)));
    for (const prop of props) footprints.add(prop);
    const [on, above, high] = props.map((_, place) => printOf(footprints, place));
    expect(on!.strength).toBeGreaterThan(0.3);
    expect(above!.strength).toBeLessThan(on!.strength * 0.7);
    expect(above!.strength).toBeGreaterThan(0);
    expect(high!.strength).toBe(0);
    expect(on!.at.x).toBeCloseTo(3);
    expect(on!.at.y - 2).toBeLessThan(0.03);
    props[0]!.position.y = 9;
    footprints.place(props[0]!);
    expect(printOf(footprints, 0).strength).toBe(0);
    footprints.remove(props[0]!);
    expect((footprints.group.children[0] as InstancedMesh).count).toBe(2);
    footprints.dispose();
    expect(footprints.group.children).toEqual([]);
  });

  it("is_missing_where_there_is_no_ground", () => {
    const footprints = new Footprints(() => undefined);
    footprints.add(propAt(1, createPose()));
    expect(printOf(footprints, 0).strength).toBe(0);
  });
});

describe("a halo", () => {
  it("surrounds_bodies_that_glow_and_no_others", () => {
    const halos = new Halos();
    const lamp = propAt(1, createPose(2), { glow: 2 });
    halos.add(lamp);
    halos.add(propAt(2, createPose()));
    halos.add(propAt(3, createPose(), { glow: 0.2 }));
    expect([halos.count, halos.points.geometry.drawRange.count]).toEqual([1, 1]);
    lamp.position.x = 5;
    halos.place(lamp);
    expect(halos.points.geometry.getAttribute("position").getX(0)).toBe(5);
    halos.remove(lamp);
    expect(halos.count).toBe(0);
    for (let id = 0; id < 2 * HALOS_MAX; id++) halos.add(propAt(id, createPose(), { glow: 1 }));
    expect(halos.count).toBe(HALOS_MAX);
  });
});
