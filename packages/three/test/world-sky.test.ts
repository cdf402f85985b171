import { Color } from "three";
import { describe, expect, it } from "vitest";
import { DAY, DUSK, lookAt, NIGHT, type SkyLook } from "../src/sky/sky-look.js";
import { readSky, WorldSky } from "../src/sky/world-sky.js";

function shown(): { readonly looks: SkyLook[]; readonly sky: WorldSky } {
  const looks: SkyLook[] = [];
  return { looks, sky: new WorldSky((look) => looks.push(look)) };
}

describe("the sky of a world", () => {
  it("is read from a value of any kind", () => {
    expect(readSky({ time: 18.5, fog: 0.2 })).toEqual({ time: 18.5, fog: 0.2 });
    expect(readSky({ time: 25, fog: "thick" })).toEqual({ time: undefined, fog: undefined });
    for (const odd of [undefined, null, 3, []]) expect(readSky(odd)).toBeUndefined();
  });

  it("is bright at noon, dark at midnight, and mixed between", () => {
    expect(lookAt(12, undefined).zenith.equals(DAY.zenith)).toBe(true);
    expect(lookAt(0, undefined).zenith.equals(NIGHT.zenith)).toBe(true);
    expect(lookAt(24, undefined).zenith.equals(NIGHT.zenith)).toBe(true);
    expect(lookAt(19, undefined).zenith.equals(DUSK.zenith)).toBe(true);
    const { stars } = lookAt(18, undefined);
    expect(stars).toBeCloseTo(DUSK.stars / 2);
    for (let hour = 0; hour <= 24; hour += 0.25) {
      expect(lookAt(hour, undefined).sunDirection.y, `${hour}`).toBeGreaterThan(0.1);
      expect(lookAt(hour, undefined).sunDirection.length()).toBeCloseTo(1);
    }
    expect(lookAt(12, 0).fogDensity).toBe(0);
    expect([lookAt(0, 0).haze, lookAt(0, undefined).haze, lookAt(0, 0.1).haze]).toEqual([0, 1, 1]);
    expect(lookAt(12, 1).fogDensity).toBeGreaterThan(10 * DAY.fogDensity);
  });

  it("is the page's own light until the world sets one, and again afterwards", () => {
    const { looks, sky } = shown();
    sky.setDefault(DUSK);
    sky.update(0.1);
    expect(looks).toEqual([DUSK]);
    sky.set({ time: 12, fog: undefined });
    sky.update(0.1);
    expect(looks.at(-1)?.zenith.equals(DAY.zenith)).toBe(true);
    sky.set(undefined);
    expect(looks.at(-1)).toBe(DUSK);
  });

  it("glides to another hour by the shorter way, and is painted seldom", () => {
    const { looks, sky } = shown();
    sky.set({ time: 23, fog: undefined });
    sky.update(0.016);
    looks.length = 0;
    sky.set({ time: 1, fog: undefined });
    for (let frame = 0; frame < 180; frame++) sky.update(1 / 60);
    expect(looks.length).toBeGreaterThan(10);
    expect(looks.length).toBeLessThan(60);
    // The night lasts from 21 to 4.5, so the way led over midnight.
    expect(looks.every((look) => look.zenith.equals(NIGHT.zenith))).toBe(true);
    expect(looks.at(-1)?.sunDirection.equals(lookAt(1, undefined).sunDirection)).toBe(true);
  });
});

describe("the light on a lawn", () => {
  it("leaves_grass_green_by_day_and_at_dusk", () => {
    for (const look of [DAY, DUSK]) {
      const sun = look.sunColor.clone().multiplyScalar(look.sunIntensity * look.sunDirection.y);
      const light = look.skyLight.clone().multiplyScalar(look.ambientIntensity).add(sun);
      const { r, g, b } = light.multiply(new Color("#86a866"));
      expect(g / r, look.name).toBeGreaterThan(1.3);
      expect(g / b, look.name).toBeGreaterThan(1.3);
    }
  });
});
