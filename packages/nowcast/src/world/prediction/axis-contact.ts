/**
 * The distance and direction between a walker's axis and a form other than a box:
 * `spec/MOVEMENT.md`, section 4. Every operation is rounded separately.
 */
import { Triangle, type Triangles } from "./triangles.js";

const f = Math.fround;
const NEAREST_ROUNDS = 8;
const DISTANCE2_MIN = f(1e-12);
/** At smaller radii, no direction can be computed. */
const RADIUS_MIN = f(1e-6);
/**
 * A triangle cannot touch the walker if its box is farther from the axis than the radius plus this margin, in metres.
 */
const SKIP_MARGIN = f(0.01);

/** The fields of a solid that this measurement needs. */
export interface AxisForm {
  readonly form: "box" | "cylinder" | "cone" | "hull" | "surface";
  readonly half: ArrayLike<number>;
  readonly triangles: Triangles | undefined;
}

/** The upright axis of a walker without its round ends, in the coordinates of a solid. One object is reused. */
export class AxisContact {
  /** The direction toward the walker, of length 1. */
  x = 0;
  y = 1;
  z = 0;
  /** The distance from the form to the axis, in metres; negative inside the form. */
  distance = 0;

  #bx = 0;
  #by = 0;
  #bz = 0;
  #ux = 0;
  #uy = 1;
  #uz = 0;
  #length = 0;
  /** The point of the axis that is nearest to the form, and the nearest point of the form. */
  #px = 0;
  #py = 0;
  #pz = 0;
  #nx = 0;
  #ny = 0;
  #nz = 0;
  #form: AxisForm["form"] = "box";
  #radius = 0;
  #half = 0;
  readonly #triangle = new Triangle();
  readonly #low = [0, 0, 0];
  readonly #high = [0, 0, 0];

  /** Sets the axis, which begins at b and has the direction u. */
  begin(bx: number, by: number, bz: number, ux: number, uy: number, uz: number, length: number): void {
    this.#bx = bx;
    this.#by = by;
    this.#bz = bz;
    this.#ux = ux;
    this.#uy = uy;
    this.#uz = uz;
    this.#length = length;
  }

