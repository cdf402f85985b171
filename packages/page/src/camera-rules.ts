/** The camera that a world sets: `world.camera` in `docs/how-to/pages.md`. */
import { isFields, readVector, type Vector, within } from "nowcast/internal";

/** The screen place that contains the world's camera. */
export const CAMERA_PLACE = "@camera";

const DISTANCE_MAX_M = 60;
const GLIDE_S_MAX = 60;
const RAIL_MAX = 32;

export interface CameraRules {
  readonly mode: "follow" | "first_person" | "fixed" | "rail";
  /** The place of a fixed camera. */
  readonly at: Vector | undefined;
  /** The places of the line on which a camera runs; at least two. */
  readonly rail: readonly Vector[] | undefined;
  /** The place at which a fixed camera or one on a rail looks. */
  readonly lookAt: Vector | undefined;
  /** The entity that the camera follows, or at which a fixed camera or one on a rail looks. */
  readonly on: number | undefined;
  /** Distances from the avatar in metres: the first one, and the nearest and the farthest one. */
  readonly distance: number | undefined;
  readonly min: number | undefined;
  readonly max: number | undefined;
  /** Vertical field of view, in degrees. */
  readonly fov: number | undefined;
  /** Time in which the camera glides to a fixed place or to its rail, in seconds. */
  readonly seconds: number;
}

/** Reads the value of {@link CAMERA_PLACE}. Fields of other types are passed over. */
export function readCamera(value: unknown): CameraRules | undefined {
  if (!isFields(value)) return undefined;
  const { mode, on } = value;
  const at = readVector(value["at"]);
  const rail = readRail(value["rail"]);
  return {
    mode: readMode(mode, at, rail),
    at,
    rail,
    lookAt: readVector(value["look_at"]),
    on: typeof on === "number" ? on : undefined,
    distance: within(value["distance"], 0, DISTANCE_MAX_M),
    min: within(value["min"], 0, DISTANCE_MAX_M),
    max: within(value["max"], 0, DISTANCE_MAX_M),
    fov: within(value["fov"], 20, 110),
    seconds: within(value["seconds"], 0, GLIDE_S_MAX) ?? 0,
  };
}

function readMode(
  mode: unknown,
  at: Vector | undefined,
  rail: readonly Vector[] | undefined,
): CameraRules["mode"] {
  if (mode === "first_person") return mode;
  if (mode === "fixed" && at !== undefined) return mode;
  return mode === "rail" && rail !== undefined ? mode : "follow";
}

function readRail(value: unknown): readonly Vector[] | undefined {
  if (!Array.isArray(value) || value.length > RAIL_MAX) return undefined;
  const places = value.flatMap((place: unknown) => {
    const read = readVector(place);
    return read === undefined ? [] : [read];
  });
  return places.length >= 2 && places.length === value.length ? places : undefined;
}

/** The payload of the event `shake`. */
export interface Shake {
  /** 0 to 1. */
  readonly strength: number;
  readonly seconds: number;
}

/** Reads the payload of the event `shake`. */
export function readShake(payload: unknown): Shake {
  const fields = isFields(payload) ? payload : {};
  return {
    strength: within(fields["strength"], 0, 1) ?? 0.5,
    seconds: within(fields["seconds"], 0, 10) ?? 0.5,
  };
}
