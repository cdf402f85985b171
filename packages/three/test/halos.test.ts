import { Matrix4, Vector3 } from "three";
import { expect, it } from "vitest";
import { type DrawnKind, describeBody } from "../src/look/body.js";
import { createPose } from "../src/pose.js";
import { Halos, haloStrength } from "../src/scene/halos.js";
import { darknessOf } from "../src/scene/lamp.js";
import { LampPools } from "../src/scene/lamp-pools.js";
import { createProp, type Prop } from "../src/scene/prop.js";
import { DAY, DUSK, NIGHT } from "../src/sky/sky-look.js";

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

it("halos_are_faint_by_day_and_full_at_dusk_and_at_night", () => {
  expect(haloStrength(DAY.horizon)).toBeLessThan(0.1);
  for (const background of [DUSK.horizon, NIGHT.horizon, null]) expect(haloStrength(background)).toBe(1);
});

it("street_lamps_have_a_pool_of_light_at_their_foot_and_other_models_have_none", () => {
  const pools = new LampPools();
  const [lamp, other] = [prop({ model: "@nowcast/kit/lamp" }), prop({ model: "@nowcast/kit/lamp" })];
  pools.add(prop({ model: "@nowcast/kit/bench" }));
  expect(pools.mesh.count).toBe(0);
  other.position.x = 20;
  for (const added of [lamp, other]) pools.add(added);
  const placeOf = (index: number): number[] => {
    const matrix = new Matrix4();
    pools.mesh.getMatrixAt(index, matrix);
    return new Vector3().setFromMatrixPosition(matrix).toArray();
  };
  expect(placeOf(0)[1]).toBeCloseTo(lamp.position.y - 3.1 + 0.05, 5);
  pools.remove(lamp);
  expect(pools.mesh.count).toBe(1);
  expect(placeOf(0)[0]).toBe(20);
});

it("it_is_dark_at_dusk_and_at_night_only", () => {
  expect(darknessOf(DAY.horizon)).toBe(0);
  for (const background of [DUSK.horizon, NIGHT.horizon]) expect(darknessOf(background)).toBe(1);
});