  meet({ form, half, triangles }: AxisForm, walkerRadius: number): void {
    this.#form = form;
    if (form === "hull") return this.#meetHull(triangles!);
    if (form === "surface") return this.#meetSurface(triangles!, walkerRadius);
    this.#radius = half[0]!;
    this.#half = half[1]!;
    this.#approach();
    if (this.#outward()) return;
    if (form === "cylinder") this.#leaveCylinder();
    else this.#leaveCone();
  }

  /** Finds the nearest points of the axis and the form by alternating projection. */
  #approach(): void {
    let along = 0;
    this.#point(0);
    this.#nearest();
    for (let round = 0; round < NEAREST_ROUNDS; round++) {
      const [dx, dy, dz] = [f(this.#nx - this.#bx), f(this.#ny - this.#by), f(this.#nz - this.#bz)];
      let next = f(f(f(dx * this.#ux) + f(dy * this.#uy)) + f(dz * this.#uz));
      if (next < 0) next = 0;
      if (next > this.#length) next = this.#length;
      if (next === along) break;
      along = next;
      this.#point(along);
      this.#nearest();
    }
    this.#point(along);
  }

  #point(along: number): void {
    this.#px = f(this.#bx + f(this.#ux * along));
    this.#py = f(this.#by + f(this.#uy * along));
    this.#pz = f(this.#bz + f(this.#uz * along));
  }

  #nearest(): void {
    if (this.#form === "cylinder") return this.#inCylinder(this.#px, this.#py, this.#pz);
    if (this.#form === "cone") return this.#inCone(this.#px, this.#py, this.#pz);
    const triangle = this.#triangle;
    triangle.nearest(this.#px, this.#py, this.#pz);
    this.#near(triangle.x, triangle.y, triangle.z);
  }

  #near(x: number, y: number, z: number): void {
    this.#nx = x;
    this.#ny = y;
    this.#nz = z;
  }

  /** Sets the result from the nearest points. Returns false if they coincide. */
  #outward(): boolean {
    const [dx, dy, dz] = [f(this.#px - this.#nx), f(this.#py - this.#ny), f(this.#pz - this.#nz)];
    const distance2 = f(f(f(dx * dx) + f(dy * dy)) + f(dz * dz));
    if (!(distance2 > DISTANCE2_MIN)) return false;
    const distance = f(Math.sqrt(distance2));
    this.#answer(f(dx / distance), f(dy / distance), f(dz / distance), distance);
    return true;
  }

  #answer(x: number, y: number, z: number, distance: number): void {
    this.x = x;
    this.y = y;
    this.z = z;
    this.distance = distance;
  }

  #inCylinder(x: number, y: number, z: number): void {
    const [radius, half] = [this.#radius, this.#half];
    const level = y > half ? half : y < -half ? -half : y;
    const across = lengthOf(x, z);
    if (across <= radius) return this.#near(x, level, z);
    const share = f(radius / across);
    this.#near(f(x * share), level, f(z * share));
  }

  #leaveCylinder(): void {
    const [x, y, z] = [this.#px, this.#py, this.#pz];
    const across = lengthOf(x, z);
    const side = f(across - this.#radius);
    const cap = f(Math.abs(y) - this.#half);
    if (side <= cap) this.#answer(0, y < 0 ? -1 : 1, 0, cap);
    else if (across > RADIUS_MIN) this.#answer(f(x / across), 0, f(z / across), side);
    else this.#answer(1, 0, 0, side);
  }

  #inCone(x: number, y: number, z: number): void {
    const [radius, half] = [this.#radius, this.#half];
    const across = lengthOf(x, z);
    if (y < -half) {
      const share = across <= radius ? 1 : f(radius / across);
      return this.#near(f(x * share), -half, f(z * share));
    }
    const beside = f(across - radius);
    const above = f(y + half);
    const height = f(2 * half);
    if (f(f(beside * height) + f(above * radius)) <= 0) return this.#near(x, y, z);
    const slant2 = f(f(radius * radius) + f(height * height));
    let along = f(f(f(above * height) - f(beside * radius)) / slant2);
    if (along < 0) along = 0;
    if (along > 1) along = 1;
    const share = across > RADIUS_MIN ? f(f(radius - f(radius * along)) / across) : 0;
    this.#near(f(x * share), f(f(height * along) - half), f(z * share));
  }

  #leaveCone(): void {
    const [radius, half] = [this.#radius, this.#half];
    const [x, y, z] = [this.#px, this.#py, this.#pz];
    const across = lengthOf(x, z);
    const beside = f(across - radius);
    const above = f(y + half);
    const height = f(2 * half);
    const slant = f(Math.sqrt(f(f(radius * radius) + f(height * height))));
    const side = f(f(f(beside * height) + f(above * radius)) / slant);
    const base = f(-half - y);
    if (side <= base) return this.#answer(0, -1, 0, base);
    if (across <= RADIUS_MIN) return this.#answer(0, 1, 0, side);
    const outward = f(height / slant);
    this.#answer(f(f(x / across) * outward), f(radius / slant), f(f(z / across) * outward), side);
  }

  /**
   * Sets the result to the nearest face or, if the axis is inside, to the face with the shortest
   * way out.
   */
  #meetHull(faces: Triangles): void {
    const triangle = this.#triangle;
    let [x, y, z, least] = [0, 1, 0, Number.POSITIVE_INFINITY];
    let isOutside = true;
    for (let face = 0; face < faces.count; face++) {
      if (!faces.load(face, triangle)) continue;
      this.#approach();
      if (!this.#outward()) {
        isOutside = false;
        break;
      }
      if (this.distance >= least) continue;
      [x, y, z, least] = [this.x, this.y, this.z, this.distance];
      isOutside = this.#isOutsideOf(faces);
    }
    this.#answer(x, y, z, least);
    if (!isOutside) this.#leaveHull(faces);
  }

  /** Whether the nearest point of the axis is in front of any face. */
  #isOutsideOf(faces: Triangles): boolean {
    for (let face = 0; face < faces.count; face++) {
      if (!faces.load(face, OTHER)) continue;
      if (OTHER.outside(this.#px, this.#py, this.#pz) > 0) return true;
    }
    return false;
  }

  #leaveHull(faces: Triangles): void {
    const triangle = this.#triangle;
    this.#point(this.#length);
    this.#answer(0, 1, 0, Number.NEGATIVE_INFINITY);
    for (let face = 0; face < faces.count; face++) {
      if (!faces.load(face, triangle)) continue;
      const foot = triangle.outside(this.#bx, this.#by, this.#bz);
      const head = triangle.outside(this.#px, this.#py, this.#pz);
      const out = head < foot ? head : foot;
      if (out > this.distance) this.#answer(triangle.nx, triangle.ny, triangle.nz, out);
    }
  }

  /**
   * Sets the result to the nearest triangle. A triangle that the axis crosses pushes the walker to
   * the side on which the middle of the axis lies.
   */
  #meetSurface(triangles: Triangles, walkerRadius: number): void {
    const triangle = this.#triangle;
    const margin = f(walkerRadius + SKIP_MARGIN);
    this.#point(this.#length);
    this.#bound(0, this.#bx, this.#px, margin);
    this.#bound(1, this.#by, this.#py, margin);
    this.#bound(2, this.#bz, this.#pz, margin);
    let [x, y, z, least] = [0, 1, 0, Number.POSITIVE_INFINITY];
    const count = triangles.select(this.#low, this.#high);
    for (let at = 0; at < count; at++) {
      if (!triangles.load(triangles.selected[at]!, triangle)) continue;
      this.#approach();
      if (!this.#outward()) {
        this.#point(f(this.#length * 0.5));
        const isAbove = triangle.outside(this.#px, this.#py, this.#pz) >= 0;
        if (isAbove) this.#answer(triangle.nx, triangle.ny, triangle.nz, 0);
        else this.#answer(-triangle.nx, -triangle.ny, -triangle.nz, 0);
      }
      if (this.distance >= least) continue;
      [x, y, z, least] = [this.x, this.y, this.z, this.distance];
    }
    this.#answer(x, y, z, least);
  }

  #bound(axis: number, foot: number, head: number, margin: number): void {
    this.#low[axis] = f(Math.min(foot, head) - margin);
    this.#high[axis] = f(Math.max(foot, head) + margin);
  }
}

function lengthOf(x: number, z: number): number {
  return f(Math.sqrt(f(f(x * x) + f(z * z))));
}

const OTHER = new Triangle();
