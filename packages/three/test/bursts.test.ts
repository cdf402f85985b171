import { Vector3 } from "three";
import { expect, it } from "vitest";
import { Bursts, PARTICLES_MAX, readBurst } from "../src/scene/bursts.js";

const BURST = { at: [1, 2, 3], color: 0xff0000, count: 20, speed: 4, seconds: 1 } as const;

function draws(): () => number {
  let state = 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

it("particles_fly_apart_fall_and_fade", () => {
  const bursts = new Bursts(draws());
  expect(bursts.points.visible).toBe(false);
  bursts.add(BURST);
  expect([bursts.count, bursts.points.visible]).toEqual([20, true]);
  const place = new Vector3();
  const middle = new Vector3(1, 2, 3);
  for (let frame = 0; frame < 30; frame++) bursts.update(1 / 60);
  const distances = Array.from({ length: 20 }, (_, index) => bursts.place(index, place).distanceTo(middle));
  expect(Math.min(...distances)).toBeGreaterThan(0.2);
  expect(Math.max(...distances)).toBeLessThan(3);
  for (let frame = 0; frame < 60; frame++) bursts.update(1 / 60);
  expect([bursts.count, bursts.points.visible]).toEqual([0, false]);
});

it("dust_spreads_over_the_ground_without_falling", () => {
  const bursts = new Bursts(draws());
  bursts.addDust(0, 1, 0, 1);
  const count = bursts.count;
  expect(count).toBeGreaterThan(10);
  for (let frame = 0; frame < 30; frame++) bursts.update(1 / 60);
  const place = new Vector3();
  for (let index = 0; index < count; index++) {
    bursts.place(index, place);
    expect(place.y).toBeGreaterThan(1);
    expect(Math.hypot(place.x, place.z)).toBeGreaterThan(0.3);
  }
});

it("more_bursts_replace_the_oldest_particles", () => {
  const bursts = new Bursts(draws());
  for (let burst = 0; burst < 40; burst++) bursts.add(BURST);
  expect(bursts.count).toBe(PARTICLES_MAX);
  bursts.clear();
  expect(bursts.count).toBe(0);
});

it("a_payload_needs_a_place_and_is_bounded", () => {
  for (const payload of [undefined, 3, {}, { at: "there" }]) expect(readBurst(payload)).toBeUndefined();
  const defaults = { at: [0, 1, 0], color: 0xffffff, count: 32, speed: 4, seconds: 1 };
  expect(readBurst({ at: [0, 1, 0] })).toEqual(defaults);
  expect(readBurst({ at: [0, 1, 0], count: 1e9, speed: -3, seconds: Number.NaN, color: "red" })).toEqual(
    defaults,
  );
  const given = { at: [0, 1, 0], color: "#ff0000", count: 5, speed: 2, seconds: 0.5 };
  expect(readBurst(given)).toEqual({ ...given, color: 0xff0000 });
});
