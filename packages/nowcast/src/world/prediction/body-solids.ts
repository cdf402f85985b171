/**
 * The solids of a body, from the fields of `BodyFields` in `docs/WORLDS.md`. They are validated, because a server may
 * send anything.
 */
import type { Entity, Vec3, WorldRecord } from "../world.js";
import { Solid, type SolidForm } from "./solid.js";
import { FieldTriangles, ListedTriangles, type Triangles } from "./triangles.js";

const f = Math.fround;
/** Bounds of the engine: `crates/world/src/shape.rs`. */
const PARTS_MAX = 32;
const POINTS_MAX = 256;
const TRIANGLES_MAX = 65_536;
const SIDE_MAX = 512;
/** Maximum sizes of one kind with stored triangles. */
const SIZES_MAX = 16;

/** One part of a body. Solids of several entities share it. */
export interface BodyPart {
  readonly form: SolidForm;
  readonly half: Vec3;
  readonly radius: number;
  readonly triangles: Triangles | undefined;
  readonly at: Vec3 | undefined;
  readonly turn: readonly [number, number, number, number];
  /** Distance from the middle of the body to its farthest point, in metres. */
  readonly reach: number;
  /** The volume in cubic metres; 0 for surfaces. */
  readonly volume: number;
}

/**
 * Returns the parts of an entity's body in order. The list is empty if walkers pass through the
 * entity, or if its shape is invalid.
 */
export function bodyPartsOf({ kind, scale }: Pick<Entity, "kind" | "scale">): readonly BodyPart[] {
  const { body } = kind;
  if (body === undefined || kind.walker !== undefined || body["motion"] === "sensor") return [];
  let sizes = KNOWN.get(body);
  if (sizes === undefined) {
    sizes = new Map();
    KNOWN.set(body, sizes);
  }
  const size = scale.join();
  const known = sizes.get(size);
  if (known !== undefined) return known;
  const parts = readParts(body, scale.map(f) as unknown as Vec3) ?? [];
  if (sizes.size >= SIZES_MAX) sizes.clear();
  sizes.set(size, parts);
  return parts;
}

/** Creates a solid from a part, without a pose. */
export function solidOf(part: BodyPart): Solid {
  const solid = new Solid();
  solid.form = part.form;
  solid.half.set(part.half);
  solid.radius = part.radius;
  solid.triangles = part.triangles;
  solid.at = part.at;
  solid.turn = part.turn;
  return solid;
}

/** Entities of one kind and size share their parts. */
const KNOWN = new WeakMap<WorldRecord, Map<string, readonly BodyPart[]>>();

function readParts(body: WorldRecord, scale: Vec3): readonly BodyPart[] | undefined {
  if (body["shape"] !== "compound") {
    const part = readPart(body, scale);
    return part && [part];
  }
  const list = readList(body["parts"], PARTS_MAX);
  if (list === undefined || !isUniform(scale)) return undefined;
  const parts: BodyPart[] = [];
  for (const fields of list) {
    if (typeof fields !== "object" || fields === null) return undefined;
    const part = readPart(fields as WorldRecord, scale);
    const at = readNumbers((fields as WorldRecord)["at"] ?? [0, 0, 0], 3);
    const turn = readNumbers((fields as WorldRecord)["rotation"] ?? [0, 0, 0, 1], 4);
    if (part === undefined || at?.length !== 3 || turn?.length !== 4) return undefined;
    const place: Vec3 = [f(at[0]! * scale[0]), f(at[1]! * scale[0]), f(at[2]! * scale[0])];
    const [x, y, z, w] = turn;
    parts.push({ ...part, at: place, turn: [x!, y!, z!, w!], reach: part.reach + Math.hypot(...place) });
  }
  return parts;
}

function readPart(fields: WorldRecord, scale: Vec3): BodyPart | undefined {
  const [sx, sy, sz] = scale;
  const [radius, height] = [number(fields["radius"]), number(fields["height"])];
  switch (fields["shape"]) {
    case "box": {
      const size = readNumbers(fields["size"], 3);
      if (size?.length !== 3) return undefined;
      const half: Vec3 = [f(f(size[0]! * sx) * 0.5), f(f(size[1]! * sy) * 0.5), f(f(size[2]! * sz) * 0.5)];
      return solid("box", half, 0, 8 * half[0] * half[1] * half[2]);
    }
    case "sphere": {
      if (!isUniform(scale)) return undefined;
      const round = f(radius * sx);
      return solid("box", [0, 0, 0], round, (4 / 3) * Math.PI * round ** 3);
    }
    case "capsule": {
      if (!isUniform(scale)) return undefined;
      const [round, half] = [f(radius * sx), f(f(f(height * 0.5) - radius) * sx)];
      const volume = (4 / 3) * Math.PI * round ** 3 + 2 * half * Math.PI * round ** 2;
      return solid("box", [0, half, 0], round, volume);
    }
    case "cylinder":
    case "cone": {
      if (sx !== sz) return undefined;
      const [round, half] = [f(radius * sx), f(f(height * 0.5) * sy)];
      const volume = Math.PI * round ** 2 * 2 * half;
      const isCone = fields["shape"] === "cone";
      return solid(isCone ? "cone" : "cylinder", [round, half, round], 0, isCone ? volume / 3 : volume);
    }
    case "hull":
      return readListed("hull", fields, fields["points"], POINTS_MAX, scale);
    case "mesh":
      return readListed("surface", fields, fields["vertices"], 3 * TRIANGLES_MAX, scale);
    case "heights":
      return readHeights(fields, scale);
    default:
      return undefined;
  }
}

