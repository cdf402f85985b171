/**
 * Forms from the fields of `ShapeFields` in `docs/reference/world-luau.md`. They are validated, because a server may send anything.
 */

import type { Quaternion, Vec3 } from "../world.js";

export type Vector = Vec3;

/** A form around the entity's own origin, in metres, before the entity's scale is applied. Y is up. */
export type Form =
  | { readonly shape: "box"; readonly size: Vector }
  | { readonly shape: "sphere"; readonly radius: number }
  | { readonly shape: "capsule" | "cylinder" | "cone"; readonly radius: number; readonly height: number }
  | {
      readonly shape: "hull";
      readonly points: readonly Vector[];
      /** The triangles of its surface, each as three indices in `points`, from 0 on; empty if the server sent none. */
      readonly triangles: readonly number[];
    }
  | {
      readonly shape: "mesh";
      readonly vertices: readonly Vector[];
      /** The triangles, each as three indices in `vertices`, from 0 on. */
      readonly triangles: readonly number[];
    }
  | {
      readonly shape: "heights";
      /** Heights row by row: rows along Z, `columns` heights along X in each row. */
      readonly heights: readonly number[];
      readonly columns: number;
      readonly width: number;
      readonly depth: number;
    }
  | { readonly shape: "compound"; readonly parts: readonly Part[] };

export interface Part {
  readonly at: Vector;
  /** The part's rotation: x, y, z, w. */
  readonly rotation: Quaternion;
  readonly form: Form;
}

/** The engine's limits: `crates/world/src/shape.rs`. */
const EXTENT_M_MIN = 0.001;
const EXTENT_M_MAX = 10_000;
const POINTS_MAX = 256;
const TRIANGLES_MAX = 65_536;
const SIDE_MAX = 512;
const PARTS_MAX = 32;
/** Greatest difference of a quaternion's length from 1. */
const ROTATION_ERROR_MAX = 1e-3;

type Fields = Readonly<Record<string, unknown>>;

/** Reads a form; `undefined` if it is invalid or exceeds the engine's limits. */
export function readForm(fields: Fields): Form | undefined {
  const { shape } = fields;
  if (shape === "compound") return readCompound(fields["parts"]);
  return readSimple(fields);
}

function readSimple(fields: Fields): Form | undefined {
  const { shape } = fields;
  switch (shape) {
    case "box": {
      const size = readVector(fields["size"], isExtent);
      return size && { shape, size };
    }
    case "sphere": {
      const { radius } = fields;
      return isExtent(radius) ? { shape, radius } : undefined;
    }
    case "capsule":
    case "cylinder":
    case "cone": {
      const { radius, height } = fields;
      if (!isExtent(radius) || !isExtent(height)) return undefined;
      return { shape, radius, height: shape === "capsule" ? Math.max(height, 2 * radius) : height };
    }
    case "hull": {
      const points = readVectors(fields["points"], POINTS_MAX);
      if (!points || points.length < 4) return undefined;
      const triangles = fields["triangles"] === undefined ? [] : readTriangles(fields, points.length);
      return triangles && { shape, points, triangles };
    }
    case "mesh":
      return readMesh(fields);
    case "heights":
      return readHeights(fields);
    default:
      return undefined;
  }
}

function readMesh(fields: Fields): Form | undefined {
  const vertices = readVectors(fields["vertices"], 3 * TRIANGLES_MAX);
  const triangles = vertices && readTriangles(fields, vertices.length);
  return triangles && triangles.length > 0 ? { shape: "mesh", vertices, triangles } : undefined;
}

function readTriangles(fields: Fields, count: number): readonly number[] | undefined {
  const corners = readList(fields["triangles"], 3 * TRIANGLES_MAX);
  if (!corners || corners.length % 3 !== 0) return undefined;
  const triangles: number[] = [];
  for (const corner of corners) {
    // In definitions, vertices are numbered from 1.
    if (!Number.isInteger(corner) || (corner as number) < 1 || (corner as number) > count) return undefined;
    triangles.push((corner as number) - 1);
  }
  return triangles;
}

