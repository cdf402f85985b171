/** Triangles of hulls, meshes and height fields, in 32-bit arithmetic: `spec/MOVEMENT.md`, section 4. */

const f = Math.fround;
/** Triangles are skipped if their normal, before normalisation, has a smaller squared length. */
const NORMAL2_MIN = f(1e-12);
const LEAF_MAX = 8;

/** One triangle. One object is reused. */
export class Triangle {
  ax = 0;
  ay = 0;
  az = 0;
  bx = 0;
  by = 0;
  bz = 0;
  cx = 0;
  cy = 0;
  cz = 0;
  /** Its normal, of length 1. */
  nx = 0;
  ny = 1;
  nz = 0;
  /** The result of {@link Triangle.nearest}. */
  x = 0;
  y = 0;
  z = 0;

  /** Computes the normal; returns false for a triangle that is almost a line. */
  orient(): boolean {
    const [ux, uy, uz] = [f(this.bx - this.ax), f(this.by - this.ay), f(this.bz - this.az)];
    const [vx, vy, vz] = [f(this.cx - this.ax), f(this.cy - this.ay), f(this.cz - this.az)];
    const x = f(f(uy * vz) - f(uz * vy));
    const y = f(f(uz * vx) - f(ux * vz));
    const z = f(f(ux * vy) - f(uy * vx));
    const length2 = dot(x, y, z, x, y, z);
    if (!(length2 > NORMAL2_MIN)) return false;
    const length = f(Math.sqrt(length2));
    this.nx = f(x / length);
    this.ny = f(y / length);
    this.nz = f(z / length);
    return true;
  }

  /** Distance by which a point lies in front of the triangle's plane. */
  outside(px: number, py: number, pz: number): number {
    return dot(f(px - this.ax), f(py - this.ay), f(pz - this.az), this.nx, this.ny, this.nz);
  }

  /**
   * Finds the point of the triangle that is nearest to a given point (Ericson, Real-Time Collision Detection, 2005,
   * section 5.1.5).
   */
  nearest(px: number, py: number, pz: number): void {
    const { ax, ay, az, bx, by, bz, cx, cy, cz } = this;
    const [abx, aby, abz] = [f(bx - ax), f(by - ay), f(bz - az)];
    const [acx, acy, acz] = [f(cx - ax), f(cy - ay), f(cz - az)];
    const [apx, apy, apz] = [f(px - ax), f(py - ay), f(pz - az)];
    const d1 = dot(abx, aby, abz, apx, apy, apz);
    const d2 = dot(acx, acy, acz, apx, apy, apz);
    if (d1 <= 0 && d2 <= 0) return this.#found(ax, ay, az);
    const [bpx, bpy, bpz] = [f(px - bx), f(py - by), f(pz - bz)];
    const d3 = dot(abx, aby, abz, bpx, bpy, bpz);
    const d4 = dot(acx, acy, acz, bpx, bpy, bpz);
    if (d3 >= 0 && d4 <= d3) return this.#found(bx, by, bz);
    if (f(f(d1 * d4) - f(d3 * d2)) <= 0 && d1 >= 0 && d3 <= 0) {
      const share = f(d1 / f(d1 - d3));
      return this.#found(f(ax + f(abx * share)), f(ay + f(aby * share)), f(az + f(abz * share)));
    }
    const [cpx, cpy, cpz] = [f(px - cx), f(py - cy), f(pz - cz)];
    const d5 = dot(abx, aby, abz, cpx, cpy, cpz);
    const d6 = dot(acx, acy, acz, cpx, cpy, cpz);
    if (d6 >= 0 && d5 <= d6) return this.#found(cx, cy, cz);
    if (f(f(d5 * d2) - f(d1 * d6)) <= 0 && d2 >= 0 && d6 <= 0) {
      const share = f(d2 / f(d2 - d6));
      return this.#found(f(ax + f(acx * share)), f(ay + f(acy * share)), f(az + f(acz * share)));
    }
    const e = f(d4 - d3);
    const g = f(d5 - d6);
    if (f(f(d3 * d6) - f(d5 * d4)) <= 0 && e >= 0 && g >= 0) {
      const share = f(e / f(e + g));
      return this.#found(
        f(bx + f(f(cx - bx) * share)),
        f(by + f(f(cy - by) * share)),
        f(bz + f(f(cz - bz) * share)),
      );
    }
    const out = dot(apx, apy, apz, this.nx, this.ny, this.nz);
    this.#found(f(px - f(this.nx * out)), f(py - f(this.ny * out)), f(pz - f(this.nz * out)));
  }

  #found(x: number, y: number, z: number): void {
    this.x = x;
    this.y = y;
    this.z = z;
  }
}

