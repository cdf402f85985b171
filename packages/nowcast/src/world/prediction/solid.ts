/**
 * Bodies for the collision of walkers, in 32-bit arithmetic: `spec/MOVEMENT.md`, section 4. Every
 * operation is rounded separately.
 */
import type { BodyRole } from "../describe/body.js";
import type { NumberArray } from "../interpolation/rotation.js";
import { AxisContact } from "./axis-contact.js";
import type { Triangles } from "./triangles.js";

const f = Math.fround;
const NEAREST_ROUNDS = 8;
const DISTANCE2_MIN = f(1e-12);
const HALF_STEP_SECONDS = f(f(1 / 60) * 0.5);

/** The extent of a solid: `half` is the size of a box, cylinder or cone; `triangles` enclose a hull or are a surface. */
export type SolidForm = "box" | "cylinder" | "cone" | "hull" | "surface";

/** The middle of a walker, in metres. Numbers in fields make no garbage, unlike numbers in arguments. */
export interface WalkerPlace {
  readonly px: number;
  readonly py: number;
  readonly pz: number;
}

/** The radius and the height of a walker, in metres. */
export interface WalkerSize {
  readonly radius: number;
  readonly height: number;
}

const POINT: WalkerSize = { radius: 0, height: 0 };

/**
 * A body whose surface is at the distance `radius` outside of its form. For a sphere, the form is a
 * box whose extents are 0; for a capsule, a box with only one extent above 0.
 */
export class Solid {
  /** Its middle, in metres. */
  readonly center = new Float32Array(3);
  /** The solid's own three axes in world coordinates, three numbers each. */
  readonly axes = new Float32Array(9);
  /** Half its extents along these axes, in metres; unused for triangles. */
  readonly half = new Float32Array(3);
  form: SolidForm = "box";
  triangles: Triangles | undefined;
  /** Distance of the solid's surface from its form, in metres. */
  radius = 0;
  /** Whether the solid only carries walkers that stand on it, and blocks no walker. */
  isGroundOnly = false;
  /** The effect on walkers. Water stops no walker. */
  role: BodyRole = "obstacle";
  /** Whether the solid's body moves. Otherwise `pivot`, `velocity` and `spin` have no meaning. */
  moves = false;
  /** A point of the body, in metres. */
  readonly pivot = new Float32Array(3);
  /** The velocity of this point, in metres a second. */
  readonly velocity = new Float32Array(3);
  /** The rotation about this point, in radians a second. */
  readonly spin = new Float32Array(3);
  /** Position of a part in its compound body, in metres; `undefined` for a separate body. */
  at: readonly [number, number, number] | undefined;
  /** Rotation of a part in its body. */
  turn: readonly [number, number, number, number] = [0, 0, 0, 1];

  /** Sets the solid's pose, or that of its body. `rotation` is a unit quaternion x, y, z, w. */
  place(position: NumberArray, rotation: NumberArray): void {
    for (let axis = 0; axis < 3; axis++) this.center[axis] = position[axis]!;
    const [x, y, z, w] = [f(rotation[0]!), f(rotation[1]!), f(rotation[2]!), f(rotation[3]!)];
    this.#rotate(x, y, z, w);
    if (this.at === undefined) return;
    const [atX, atY, atZ] = this.at;
    const { axes, center } = this;
    for (let axis = 0; axis < 3; axis++) {
      const along = f(f(f(axes[axis]! * atX) + f(axes[3 + axis]! * atY)) + f(axes[6 + axis]! * atZ));
      center[axis] = f(center[axis]! + along);
    }
    const [a, b, c, d] = this.turn;
    this.#rotate(
      f(f(f(f(w * a) + f(x * d)) + f(y * c)) - f(z * b)),
      f(f(f(f(w * b) - f(x * c)) + f(y * d)) + f(z * a)),
      f(f(f(f(w * c) + f(x * b)) - f(y * a)) + f(z * d)),
      f(f(f(f(w * d) - f(x * a)) - f(y * b)) - f(z * c)),
    );
  }

  /** Writes the velocity that the solid gives to a walker at this place. */
  carry({ px, py, pz }: WalkerPlace, out: Float32Array, at = 0): void {
    if (!this.moves) {
      out[at] = out[at + 1] = out[at + 2] = 0;
      return;
    }
    const { pivot, velocity, spin } = this;
    const [wx, wy, wz] = [spin[0]!, spin[1]!, spin[2]!];
    let x = f(px - pivot[0]!);
    let y = f(py - pivot[1]!);
    let z = f(pz - pivot[2]!);
    // The velocity is that of half a step later on the arc of the point, so that the point keeps
    // its distance from the centre.
    const tx = f(f(wy * z) - f(wz * y));
    const ty = f(f(wz * x) - f(wx * z));
    const tz = f(f(wx * y) - f(wy * x));
    x = f(x + f(tx * HALF_STEP_SECONDS));
    y = f(y + f(ty * HALF_STEP_SECONDS));
    z = f(z + f(tz * HALF_STEP_SECONDS));
    out[at] = velocity[0]! + f(f(wy * z) - f(wz * y));
    out[at + 1] = velocity[1]! + f(f(wz * x) - f(wx * z));
    out[at + 2] = velocity[2]! + f(f(wx * y) - f(wy * x));
  }

  #rotate(x: number, y: number, z: number, w: number): void {
    const { axes } = this;
    axes[0] = f(1 - f(2 * f(f(y * y) + f(z * z))));
    axes[1] = f(2 * f(f(x * y) + f(w * z)));
    axes[2] = f(2 * f(f(x * z) - f(w * y)));
    axes[3] = f(2 * f(f(x * y) - f(w * z)));
    axes[4] = f(1 - f(2 * f(f(x * x) + f(z * z))));
    axes[5] = f(2 * f(f(y * z) + f(w * x)));
    axes[6] = f(2 * f(f(x * z) + f(w * y)));
    axes[7] = f(2 * f(f(y * z) - f(w * x)));
    axes[8] = f(1 - f(2 * f(f(x * x) + f(y * y))));
  }
}