function readHeights(fields: Fields): Form | undefined {
  const heights = readList(fields["heights"], SIDE_MAX * SIDE_MAX);
  const columns = fields["columns"];
  const size = readList(fields["size"], 3);
  if (!heights || !size || !heights.every(isCoordinate)) return undefined;
  if (typeof columns !== "number" || !Number.isInteger(columns) || columns < 2 || columns > SIDE_MAX)
    return undefined;
  const rows = heights.length / columns;
  const [width, depth] = [size[0], size[size.length - 1]];
  if (!Number.isInteger(rows) || rows < 2 || rows > SIDE_MAX || !isExtent(width) || !isExtent(depth))
    return undefined;
  return { shape: "heights", heights: heights as number[], columns, width, depth };
}

function readCompound(value: unknown): Form | undefined {
  const list = readList(value, PARTS_MAX);
  if (!list || list.length === 0) return undefined;
  const parts: Part[] = [];
  for (const entry of list) {
    if (!isFields(entry)) return undefined;
    const form = readSimple(entry);
    const at = entry["at"] === undefined ? ORIGIN : readVector(entry["at"], isCoordinate);
    const rotation = entry["rotation"] === undefined ? UPRIGHT : readRotation(entry["rotation"]);
    if (!form || !at || !rotation) return undefined;
    parts.push({ at, rotation, form });
  }
  return { shape: "compound", parts };
}

function readRotation(value: unknown): Quaternion | undefined {
  const list = readList(value, 4);
  if (list?.length !== 4 || !list.every((part) => typeof part === "number")) return undefined;
  const [x, y, z, w] = list as [number, number, number, number];
  return Math.abs(Math.hypot(x, y, z, w) - 1) < ROTATION_ERROR_MAX ? [x, y, z, w] : undefined;
}

export function isFields(value: unknown): value is Fields {
  return value !== null && typeof value === "object" && !Array.isArray(value) && !ArrayBuffer.isView(value);
}

/** A vector is a list of three numbers. */
export function readVector(
  value: unknown,
  isPart: (value: unknown) => value is number = isCoordinate,
): Vector | undefined {
  const list = readList(value, 3);
  if (!list || list.length !== 3) return undefined;
  const [x, y, z] = list;
  return isPart(x) && isPart(y) && isPart(z) ? [x, y, z] : undefined;
}

function readVectors(value: unknown, max: number): readonly Vector[] | undefined {
  const list = readList(value, max);
  if (!list) return undefined;
  const vectors: Vector[] = [];
  for (const entry of list) {
    const vector = readVector(entry);
    if (!vector) return undefined;
    vectors.push(vector);
  }
  return vectors;
}

function readList(value: unknown, max: number): readonly unknown[] | undefined {
  if (value instanceof Float32Array || value instanceof Float64Array) {
    return value.length <= max ? Array.from(value) : undefined;
  }
  return Array.isArray(value) && value.length <= max ? value : undefined;
}

function isExtent(value: unknown): value is number {
  return typeof value === "number" && value >= EXTENT_M_MIN && value <= EXTENT_M_MAX;
}

function isCoordinate(value: unknown): value is number {
  return typeof value === "number" && Math.abs(value) <= EXTENT_M_MAX;
}

const ORIGIN: Vector = [0, 0, 0];
const UPRIGHT: Quaternion = [0, 0, 0, 1];

/** An author's value, if it is a number in this range; `undefined` for others. */
export function within(value: unknown, min: number, max: number): number | undefined {
  return typeof value === "number" && value >= min && value <= max ? value : undefined;
}

/** An author's value, clamped to a range; `fallback` if it is no number. */
export function clamped(value: unknown, min: number, max: number, fallback: number): number {
  if (typeof value !== "number" || Number.isNaN(value)) return fallback;
  return Math.min(max, Math.max(min, value));
}