/** The triangles of one body, in the body's coordinates. */
export interface Triangles {
  readonly count: number;
  /** Half the extents of the box around the origin that contains all triangles, in metres. */
  readonly half: readonly [number, number, number];
  /**
   * The triangles that `select` found, in rising order. Only the number of triangles that it
   * returned are valid.
   */
  readonly selected: number[];
  /** Finds all triangles that a box can touch, and possibly some more. Returns their number. */
  select(low: ArrayLike<number>, high: ArrayLike<number>): number;
  /** Loads a triangle; returns false if it is almost a line. */
  load(number: number, out: Triangle): boolean;
}

/** Triangles in a list, with a tree of boxes over them. */
export class ListedTriangles implements Triangles {
  readonly count: number;
  readonly half: readonly [number, number, number];
  readonly selected: number[] = [];
  readonly #corners: Float32Array;
  /** For each node, the two corners of its box. */
  readonly #boxes: number[] = [];
  /**
   * For each node, its second child; for a leaf, the complement of its first index in `#order`. The
   * first child follows the node.
   */
  readonly #links: number[] = [];
  readonly #counts: number[] = [];
  readonly #order: Uint32Array;

  /** `corners` holds nine numbers per triangle: three corners with three coordinates each. */
  constructor(corners: Float32Array) {
    this.#corners = corners;
    this.count = corners.length / 9;
    this.#order = Uint32Array.from({ length: this.count }, (_, number) => number);
    if (this.count > 0) this.#build(0, this.count);
    const half: [number, number, number] = [0, 0, 0];
    for (let at = 0; at < corners.length; at++)
      half[at % 3] = Math.max(half[at % 3]!, Math.abs(corners[at]!));
    this.half = half;
  }

  select(low: ArrayLike<number>, high: ArrayLike<number>): number {
    let found = 0;
    let depth = 0;
    if (this.count > 0) STACK[depth++] = 0;
    while (depth > 0) {
      const node = STACK[--depth]!;
      if (!this.#meets(node, low, high)) continue;
      const link = this.#links[node]!;
      if (link >= 0) {
        STACK[depth++] = link;
        STACK[depth++] = node + 1;
        continue;
      }
      for (let at = ~link; at < ~link + this.#counts[node]!; at++) this.selected[found++] = this.#order[at]!;
    }
    this.selected.length = found;
    this.selected.sort(rising);
    return found;
  }

  load(number: number, out: Triangle): boolean {
    const at = 9 * number;
    const from = this.#corners;
    out.ax = from[at]!;
    out.ay = from[at + 1]!;
    out.az = from[at + 2]!;
    out.bx = from[at + 3]!;
    out.by = from[at + 4]!;
    out.bz = from[at + 5]!;
    out.cx = from[at + 6]!;
    out.cy = from[at + 7]!;
    out.cz = from[at + 8]!;
    return out.orient();
  }

  /** Splits a node at the middle of its longest side, by the centres of the triangles. */
  #build(from: number, to: number): void {
    const node = this.#links.length;
    const low = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    const high = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (let at = from; at < to; at++) {
      for (let part = 0; part < 9; part++) {
        const value = this.#corners[9 * this.#order[at]! + part]!;
        const axis = part % 3;
        low[axis] = Math.min(low[axis]!, value);
        high[axis] = Math.max(high[axis]!, value);
      }
    }
    this.#boxes.push(...low, ...high);
    this.#links.push(~from);
    this.#counts.push(to - from);
    if (to - from <= LEAF_MAX) return;
    const sides = [0, 1, 2].map((axis) => high[axis]! - low[axis]!);
    const axis = sides.indexOf(Math.max(...sides));
    const center = (number: number): number =>
      this.#corners[9 * number + axis]! +
      this.#corners[9 * number + 3 + axis]! +
      this.#corners[9 * number + 6 + axis]!;
    this.#order.subarray(from, to).sort((a, b) => center(a) - center(b));
    const middle = (from + to) >> 1;
    this.#build(from, middle);
    this.#links[node] = this.#links.length;
    this.#build(middle, to);
  }

  #meets(node: number, low: ArrayLike<number>, high: ArrayLike<number>): boolean {
    const at = 6 * node;
    for (let axis = 0; axis < 3; axis++) {
      if (this.#boxes[at + axis]! > high[axis]! || this.#boxes[at + 3 + axis]! < low[axis]!) return false;
    }
    return true;
  }
}

/** Two triangles for each cell of a height field, row after row: `spec/MOVEMENT.md`, section 2. */
export class FieldTriangles implements Triangles {
  readonly count: number;
  readonly half: readonly [number, number, number];
  readonly selected: number[] = [];
  readonly #rows: number;
  readonly #heights: Float32Array;
  readonly #columns: number;
  readonly #width: number;
  readonly #depth: number;