/** The surface of a solid that is nearest to a walker. One object is reused. */
export class Contact {
  /** The direction toward the walker, of length 1. */
  x = 0;
  y = 1;
  z = 0;
  /** Distance between solid and walker in metres; negative if they overlap. */
  gap = 0;
  readonly #axis = new AxisContact();

  /**
   * Measures the distance between a solid and a walker of this radius and height, in metres, at this place. Water is
   * infinitely far away.
   */
  measure(solid: Solid, place: WalkerPlace, size: WalkerSize): void {
    if (solid.role === "water") this.gap = Number.POSITIVE_INFINITY;
    else this.#measure(solid, place, size);
  }

  /** Whether a point is inside of the solid. */
  contains(solid: Solid, point: WalkerPlace): boolean {
    this.#measure(solid, point, POINT);
    return this.gap < 0;
  }

  #measure(solid: Solid, place: WalkerPlace, size: WalkerSize): void {
    const { center, axes, half } = solid;
    const { px, py, pz } = place;
    const { radius, height } = size;
    const reach = f(f(height * 0.5) - radius);
    const fx = f(px - center[0]!);
    const fy = f(f(py - reach) - center[1]!);
    const fz = f(pz - center[2]!);
    const bx = f(f(f(fx * axes[0]!) + f(fy * axes[1]!)) + f(fz * axes[2]!));
    const by = f(f(f(fx * axes[3]!) + f(fy * axes[4]!)) + f(fz * axes[5]!));
    const bz = f(f(f(fx * axes[6]!) + f(fy * axes[7]!)) + f(fz * axes[8]!));
    const ux = axes[1]!;
    const uy = axes[4]!;
    const uz = axes[7]!;
    const hx = half[0]!;
    const hy = half[1]!;
    const hz = half[2]!;
    const length = f(2 * reach);
    if (solid.form !== "box") {
      const axis = this.#axis;
      axis.begin(bx, by, bz, ux, uy, uz, length);
      axis.meet(solid, radius);
      this.#turn(axes, axis.x, axis.y, axis.z);
      this.gap = f(axis.distance - f(radius + solid.radius));
      return;
    }
    let along = 0;
    let nx = within(bx, hx);
    let ny = within(by, hy);
    let nz = within(bz, hz);
    for (let round = 0; round < NEAREST_ROUNDS; round++) {
      let next = f(f(f(f(nx - bx) * ux) + f(f(ny - by) * uy)) + f(f(nz - bz) * uz));
      if (next < 0) next = 0;
      if (next > length) next = length;
      if (next === along) break;
      along = next;
      nx = within(f(bx + f(ux * along)), hx);
      ny = within(f(by + f(uy * along)), hy);
      nz = within(f(bz + f(uz * along)), hz);
    }
    const qx = f(bx + f(ux * along));
    const qy = f(by + f(uy * along));
    const qz = f(bz + f(uz * along));
    let lx = f(qx - nx);
    let ly = f(qy - ny);
    let lz = f(qz - nz);
    const distance2 = f(f(f(lx * lx) + f(ly * ly)) + f(lz * lz));
    let distance: number;
    if (distance2 > DISTANCE2_MIN) {
      distance = f(Math.sqrt(distance2));
      lx = f(lx / distance);
      ly = f(ly / distance);
      lz = f(lz / distance);
    } else {
      // If the axis is inside, the way out is through the nearest face.
      const ox = f(Math.abs(qx) - hx);
      const oy = f(Math.abs(qy) - hy);
      const oz = f(Math.abs(qz) - hz);
      distance = ox;
      let face = 0;
      if (oy > distance) {
        distance = oy;
        face = 1;
      }
      if (oz > distance) {
        distance = oz;
        face = 2;
      }
      lx = face === 0 ? (qx < 0 ? -1 : 1) : 0;
      ly = face === 1 ? (qy < 0 ? -1 : 1) : 0;
      lz = face === 2 ? (qz < 0 ? -1 : 1) : 0;
    }
    this.#turn(axes, lx, ly, lz);
    this.gap = f(distance - f(radius + solid.radius));
  }

  /** Converts a direction from a solid's axes to world coordinates. */
  #turn(axes: Float32Array, lx: number, ly: number, lz: number): void {
    this.x = f(f(f(axes[0]! * lx) + f(axes[3]! * ly)) + f(axes[6]! * lz));
    this.y = f(f(f(axes[1]! * lx) + f(axes[4]! * ly)) + f(axes[7]! * lz));
    this.z = f(f(f(axes[2]! * lx) + f(axes[5]! * ly)) + f(axes[8]! * lz));
  }
}

function within(value: number, half: number): number {
  return value > half ? half : value < -half ? -half : value;
}

/** Half the height of an assumed platform, in metres. */
const PLATFORM_HALF_M = 0.5;

/** A box whose top is at the feet of an avatar. */
export function platformAt(x: number, feetY: number, z: number, radius: number): Solid {
  const platform = new Solid();
  platform.half.set([radius, PLATFORM_HALF_M, radius]);
  platform.place([x, feetY - PLATFORM_HALF_M, z], [0, 0, 0, 1]);
  return platform;
}
