import { PointLight, SpotLight, Vector3 } from "three";
import { expect, it } from "vitest";
import { LIGHTS_DRAWN_MAX, readLight, WorldLights } from "../src/world-lights.js";

const none = (): boolean => false;
const shining = (lights: WorldLights): PointLight[] =>
  lights.group.children.filter(
    (child): child is PointLight => child instanceof PointLight && child.intensity > 0,
  );

it("reads a light, and passes over fields of other types", () => {
  const light = readLight({ light: "spot", at: [1, 2, 3], color: "#ff8800", range: 500, angle: "wide" });
  expect(light).toMatchObject({ type: "spot", at: [1, 2, 3], color: 0xff8800, range: 12, angle: 0.5 });
  for (const other of [undefined, 3, "point", {}, { light: "lamp" }])
    expect(readLight(other)).toBeUndefined();
});

it("shows the nearest lamps, and no light that was removed", () => {
  const lights = new WorldLights();
  for (let at = 0; at < 20; at++) lights.set(`@${at}`, { light: "point", at: [at, 0, 0] });
  lights.update(none, new Vector3(20, 0, 0));
  const places = shining(lights).map(({ position }) => position.x);
  expect(places).toHaveLength(LIGHTS_DRAWN_MAX);
  expect(Math.min(...places)).toBe(12);
  for (let at = 0; at < 20; at++) expect(lights.set(`@${at}`, undefined)).toBe(true);
  lights.update(none, new Vector3());
  expect(shining(lights)).toEqual([]);
  expect(lights.set("@0", { loop: "assets/theme.ogg" })).toBe(false);
});

it("moves a light with its entity, and hides it while the entity is unknown", () => {
  const lights = new WorldLights();
  lights.set("@a", { light: "spot", on: 7, at: [0, 1, 0], direction: [0, -2, 0] });
  lights.update(none, new Vector3());
  const spots = () => lights.group.children.filter((child) => child instanceof SpotLight) as SpotLight[];
  expect(spots()).toHaveLength(0);
  lights.update((id, out) => {
    out.position.x = id;
    return true;
  }, new Vector3());
  expect(spots()[0]?.position.toArray()).toEqual([7, 1, 0]);
  expect(spots()[0]?.target.position.toArray()).toEqual([7, 0, 0]);
  lights.clear();
  expect(lights.group.children).toEqual([]);
});
