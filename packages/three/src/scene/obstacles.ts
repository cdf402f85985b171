import { Quaternion, Vector3 } from "three";
import type { Prop } from "./prop.js";
import { rayBoxDistance } from "./ray.js";

/** Default length of a ray, in metres. */
const REACH_M = 100;
/** Obstacles below this opacity count as transparent. */
const GLASS_OPACITY = 0.4;

export interface Cast {
  /** Margin that is added around every obstacle, in metres. */
  readonly margin?: number;
  /** An entity to ignore: the carried entity, or the local player's body. */
  readonly except?: number | undefined;
  readonly reach?: number;
  /** Whether the ray passes through transparent obstacles. */
  readonly passesGlass?: boolean;
}

/** The obstacles for bodies. The camera, the feet and the eyes test rays against them. */
export class Obstacles {
  readonly #props: Prop[] = [];
  /** The obstacles that may move. */
  readonly #loose: Prop[] = [];

  add(prop: Prop): void {
    this.#props.push(prop);
    if (!prop.body.isFixed) this.#loose.push(prop);
  }

  remove(prop: Prop): void {
    for (const list of [this.#props, this.#loose]) {
      const index = list.indexOf(prop);
      if (index >= 0) list.splice(index, 1);
    }
  }

  clear(): void {
    this.#props.length = this.#loose.length = 0;
  }

  /** The obstacle that may move and is below a point, at most this far. */
  looseBelow(x: number, y: number, z: number, reach: number): Prop | undefined {
    let below: Prop | undefined;
    let nearest = reach;
    for (let i = 0; i < this.#loose.length; i++) {
      const prop = this.#loose[i]!;
      const distance = castAt(prop, 0, x, y, z, 0, -1, 0, nearest);
      if (distance >= nearest) continue;
      below = prop;
      nearest = distance;
    }
    return below;
  }

  /** Obstacles that do not move. */
  fixed(): readonly Prop[] {
    return this.#props.filter((prop) => prop.body.isFixed);
  }

  /**
   * Distance from a point along a unit direction to the nearest obstacle; `Infinity` if there is none within
   * reach. An obstacle that contains the start of the ray does not count.
   */
  cast(
    ox: number,
    oy: number,
    oz: number,
    dx: number,
    dy: number,
    dz: number,
    { margin = 0, except, reach = REACH_M, passesGlass = false }: Cast = {},
  ): number {
    let nearest = Number.POSITIVE_INFINITY;
    for (let i = 0; i < this.#props.length; i++) {
      const prop = this.#props[i]!;
      if (prop.id === except || (passesGlass && prop.opacity < GLASS_OPACITY)) continue;
      const distance = castAt(prop, margin, ox, oy, oz, dx, dy, dz, Math.min(nearest, reach));
      if (distance < nearest) nearest = distance;
    }
    return nearest <= reach ? nearest : Number.POSITIVE_INFINITY;
  }
}

/** Distance along a ray of unit direction to one prop, grown by `margin`. */
export function castAt(
  prop: Prop,
  margin: number,
  ox: number,
  oy: number,
  oz: number,
  dx: number,
  dy: number,
  dz: number,
  reach: number,
): number {
  if (prop.probe === "box") return rayBoxDistance(prop, margin, ox, oy, oz, dx, dy, dz);
  const { x, y, z } = prop.position;
  const [rx, ry, rz] = [ox - x, oy - y, oz - z];
  const along = -(rx * dx + ry * dy + rz * dz);
  const from2 = rx * rx + ry * ry + rz * rz;
  const radius = (prop.probe === "ball" ? prop.halfX : prop.reach) + margin;
  // This tests the bounding sphere; for a ball no further test is needed.
  const beside2 = from2 - along * along;
  if (beside2 > radius * radius) return Number.POSITIVE_INFINITY;
  const inner = Math.sqrt(radius * radius - beside2);
  if (along + inner < 0 || along - inner > reach) return Number.POSITIVE_INFINITY;
  if (prop.probe === "ball") return along < inner ? Number.POSITIVE_INFINITY : along - inner;

  // The ray is converted to the coordinates of the unscaled form. The length of the direction changes, too,
  // so distances are still in metres.
  const [scaleX, scaleY, scaleZ] = prop.body.scale;
  TURN.copy(prop.quaternion).conjugate();
  ORIGIN.set(rx, ry, rz).applyQuaternion(TURN);
  DIRECTION.set(dx, dy, dz).applyQuaternion(TURN);
  const distance = prop.probe.cast(
    ORIGIN.x / scaleX,
    ORIGIN.y / scaleY,
    ORIGIN.z / scaleZ,
    DIRECTION.x / scaleX,
    DIRECTION.y / scaleY,
    DIRECTION.z / scaleZ,
    Math.min(reach, along + inner) + margin,
  );
  return Math.max(0, distance - margin);
}

const TURN = new Quaternion();
const ORIGIN = new Vector3();
const DIRECTION = new Vector3();