/** Reads a hull or a mesh. Corners are numbered from 1. */
function readListed(
  form: SolidForm,
  fields: WorldRecord,
  points: unknown,
  max: number,
  scale: Vec3,
): BodyPart | undefined {
  const vertices = readList(points, max);
  const numbers = readNumbers(fields["triangles"], 3 * TRIANGLES_MAX);
  if (vertices === undefined || numbers === undefined || numbers.length % 3 !== 0) return undefined;
  const scaled: number[] = [];
  for (const vertex of vertices) {
    const place = readNumbers(vertex, 3);
    if (place?.length !== 3) return undefined;
    scaled.push(f(place[0]! * scale[0]), f(place[1]! * scale[1]), f(place[2]! * scale[2]));
  }
  const corners = new Float32Array(3 * numbers.length);
  for (const [at, corner] of numbers.entries()) {
    if (!Number.isInteger(corner) || corner < 1 || corner > vertices.length) return undefined;
    for (let axis = 0; axis < 3; axis++) corners[3 * at + axis] = scaled[3 * (corner - 1) + axis]!;
  }
  const triangles = new ListedTriangles(corners);
  return surface(form, triangles, form === "hull" ? volumeOf(corners) : 0);
}

function readHeights(fields: WorldRecord, scale: Vec3): BodyPart | undefined {
  const heights = readNumbers(fields["heights"], SIDE_MAX * SIDE_MAX);
  const size = readNumbers(fields["size"], 3);
  const columns = number(fields["columns"]);
  if (heights === undefined || size?.length !== 3) return undefined;
  const rows = heights.length / columns;
  const isGrid = [rows, columns].every((side) => Number.isInteger(side) && side >= 2 && side <= SIDE_MAX);
  if (!isGrid) return undefined;
  const scaled = Float32Array.from(heights, (height) => f(height * scale[1]));
  const field = new FieldTriangles(scaled, columns, f(size[0]! * scale[0]), f(size[2]! * scale[2]));
  return surface("surface", field, 0);
}

function solid(form: SolidForm, half: Vec3, radius: number, volume: number): BodyPart {
  const reach = Math.hypot(...half) + radius;
  return { form, half, radius, triangles: undefined, at: undefined, turn: [0, 0, 0, 1], reach, volume };
}

function surface(form: SolidForm, triangles: Triangles, volume: number): BodyPart {
  const reach = Math.hypot(...triangles.half);
  return { form, half: [0, 0, 0], radius: 0, triangles, at: undefined, turn: [0, 0, 0, 1], reach, volume };
}

/**
 * The volume that triangles enclose: the sum of the volumes of the tetrahedra between each triangle
 * and the origin.
 */
function volumeOf(corners: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < corners.length; at += 9) {
    const [ax, ay, az, bx, by, bz, cx, cy, cz] = corners.subarray(at, at + 9);
    sum += ax! * (by! * cz! - bz! * cy!) + ay! * (bz! * cx! - bx! * cz!) + az! * (bx! * cy! - by! * cx!);
  }
  return Math.abs(sum) / 6;
}

function isUniform([x, y, z]: Vec3): boolean {
  return x === y && y === z;
}

function readList(value: unknown, max: number): (ArrayLike<unknown> & Iterable<unknown>) | undefined {
  const isList = Array.isArray(value) || value instanceof Float32Array || value instanceof Float64Array;
  return isList && value.length <= max ? value : undefined;
}

function readNumbers(value: unknown, max: number): number[] | undefined {
  const list = readList(value, max);
  if (list === undefined) return undefined;
  const numbers = Array.from(list, (part) => (typeof part === "number" ? f(part) : Number.NaN));
  return numbers.every(Number.isFinite) ? numbers : undefined;
}

function number(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? f(value) : 0;
}
