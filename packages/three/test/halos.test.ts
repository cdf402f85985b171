import { expect, it } from "vitest";
import { type DrawnKind, describeBody } from "../src/look/body.js";
import { createPose } from "../src/pose.js";
import { Halos } from "../src/scene/halos.js";
import { createProp, type Prop } from "../src/scene/prop.js";

function prop(look: Record<string, unknown>): Prop {
  const kind: DrawnKind = { name: "thing", body: undefined, walker: undefined, look };
  const body = describeBody({ id: 1, kind, scale: [2, 2, 2], parent: undefined, attributes: {} });
  return createProp(body, { shape: "box", size: [1, 1, 1] }, createPose(1));
}

it("street_lamps_have_a_halo_at_their_light_and_other_models_have_none", () => {
  const halos = new Halos();
  halos.add(prop({ model: "@nowcast/kit/bench" }));
  expect(halos.count).toBe(0);
  const lamp = prop({ model: "@nowcast/kit/lamp" });
  halos.add(lamp);
  expect(halos.count).toBe(1);
  const height = halos.points.geometry.getAttribute("position").getY(0) - lamp.position.y;
  expect(height).toBeCloseTo(2 * (2.76 - 3.1 / 2), 5);
});
