import { Color, Vector3 } from "three";
import type { Daylight } from "../sun.js";

/**
 * The colours of an hour of the day. Sky, sea, hills and fog are not tone mapped, so their colours appear
 * unchanged on the screen. Surfaces under the lights are tone mapped.
 */
export interface SkyLook extends Daylight {
  name: "day" | "dusk" | "night";
  exposure: number;
  zenith: Color;
  middle: Color;
  horizon: Color;
  glow: Color;
  cloud: Color;
  cloudShade: Color;
  stars: number;
  /** 1 for air over the horizon, 0 for empty space, where nothing hides the stars. */
  haze: number;
  seaNear: Color;
  seaFar: Color;
  /** The land around a world without a sea. */
  land: Color;
  /** The colours of the ranges of hills, from the farthest to the nearest. */
  hills: readonly [Color, Color, Color];
  fogDensity: number;
}

export const DAY: SkyLook = {
  name: "day",
  sunDirection: fromAngles(128, 42),
  sunColor: new Color("#ffedcf"),
  sunIntensity: 3,
  skyLight: new Color("#d3e4ff"),
  groundLight: new Color("#b9a585"),
  ambientIntensity: 2.2,
  exposure: 1.12,
  zenith: new Color("#3878c7"),
  middle: new Color("#86bdea"),
  horizon: new Color("#e9eee6"),
  glow: new Color("#fff1cf"),
  cloud: new Color("#ffffff"),
  cloudShade: new Color("#c3d2e4"),
  stars: 0,
  haze: 1,
  seaNear: new Color("#2f7f9e"),
  seaFar: new Color("#b9d8df"),
  land: new Color("#a7b187"),
  hills: [new Color("#bfd3de"), new Color("#9dbccb"), new Color("#7ba4b0")],
  fogDensity: 0.0042,
};

export const DUSK: SkyLook = {
  name: "dusk",
  sunDirection: fromAngles(-58, 17),
  sunColor: new Color("#ffc795"),
  sunIntensity: 3.4,
  skyLight: new Color("#a3c3e2"),
  groundLight: new Color("#5f7a72"),
  ambientIntensity: 3.5,
  exposure: 1.2,
  zenith: new Color("#171d49"),
  middle: new Color("#6a4f8f"),
  horizon: new Color("#f2a07c"),
  glow: new Color("#ffcf8f"),
  cloud: new Color("#ffb28c"),
  cloudShade: new Color("#6b4f86"),
  stars: 0.6,
  haze: 1,
  seaNear: new Color("#2c2f63"),
  seaFar: new Color("#d08a86"),
  land: new Color("#5f7a72"),
  hills: [new Color("#b9748a"), new Color("#7f5684"), new Color("#4f4172")],
  fogDensity: 0.0042,
};

export const NIGHT: SkyLook = {
  name: "night",
  // The moon.
  sunDirection: fromAngles(40, 50),
  sunColor: new Color("#a9bfe8"),
  sunIntensity: 0.9,
  skyLight: new Color("#6d7fb0"),
  groundLight: new Color("#3a3f52"),
  ambientIntensity: 1.3,
  exposure: 1.15,
  zenith: new Color("#050a1e"),
  middle: new Color("#0d1836"),
  horizon: new Color("#25345a"),
  glow: new Color("#8fa6d6"),
  cloud: new Color("#3b4a6d"),
  cloudShade: new Color("#1d2844"),
  stars: 1,
  haze: 1,
  seaNear: new Color("#0c1836"),
  seaFar: new Color("#2a3a60"),
  land: new Color("#333d4f"),
  hills: [new Color("#2a3a5c"), new Color("#1d2b48"), new Color("#141f37")],
  fogDensity: 0.0042,
};

/** The looks of a day by their hours. Between two hours, colours are mixed. */
const HOURS: readonly (readonly [number, SkyLook])[] = [
  [0, NIGHT],
  [4.5, NIGHT],
  [6.2, DUSK],
  [8, DAY],
  [17, DAY],
  [19, DUSK],
  [21, NIGHT],
  [24, NIGHT],
];

/** Azimuth of the sun at noon, in degrees. */
const NOON_DEGREES = 128;
/** The sun is never lower than this, so that shadows keep a finite length. */
const SUN_LOWEST_DEGREES = 9;
const SUN_HIGHEST_DEGREES = 62;

/** The look at an hour of the day, 0 to 24, with a fog of 0 (none: empty space without clouds) to 1 (thick). */
export function lookAt(hour: number, fog: number | undefined): SkyLook {
  const next = HOURS.findIndex(([from]) => from > hour);
  const [fromHour, from] = HOURS[Math.max(0, next - 1)]!;
  const [toHour, to] = HOURS[next < 0 ? HOURS.length - 1 : next]!;
  const share = toHour > fromHour ? (hour - fromHour) / (toHour - fromHour) : 0;
  const color = (of: (look: SkyLook) => Color): Color => of(from).clone().lerp(of(to), share);
  const number = (of: (look: SkyLook) => number): number => of(from) + (of(to) - of(from)) * share;
  const hill = (index: 0 | 1 | 2): Color => color((look) => look.hills[index]);
  const zenith = color((look) => look.zenith);
  return {
    name: (share < 0.5 ? from : to).name,
    sunDirection: sunAt(hour),
    sunColor: color((look) => look.sunColor),
    sunIntensity: number((look) => look.sunIntensity),
    skyLight: color((look) => look.skyLight),
    groundLight: color((look) => look.groundLight),
    ambientIntensity: number((look) => look.ambientIntensity),
    exposure: number((look) => look.exposure),
    zenith,
    middle: color((look) => look.middle),
    horizon: fog === 0 ? color((look) => look.middle).lerp(zenith, 0.5) : color((look) => look.horizon),
    glow: color((look) => look.glow),
    cloud: color((look) => look.cloud),
    cloudShade: color((look) => look.cloudShade),
    stars: number((look) => look.stars),
    haze: fog === 0 ? 0 : 1,
    seaNear: color((look) => look.seaNear),
    seaFar: color((look) => look.seaFar),
    land: color((look) => look.land),
    hills: [hill(0), hill(1), hill(2)],
    fogDensity: fog === undefined ? number((look) => look.fogDensity) : 0.06 * fog * fog,
  };
}

/** The direction of the sun from 6 to 18 o'clock, and of the moon at night. */
function sunAt(hour: number): Vector3 {
  const isDay = hour >= 6 && hour < 18;
  const share = isDay ? (hour - 6) / 12 : (((hour + 6) % 24) / 12) % 1;
  const elevation =
    SUN_LOWEST_DEGREES + (SUN_HIGHEST_DEGREES - SUN_LOWEST_DEGREES) * Math.sin(share * Math.PI);
  return fromAngles(NOON_DEGREES + (share - 0.5) * 180, elevation);
}

function fromAngles(azimuthDegrees: number, elevationDegrees: number): Vector3 {
  const azimuth = (azimuthDegrees * Math.PI) / 180;
  const elevation = (elevationDegrees * Math.PI) / 180;
  return new Vector3(
    Math.sin(azimuth) * Math.cos(elevation),
    Math.sin(elevation),
    -Math.cos(azimuth) * Math.cos(elevation),
  );
}
