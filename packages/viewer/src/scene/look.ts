import type { Daylight } from "@nowcast/three";
import { Color, Vector3 } from "three";

/**
 * The colours of an hour of the day. Sky, sea, hills and fog are not tone mapped, so their colours appear
 * unchanged on the screen. Surfaces under the lights are tone mapped.
 */
export interface Look extends Daylight {
  name: "day" | "dusk";
  exposure: number;
  zenith: Color;
  middle: Color;
  horizon: Color;
  glow: Color;
  cloud: Color;
  cloudShade: Color;
  stars: number;
  seaNear: Color;
  seaFar: Color;
  /** The land around a world without a sea. */
  land: Color;
  /** The colours of the ranges of hills, from the farthest to the nearest. */
  hills: readonly [Color, Color, Color];
  fogDensity: number;
}

export const DAY: Look = {
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
  seaNear: new Color("#2f7f9e"),
  seaFar: new Color("#b9d8df"),
  land: new Color("#a7b187"),
  hills: [new Color("#bfd3de"), new Color("#9dbccb"), new Color("#7ba4b0")],
  fogDensity: 0.0042,
};

export const DUSK: Look = {
  name: "dusk",
  sunDirection: fromAngles(-58, 17),
  sunColor: new Color("#ffab6b"),
  sunIntensity: 4.4,
  skyLight: new Color("#b3a3d6"),
  groundLight: new Color("#7d5a63"),
  ambientIntensity: 2.5,
  exposure: 1.2,
  zenith: new Color("#171d49"),
  middle: new Color("#6a4f8f"),
  horizon: new Color("#f2a07c"),
  glow: new Color("#ffcf8f"),
  cloud: new Color("#ffb28c"),
  cloudShade: new Color("#6b4f86"),
  stars: 1,
  seaNear: new Color("#2c2f63"),
  seaFar: new Color("#d08a86"),
  land: new Color("#6d5a6b"),
  hills: [new Color("#b9748a"), new Color("#7f5684"), new Color("#4f4172")],
  fogDensity: 0.0042,
};

function fromAngles(azimuthDegrees: number, elevationDegrees: number): Vector3 {
  const azimuth = (azimuthDegrees * Math.PI) / 180;
  const elevation = (elevationDegrees * Math.PI) / 180;
  return new Vector3(
    Math.sin(azimuth) * Math.cos(elevation),
    Math.sin(elevation),
    -Math.cos(azimuth) * Math.cos(elevation),
  );
}
