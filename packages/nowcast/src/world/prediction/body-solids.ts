/** The solids of a body. */
import { type Body, bodyOf } from "../describe/body.js";
import type { Form } from "../describe/shape.js";
import type { Entity, Vec3 } from "../world.js";
import { Solid, type SolidForm } from "./solid.js";
import { FieldTriangles, ListedTriangles, type Triangles } from "./triangles.js";

const f = Math.fround;
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
  const body = bodyOf(kind);
  if (body?.form === undefined || kind.walker !== undefined) return [];
  if (body.motion === "sensor" && body.role !== "water") return [];
  let sizes = KNOWN.get(body);
  if (sizes === undefined) {
    sizes = new Map();
    KNOWN.set(body, sizes);
  }
  const size = scale.join();
  const known = sizes.get(size);
  if (known !== undefined) return known;
  const parts = partsOf(body.form, scale.map(f) as unknown as Vec3);
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
const KNOWN = new WeakMap<Body, Map<string, readonly BodyPart[]>>();

function partsOf(form: Form, scale: Vec3): readonly BodyPart[] {
  if (form.shape !== "compound") {
    const part = partOf(form, scale);
    return part ? [part] : [];
  }
  if (!isUniform(scale)) return [];
  const parts: BodyPart[] = [];
  for (const { at, rotation, form: simple } of form.parts) {
    const part = partOf(simple, scale);
    if (part === undefined) return [];
    const place: Vec3 = [f(f(at[0]) * scale[0]), f(f(at[1]) * scale[0]), f(f(at[2]) * scale[0])];
    const turn = rotation.map(f) as unknown as BodyPart["turn"];
    parts.push({ ...part, at: place, turn, reach: part.reach + Math.hypot(...place) });
  }
  return parts;
}

/** Numbers are rounded to 32 bits, because the engine computes with these. */
function partOf(form: Form, scale: Vec3): BodyPart | undefined {
  const [sx, sy, sz] = scale;
  switch (form.shape) {
    case "box": {
      const [x, y, z] = form.size;
      const half: Vec3 = [f(f(f(x) * sx) * 0.5), f(f(f(y) * sy) * 0.5), f(f(f(z) * sz) * 0.5)];
      return solid("box", half, 0, 8 * half[0] * half[1] * half[2]);
    }
    case "sphere": {
      if (!isUniform(scale)) return undefined;
      const round = f(f(form.radius) * sx);
      return solid("box", [0, 0, 0], round, (4 / 3) * Math.PI * round ** 3);
    }
    case "capsule": {
      if (!isUniform(scale)) return undefined;
      const [radius, height] = [f(form.radius), f(form.height)];
      const [round, half] = [f(radius * sx), f(f(f(height * 0.5) - radius) * sx)];
      const volume = (4 / 3) * Math.PI * round ** 3 + 2 * half * Math.PI * round ** 2;
      return solid("box", [0, half, 0], round, volume);
    }
    case "cylinder":
    case "cone": {
      if (sx !== sz) return undefined;
      const [round, half] = [f(f(form.radius) * sx), f(f(f(form.height) * 0.5) * sy)];
      const volume = Math.PI * round ** 2 * 2 * half;
      const isCone = form.shape === "cone";
      return solid(isCone ? "cone" : "cylinder", [round, half, round], 0, isCone ? volume / 3 : volume);
    }
    case "hull": {
      const corners = cornersOf(form.points, form.triangles, scale);
      return corners && surface("hull", new ListedTriangles(corners), volumeOf(corners));
    }
    case "mesh": {
      const corners = cornersOf(form.vertices, form.triangles, scale);
      return corners && surface("surface", new ListedTriangles(corners), 0);
    }
    case "heights": {
      const scaled = Float32Array.from(form.heights, (height) => f(f(height) * sy));
      const [width, depth] = [f(f(form.width) * sx), f(f(form.depth) * sz)];
      return surface("surface", new FieldTriangles(scaled, form.columns, width, depth), 0);
    }
    case "compound":
      return undefined;
  }
}

/** The corners of triangles, scaled: nine numbers each. */
function cornersOf(
  points: readonly Vec3[],
  triangles: readonly number[],
  scale: Vec3,
): Float32Array | undefined {
  if (triangles.length === 0) return undefined;
  const corners = new Float32Array(3 * triangles.length);
  for (const [at, corner] of triangles.entries()) {
    for (let axis = 0; axis < 3; axis++) corners[3 * at + axis] = f(f(points[corner]![axis]!) * scale[axis]!);
  }
  return corners;
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
 * The volume that triangles enclose: the sum over the tetrahedra between each triangle and the origin.
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
