import type { Quaternion } from "./orientation.js";

/** Vectors, rotations, and the common motion of a group of bodies (`spec/DELTA.md`, section 10). */

export type Vector = readonly [number, number, number];

export const ZERO: Vector = [0, 0, 0];

export function minus(a: Vector, b: Vector): Vector {
  return [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
}

export function plus(a: Vector, b: Vector): Vector {
  return [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
}

export function scaled(a: Vector, factor: number): Vector {
  return [a[0] * factor, a[1] * factor, a[2] * factor];
}

export function dot(a: Vector, b: Vector): number {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

function cross(a: Vector, b: Vector): Vector {
  return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
}

function product(a: Quaternion, b: Quaternion): Quaternion {
  return [
    a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
    a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
    a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3],
    a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
  ];
}

/** The rotation vector that leads from one orientation to another; for small angles, in radians. */
export function rotation(from: Quaternion, to: Quaternion): Vector {
  const [x, y, z, w] = product(to, [-from[0], -from[1], -from[2], from[3]]);
  return w === 0 ? ZERO : scaled([x, y, z], 2 / w);
}

/**
 * The inverse of `rotation`: turns an orientation by a rotation vector. The length of the
 * quaternion does not change.
 */
export function turned(orientation: Quaternion, by: Vector): Quaternion {
  const half = scaled(by, 0.5);
  const length = Math.sqrt(1 + dot(half, half));
  return product([half[0] / length, half[1] / length, half[2] / length, 1 / length], orientation);
}

/** A place and the velocity there. */
export type PointMotion = readonly [place: Vector, velocity: Vector];

/** Minimum number of bodies in a group. */
const GROUP_MIN = 8;
/** Number of repetitions of the fit, with less weight on bodies that do not fit. */
const PASSES = 3;

/** The motion of a rigid body: a velocity and a rotation around a centre. */
export class Rigid {
  constructor(
    readonly centre: Vector = ZERO,
    readonly velocity: Vector = ZERO,
    readonly turning: Vector = ZERO,
  ) {}

  /** The motion that most of these bodies share; `undefined` if they are too few. */
  static of(bodies: readonly PointMotion[]): Rigid | undefined {
    if (bodies.length < GROUP_MIN) return undefined;
    const total = bodies.reduce((sum, [place]) => plus(sum, place), ZERO);
    let rigid = new Rigid(scaled(total, 1 / bodies.length));
    for (let pass = 0; pass < PASSES; pass++) rigid = rigid.#fitted(bodies, pass > 0);
    return rigid;
  }

  /** The velocity of a point that moves with the group. */
  velocityAt(point: Vector): Vector {
    return plus(this.velocity, cross(this.turning, minus(point, this.centre)));
  }

  /**
   * Fits velocity and turning by least squares. Bodies that do not fit the last result have less
   * weight.
   */
  #fitted(bodies: readonly PointMotion[], isWeighted: boolean): Rigid {
    let total = 0;
    let arm = ZERO;
    let momentum = ZERO;
    let angular = ZERO;
    const inertia = new Float64Array(9);
    for (const [place, velocity] of bodies) {
      const from = minus(place, this.centre);
      let weight = 1;
      if (isWeighted) {
        const off = minus(velocity, this.velocityAt(place));
        weight = 1 / (1 + dot(off, off));
      }
      total += weight;
      arm = plus(arm, scaled(from, weight));
      momentum = plus(momentum, scaled(velocity, weight));
      angular = plus(angular, scaled(cross(from, velocity), weight));
      addInertia(inertia, from, weight);
    }
    // The coordinates are moved to the weighted centre, about which velocity and turning are independent.
    const mean = scaled(arm, 1 / total);
    addInertia(inertia, mean, -total);
    const turning = solve(inertia, minus(angular, cross(mean, momentum)));
    return new Rigid(this.centre, minus(scaled(momentum, 1 / total), cross(turning, mean)), turning);
  }
}

function addInertia(inertia: Float64Array, from: Vector, weight: number): void {
  const square = dot(from, from);
  for (let row = 0; row < 3; row++) {
    for (let column = 0; column < 3; column++)
      inertia[3 * row + column]! -= weight * from[row]! * from[column]!;
    inertia[3 * row + row]! += weight * square;
  }
}

/** Solves a symmetric system of three equations; zero if it is singular or nearly so. */
function solve(matrix: Float64Array, right: Vector): Vector {
  const row = (at: number): Vector => [matrix[3 * at]!, matrix[3 * at + 1]!, matrix[3 * at + 2]!];
  const first = cross(row(1), row(2));
  const second = cross(row(2), row(0));
  const third = cross(row(0), row(1));
  const determinant = dot(row(0), first);
  if (determinant <= 1) return ZERO;
  const sum = plus(plus(scaled(first, right[0]), scaled(second, right[1])), scaled(third, right[2]));
  return scaled(sum, 1 / determinant);
}
