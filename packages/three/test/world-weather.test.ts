import { type LineSegments, type Points, Vector3 } from "three";
import { expect, it } from "vitest";
import { readWeather, WorldWeather } from "../src/sky/world-weather.js";

const EYE = new Vector3(3, 2, 1);

function drawn(weather: WorldWeather): readonly (LineSegments | Points)[] {
  return (weather.group.children as (LineSegments | Points)[]).filter(({ visible }) => visible);
}

it("weather is read from a value of any kind", () => {
  expect(readWeather({ rain: 0.5, wind: [3, 0, 0] })).toEqual({ rain: 0.5, snow: 0, wind: [3, 0, 0] });
  expect(readWeather({ rain: 2, snow: Number.NaN, wind: [1e9, 0, 0] })).toEqual({
    ...{ rain: 0, snow: 0, wind: [0, 0, 0] },
  });
  for (const odd of [undefined, null, "rain", 3]) expect(readWeather(odd)).toBeUndefined();
});

it("a world without weather draws nothing", () => {
  const weather = new WorldWeather();
  weather.update(0.1, EYE);
  expect(weather.group.children).toEqual([]);
});

it("rain begins slowly, has more drops the heavier it is, and ends", () => {
  const weather = new WorldWeather();
  weather.set({ rain: 0.5 });
  weather.update(0.5, EYE);
  const [rain] = drawn(weather);
  const few = rain?.geometry.drawRange.count ?? 0;
  expect(few).toBeGreaterThan(0);
  weather.update(5, EYE);
  expect(rain?.geometry.drawRange.count).toBeGreaterThan(few);
  weather.set({ snow: 1 });
  weather.update(5, EYE);
  expect(drawn(weather)).toHaveLength(1);
  expect(drawn(weather)[0]).not.toBe(rain);
  weather.set(undefined);
  weather.update(5, EYE);
  expect(drawn(weather)).toEqual([]);
  weather.dispose();
  expect(weather.group.children).toEqual([]);
});

it("both ends of a drop begin at the same place", () => {
  const weather = new WorldWeather();
  weather.set({ rain: 1 });
  weather.update(5, EYE);
  const geometry = drawn(weather)[0]?.geometry;
  const [places, end] = [geometry?.getAttribute("position"), geometry?.getAttribute("end")];
  if (!places || !end) throw new Error("rain has drops");
  for (let vertex = 0; vertex < places.count; vertex += 2) {
    expect([end.getX(vertex), end.getX(vertex + 1)]).toEqual([0, 1]);
    expect(places.getY(vertex)).toBe(places.getY(vertex + 1));
  }
});
