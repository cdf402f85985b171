import type { BufferGeometry } from "three";

/** Maximum number of cells along each side. */
const CELLS_MAX = 128;

/**
 * The triangles of a surface, sorted into the cells of a horizontal grid. A ray tests only the triangles in
 * the cells that it crosses. On hills of tens of thousands of triangles, a ray tests a few hundred.
 */
export class TriangleGrid {
  readonly #cells: number[][];
  readonly #side: number;
  readonly #min: readonly [number, number];
  readonly #cell: readonly [number, number];
  readonly #corners: Float32Array;

  /** `corners` holds nine numbers per triangle. */
  private constructor(corners: Float32Array) {
    this.#corners = corners;
    const triangles = corners.length / 9;
    const [minX, maxX] = range(corners, 0);
    const [minZ, maxZ] = range(corners, 2);
    this.#side = Math.min(CELLS_MAX, Math.max(1, Math.ceil(Math.sqrt(triangles / 4))));
    this.#min = [minX, minZ];
    this.#cell = [(maxX - minX) / this.#side || 1, (maxZ - minZ) / this.#side || 1];
    this.#cells = Array.from({ length: this.#side * this.#side }, () => []);
    for (let triangle = 0; triangle < triangles; triangle++) {
      const part = corners.subarray(triangle * 9, triangle * 9 + 9);
      this.#visit(...range(part, 0), ...range(part, 2), (cell) => cell.push(triangle));
    }
  }

  static of(geometry: BufferGeometry): TriangleGrid {
    const position = geometry.getAttribute("position");
    const { index } = geometry;
    const count = index?.count ?? position.count;
    const corners = new Float32Array(count * 3);
    for (let i = 0; i < count; i++) {
      const corner = index?.getX(i) ?? i;
      corners.set([position.getX(corner), position.getY(corner), position.getZ(corner)], i * 3);
    }
    return new TriangleGrid(corners);
  }

  /** Half lengths of the smallest box around all triangles whose centre is the origin. */
  halfLengths(): [number, number, number] {
    const half = (axis: number): number => Math.max(...range(this.#corners, axis).map(Math.abs));
    return [half(0), half(1), half(2)];
  }

  /**
   * Distance from a ray's origin to the first triangle, in multiples of its direction, up to `reach`; `Infinity` if it
   * hits none. Both sides of a triangle count.
   */
  cast(ox: number, oy: number, oz: number, dx: number, dy: number, dz: number, reach: number): number {
    let nearest = Number.POSITIVE_INFINITY;
    const [endX, endZ] = [ox + dx * reach, oz + dz * reach];
    this.#visit(Math.min(ox, endX), Math.max(ox, endX), Math.min(oz, endZ), Math.max(oz, endZ), (cell) => {
      for (let i = 0; i < cell.length; i++) {
        nearest = Math.min(nearest, this.#castOne(cell[i]! * 9, ox, oy, oz, dx, dy, dz));
      }
    });
    return nearest <= reach ? nearest : Number.POSITIVE_INFINITY;
  }

  #visit(minX: number, maxX: number, minZ: number, maxZ: number, each: (cell: number[]) => void): void {
    const last = this.#side - 1;
    const place = (value: number, axis: 0 | 1): number =>
      Math.floor((value - this.#min[axis]) / this.#cell[axis]);
    const [fromX, toX] = [Math.max(0, place(minX, 0)), Math.min(last, place(maxX, 0))];
    const [fromZ, toZ] = [Math.max(0, place(minZ, 1)), Math.min(last, place(maxZ, 1))];
    // A triangle on the far edge belongs to the last cell.
    for (let z = Math.min(fromZ, last); z <= toZ; z++) {
      for (let x = Math.min(fromX, last); x <= toX; x++) each(this.#cells[z * this.#side + x]!);
    }
  }

  /** Möller and Trumbore, "Fast, Minimum Storage Ray/Triangle Intersection" (1997). */
  #castOne(at: number, ox: number, oy: number, oz: number, dx: number, dy: number, dz: number): number {
    const c = this.#corners;
    const [ax, ay, az] = [c[at]!, c[at + 1]!, c[at + 2]!];
    const [e1x, e1y, e1z] = [c[at + 3]! - ax, c[at + 4]! - ay, c[at + 5]! - az];
    const [e2x, e2y, e2z] = [c[at + 6]! - ax, c[at + 7]! - ay, c[at + 8]! - az];
    const [px, py, pz] = [dy * e2z - dz * e2y, dz * e2x - dx * e2z, dx * e2y - dy * e2x];
    const determinant = e1x * px + e1y * py + e1z * pz;
    if (Math.abs(determinant) < 1e-12) return Number.POSITIVE_INFINITY;
    const [tx, ty, tz] = [ox - ax, oy - ay, oz - az];
    const u = (tx * px + ty * py + tz * pz) / determinant;
    if (u < 0 || u > 1) return Number.POSITIVE_INFINITY;
    const [qx, qy, qz] = [ty * e1z - tz * e1y, tz * e1x - tx * e1z, tx * e1y - ty * e1x];
    const v = (dx * qx + dy * qy + dz * qz) / determinant;
    if (v < 0 || u + v > 1) return Number.POSITIVE_INFINITY;
    const t = (e2x * qx + e2y * qy + e2z * qz) / determinant;
    return t >= 0 ? t : Number.POSITIVE_INFINITY;
  }
}

function range(corners: Float32Array, axis: number): [number, number] {
  let [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let i = axis; i < corners.length; i += 3) {
    min = Math.min(min, corners[i]!);
    max = Math.max(max, corners[i]!);
  }
  return [min, max];
}