  /** `heights` lie row by row; all in metres, scaled. */
  constructor(heights: Float32Array, columns: number, width: number, depth: number) {
    this.#heights = heights;
    this.#columns = columns;
    this.#width = width;
    this.#depth = depth;
    this.#rows = heights.length / columns;
    this.count = 2 * (this.#rows - 1) * (columns - 1);
    let highest = 0;
    for (const height of heights) highest = Math.max(highest, Math.abs(height));
    this.half = [width / 2, highest, depth / 2];
  }

  select(low: ArrayLike<number>, high: ArrayLike<number>): number {
    const [rows, columns] = [this.#rows - 1, this.#columns - 1];
    let found = 0;
    for (let row = first(low[2]!, rows, this.#depth); row < last(high[2]!, rows, this.#depth); row++) {
      const end = last(high[0]!, columns, this.#width);
      for (let column = first(low[0]!, columns, this.#width); column < end; column++) {
        const cell = 2 * (row * columns + column);
        this.selected[found++] = cell;
        this.selected[found++] = cell + 1;
      }
    }
    return found;
  }

  load(number: number, out: Triangle): boolean {
    const cells = this.#columns - 1;
    const cell = number >> 1;
    const row = Math.floor(cell / cells);
    const column = cell - row * cells;
    const isSecond = (number & 1) === 1;
    const [near, far] = [place(column, cells, this.#width), place(column + 1, cells, this.#width)];
    const rows = this.#rows - 1;
    const [back, front] = [place(row, rows, this.#depth), place(row + 1, rows, this.#depth)];
    const at = row * this.#columns + column;
    out.ax = isSecond ? far : near;
    out.ay = this.#heights[isSecond ? at + 1 : at]!;
    out.az = back;
    out.bx = near;
    out.by = this.#heights[at + this.#columns]!;
    out.bz = front;
    out.cx = far;
    out.cy = this.#heights[isSecond ? at + this.#columns + 1 : at + 1]!;
    out.cz = isSecond ? front : back;
    return out.orient();
  }
}

/** The position of a grid line. */
function place(number: number, count: number, size: number): number {
  return f(f(f(number / count) - 0.5) * size);
}

function first(low: number, count: number, size: number): number {
  return Math.min(count, Math.max(0, Math.floor((low / size + 0.5) * count - 1)));
}

function last(high: number, count: number, size: number): number {
  return Math.min(count, Math.max(0, Math.floor((high / size + 0.5) * count + 2)));
}

function dot(ax: number, ay: number, az: number, bx: number, by: number, bz: number): number {
  return f(f(f(ax * bx) + f(ay * by)) + f(az * bz));
}

function rising(a: number, b: number): number {
  return a - b;
}

const STACK: number[] = [];
