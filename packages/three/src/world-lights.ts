/** Lights that a world sets: `world.light` in `docs/how-to/pages.md`. */

import { isFields, readColor, readVector, type Vector, within } from "nowcast/internal";
import { Color, DirectionalLight, Group, type Light, PointLight, SpotLight, Vector3 } from "three";
import { createPose, type Pose } from "./pose.js";

/** A light: the value of a place on screens. */
export interface WorldLight {
  readonly type: "point" | "spot" | "sun";
  /** A place in the world, or relative to the entity `on`. */
  readonly at: Vector;
  readonly on: number | undefined;
  /** The direction of the rays. */
  readonly direction: Vector;
  readonly color: number;
  /** 1 for an ordinary lamp. */
  readonly brightness: number;
  /** The distance that the light reaches, in metres. */
  readonly range: number;
  /** Half the opening of a cone, in radians. */
  readonly angle: number;
}

/** Lights of each type that are drawn: those nearest to the camera. */
export const LIGHTS_DRAWN_MAX = 8;
const LIGHTS_MAX = 64;
/** Luminous intensity of a lamp with brightness 1, in three.js units. */
const LAMP_INTENSITY = 24;
const SUN_INTENSITY = 1.5;
const SUN_FAR_M = 200;
const TYPES = ["point", "spot", "sun"] as const;

/** Reads a value of a place on screens; `undefined` if it is not a light. */
export function readLight(value: unknown): WorldLight | undefined {
  if (!isFields(value)) return undefined;
  const { light, on, color } = value;
  const type = TYPES.find((known) => known === light);
  if (type === undefined) return undefined;
  return {
    type,
    at: readVector(value["at"]) ?? [0, 0, 0],
    on: typeof on === "number" ? on : undefined,
    direction: readVector(value["direction"]) ?? [0, -1, 0],
    color: (typeof color === "string" ? readColor(color) : undefined) ?? 0xffffff,
    brightness: within(value["brightness"], 0, 100) ?? 1,
    range: within(value["range"], 0.1, 100) ?? 12,
    angle: within(value["angle"], 0.05, 1.5) ?? 0.5,
  };
}

/** Writes the shown pose of an entity; returns false while it is unknown. */
export type PoseOf = (id: number, out: Pose) => boolean;

/**
 * The lights of a world. Add `group` to the scene, and call `update` in each frame. A change of the number of lights makes
 * three.js compile materials again, so lights are created in powers of two and kept until `clear`.
 */
export class WorldLights {
  readonly group = new Group();
  readonly #wanted = new Map<string, WorldLight>();
  readonly #pools = { point: [] as PointLight[], spot: [] as SpotLight[], sun: [] as DirectionalLight[] };
  readonly #pose = createPose();

  /** Sets the value of a place; returns whether it is or was a light. */
  set(place: string, value: unknown): boolean {
    const light = readLight(value);
    if (light === undefined) return this.#wanted.delete(place);
    if (!this.#wanted.has(place) && this.#wanted.size >= LIGHTS_MAX) return true;
    this.#wanted.set(place, light);
    return true;
  }

  clear(): void {
    this.#wanted.clear();
    for (const type of TYPES) {
      for (const light of this.#pools[type].splice(0)) {
        this.group.remove(light);
        light.dispose();
      }
    }
    this.group.clear();
  }

  /** Places the lights for a frame. `eye` is the place of the camera. */
  update(poseOf: PoseOf, eye: Vector3): void {
    if (this.#wanted.size === 0 && this.group.children.length === 0) return;
    for (const type of TYPES) {
      const placed: Placed[] = [];
      for (const light of this.#wanted.values()) {
        const at = light.type === type ? this.#placeOf(light, poseOf) : undefined;
        if (at) placed.push({ light, at, distance: at.distanceToSquared(eye) });
      }
      placed.sort((a, b) => a.distance - b.distance);
      this.#reserve(type, Math.min(placed.length, LIGHTS_DRAWN_MAX));
      for (const [index, drawn] of this.#pools[type].entries()) shine(drawn, placed[index]);
    }
  }

  #placeOf({ at: [x, y, z], on }: WorldLight, poseOf: PoseOf): Vector3 | undefined {
    const place = new Vector3(x, y, z);
    if (on === undefined) return place;
    return poseOf(on, this.#pose) ? place.add(this.#pose.position) : undefined;
  }

  /** Makes at least `count` lights of a type. */
  #reserve(type: WorldLight["type"], count: number): void {
    const pool = this.#pools[type];
    if (count <= pool.length) return;
    const size = 2 ** Math.ceil(Math.log2(count));
    while (pool.length < size) {
      const light =
        type === "point" ? new PointLight() : type === "spot" ? new SpotLight() : new DirectionalLight();
      (pool as Light[]).push(light);
      this.group.add(light);
      if (!(light instanceof PointLight)) this.group.add(light.target);
    }
  }
}

interface Placed {
  readonly light: WorldLight;
  readonly at: Vector3;
  readonly distance: number;
}

/** Sets a light of the scene, or turns it off. */
function shine(drawn: PointLight | SpotLight | DirectionalLight, placed: Placed | undefined): void {
  if (placed === undefined) {
    drawn.intensity = 0;
    return;
  }
  const { light, at } = placed;
  drawn.color.copy(COLOR.setHex(light.color));
  drawn.position.copy(at);
  if (drawn instanceof DirectionalLight) {
    WAY.set(...light.direction).normalize();
    drawn.position.addScaledVector(WAY, -SUN_FAR_M);
    drawn.target.position.copy(at);
    drawn.intensity = SUN_INTENSITY * light.brightness;
    return;
  }
  drawn.distance = light.range;
  drawn.intensity = LAMP_INTENSITY * light.brightness;
  if (!(drawn instanceof SpotLight)) return;
  drawn.angle = light.angle;
  drawn.penumbra = 0.4;
  drawn.target.position.copy(at).add(WAY.set(...light.direction).normalize());
}

const COLOR = new Color();
const WAY = new Vector3();
