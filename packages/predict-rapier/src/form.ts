/**
 * Bodies from the fields of `BodyFields` in `docs/WORLDS.md`. They are validated, because a server may send anything.
 */
import type { ColliderDesc, Shape } from "@dimforge/rapier3d-deterministic-compat";
import type { Gait } from "nowcast/extend";
import type { Entity } from "nowcast/world";
import type { Rapier } from "./rapier.js";

/** The engine's limits: `crates/world/src/shape.rs` and `body.rs`. */
const EXTENT_M_MIN = 0.001;
const EXTENT_M_MAX = 10_000;
const POINTS_MAX = 256;
const PARTS_MAX = 32;
/**
 * Maximum triangles of a body. A larger body is not built, because building it would take longer than a frame. Bodies
 * near it are not predicted.
 */
const TRIANGLES_MAX = 8_192;
const HEIGHTS_MAX = 16_384;

type Fields = Readonly<Record<string, unknown>>;
type Vector = readonly [number, number, number];

/** A body in the form that this package simulates. */
export interface BodyForm {
  readonly motion: "fixed" | "dynamic" | "kinematic" | "walker";
  /** Half the edges of the box around its origin that contains the body, along its own axes, in metres. */
  readonly half: Vector;
  /** Builds the input of Rapier. Throws for a form that Rapier cannot build. */
  build(rapier: Rapier): ColliderDesc;
  readonly gravityScale: number;
  readonly linearDamping: number;
  readonly angularDamping: number;
  readonly locksRotation: boolean;
  readonly isBullet: boolean;
}

/** `none` for a body without collisions, `unknown` for one that cannot be built here. */
export type FormAnswer = BodyForm | "none" | "unknown";

export function readForm(entity: Pick<Entity, "kind" | "scale" | "owner">): FormAnswer {
  const { kind, scale, owner } = entity;
  const { body, walker } = kind;
  if (walker !== undefined) return capsuleForm(walker);
  if (body === undefined || body["motion"] === "sensor") return "none";
  const shape = isScale(scale) ? readShape(body, scale) : undefined;
  if (shape === undefined) return "unknown";
  const said = body["motion"] ?? "dynamic";
  if (said !== "fixed" && said !== "dynamic" && said !== "kinematic") return "unknown";
  const [friction, restitution] = [
    within(body["friction"], 0, 100, 0.5),
    within(body["restitution"], 0, 1, 0),
  ];
  const mass = body["mass"] === undefined ? undefined : within(body["mass"], 0.001, 1e6, 1);
  const density = within(body["density"], 0.001, 1e5, 100);
  return {
    // A body that an owner moves follows the target of its owner, through any obstacle.
    motion: said === "dynamic" && owner !== undefined ? "kinematic" : said,
    half: shape.half,
    build(rapier) {
      const desc = new rapier.ColliderDesc(shape.build(rapier));
      desc.setFriction(friction).setRestitution(restitution);
      if (mass === undefined) desc.setDensity(density);
      else desc.setMass(mass);
      // A body without friction slides on every surface.
      if (friction === 0) desc.setFrictionCombineRule(rapier.CoefficientCombineRule.Min);
      return desc;
    },
    gravityScale: within(body["gravity_scale"], -100, 100, 1),
    linearDamping: within(body["linear_damping"], 0, 1000, 0),
    angularDamping: within(body["angular_damping"], 0, 1000, 0),
    locksRotation: body["locks_rotation"] === true,
    isBullet: body["bullet"] === true,
  };
}

/** Like `Walker::body` of the engine: an upright capsule that never turns and slides along walls. */
export function capsuleForm(walker: Fields | Gait): BodyForm {
  const fields = walker as Fields;
  const radius = within(fields["radius"], 0.05, 5, 0.35);
  const height = Math.max(2 * radius, within(fields["height"], 0.1, 20, 1.8));
  const mass = within(fields["mass"], 0.1, 10_000, 70);
  return {
    motion: "walker",
    half: [radius, height / 2, radius],
    build: (rapier) =>
      new rapier.ColliderDesc(new rapier.Capsule(height / 2 - radius, radius))
        .setMass(mass)
        .setFriction(0)
        .setFrictionCombineRule(rapier.CoefficientCombineRule.Min),
    gravityScale: 1,
    linearDamping: 0,
    angularDamping: 0,
    locksRotation: true,
    isBullet: false,
  };
}

interface BuiltShape {
  readonly half: Vector;
  build(rapier: Rapier): Shape;
}

function readShape(fields: Fields, scale: Vector): BuiltShape | undefined {
  if (fields["shape"] !== "compound") return readSimple(fields, scale);
  const parts = readList(fields["parts"], PARTS_MAX);
  const isUniform = scale[0] === scale[1] && scale[1] === scale[2];
  if (parts === undefined || parts.length === 0 || !isUniform) return undefined;
  const read: { shape: BuiltShape; at: Vector; turn: readonly number[] }[] = [];
  const half: [number, number, number] = [0, 0, 0];
  for (const part of parts) {
    if (!isFields(part)) return undefined;
    const shape = readSimple(part, scale);
    const at = part["at"] === undefined ? ([0, 0, 0] as const) : readVector(part["at"]);
    const turn = part["rotation"] === undefined ? [0, 0, 0, 1] : readList(part["rotation"], 4);
    if (shape === undefined || at === undefined || !isTurn(turn)) return undefined;
    const reach = Math.hypot(...shape.half);
    for (let axis = 0; axis < 3; axis++) {
      half[axis] = Math.max(half[axis]!, Math.abs(at[axis]!) * scale[0] + reach);
    }
    read.push({ shape, at, turn });
  }
  return {
    half,
    build: (rapier) =>
      rapier.ColliderDesc.compound(
        read.map(({ shape }) => shape.build(rapier)),
        read.map(({ at }) => ({ x: at[0] * scale[0], y: at[1] * scale[0], z: at[2] * scale[0] })),
        read.map(({ turn }) => ({ x: turn[0]!, y: turn[1]!, z: turn[2]!, w: turn[3]! })),
      ).shape,
  };
}

function readSimple(fields: Fields, scale: Vector): BuiltShape | undefined {
  const [sx, sy, sz] = scale;
  const { shape } = fields;
  if (shape === "box") {
    const size = readVector(fields["size"]);
    const half = size && scaled(size, [sx / 2, sy / 2, sz / 2]);
    if (half === undefined || !half.every((edge) => isExtent(2 * edge))) return undefined;
    return { half, build: (rapier) => new rapier.Cuboid(half[0], half[1], half[2]) };
  }
  if (shape === "hull") return readHull(fields["points"], scale);
  if (shape === "mesh") return readMesh(fields, scale);
  if (shape === "heights") return readHeights(fields, scale);
  const radius = fields["radius"];
  if (!isExtent(radius) || sx !== sz || !isExtent(radius * sx)) return undefined;
  const round = radius * sx;
  if (shape === "sphere") {
    if (sx !== sy) return undefined;
    return { half: [round, round, round], build: (rapier) => new rapier.Ball(round) };
  }
  const height = fields["height"];
  if (!isExtent(height) || !isExtent(height * sy)) return undefined;
  const long = (height * sy) / 2;
  if (shape === "capsule") {
    if (sx !== sy || long < round) return undefined;
    return { half: [round, long, round], build: (rapier) => new rapier.Capsule(long - round, round) };
  }
  if (shape === "cylinder") {
    return { half: [round, long, round], build: (rapier) => new rapier.Cylinder(long, round) };
  }
  if (shape === "cone") {
    return { half: [round, long, round], build: (rapier) => new rapier.Cone(long, round) };
  }
  return undefined;
}

function readHull(value: unknown, scale: Vector): BuiltShape | undefined {
  const points = readPoints(value, POINTS_MAX, scale);
  if (points === undefined || points.length < 12) return undefined;
  return { half: halfOf(points), build: (rapier) => new rapier.ConvexPolyhedron(points, null) };
}

function readMesh(fields: Fields, scale: Vector): BuiltShape | undefined {
  const vertices = readPoints(fields["vertices"], 3 * TRIANGLES_MAX, scale);
  const corners = readList(fields["triangles"], 3 * TRIANGLES_MAX);
  if (vertices === undefined || corners === undefined || corners.length === 0 || corners.length % 3 !== 0) {
    return undefined;
  }
  const count = vertices.length / 3;
  // In definitions, vertices are numbered from 1.
  if (!corners.every((corner) => isWhole(corner, 1, count))) return undefined;
  const triangles = Uint32Array.from(corners as number[], (corner) => corner - 1);
  return { half: halfOf(vertices), build: (rapier) => new rapier.TriMesh(vertices, triangles) };
}

function readHeights(fields: Fields, scale: Vector): BuiltShape | undefined {
  const { columns } = fields;
  const heights = readList(fields["heights"], HEIGHTS_MAX);
  const size = readVector(fields["size"]);
  if (heights === undefined || size === undefined || !isWhole(columns, 2, 512)) return undefined;
  const rows = heights.length / columns;
  const [width, depth] = [size[0] * scale[0], size[2] * scale[2]];
  if (!isWhole(rows, 2, 512) || !isExtent(width) || !isExtent(depth) || !heights.every(isCoordinate)) {
    return undefined;
  }
  // Rapier stores matrices column by column.
  const grid = new Float32Array(heights.length);
  let highest = 0;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const height = heights[row * columns + column]!;
      grid[column * rows + row] = height;
      highest = Math.max(highest, Math.abs(height));
    }
  }
  return {
    half: [width / 2, highest * scale[1], depth / 2],
    build: (rapier) =>
      new rapier.Heightfield(rows - 1, columns - 1, grid, { x: width, y: scale[1], z: depth }),
  };
}

function readPoints(value: unknown, max: number, scale: Vector): Float32Array | undefined {
  const list = readList(value, max);
  if (list === undefined) return undefined;
  const points = new Float32Array(3 * list.length);
  for (const [at, entry] of list.entries()) {
    const point = readVector(entry);
    if (point === undefined) return undefined;
    points.set(scaled(point, scale), 3 * at);
  }
  return points.every(isCoordinate) ? points : undefined;
}

function halfOf(points: Float32Array): Vector {
  const half: [number, number, number] = [0, 0, 0];
  for (const [at, part] of points.entries()) half[at % 3] = Math.max(half[at % 3]!, Math.abs(part));
  return half;
}

function readList(value: unknown, max: number): readonly unknown[] | undefined {
  if (value instanceof Float32Array || value instanceof Float64Array) {
    return value.length <= max ? Array.from(value) : undefined;
  }
  return Array.isArray(value) && value.length <= max ? value : undefined;
}

function readVector(value: unknown): Vector | undefined {
  const list = readList(value, 3);
  if (list?.length !== 3 || !list.every(isCoordinate)) return undefined;
  return list as unknown as Vector;
}

function isFields(value: unknown): value is Fields {
  return value !== null && typeof value === "object" && !Array.isArray(value) && !ArrayBuffer.isView(value);
}

function isTurn(value: readonly unknown[] | undefined): value is readonly number[] {
  if (value?.length !== 4 || !value.every((part) => typeof part === "number")) return false;
  return Math.abs(Math.hypot(...(value as readonly number[])) - 1) < 1e-3;
}

function isScale(scale: Vector): boolean {
  return scale.length === 3 && scale.every((part) => part >= 1e-4 && part <= EXTENT_M_MAX);
}

function scaled(point: Vector, scale: Vector): Vector {
  return [point[0] * scale[0], point[1] * scale[1], point[2] * scale[2]];
}

function isExtent(value: unknown): value is number {
  return typeof value === "number" && value >= EXTENT_M_MIN && value <= EXTENT_M_MAX;
}

function isCoordinate(value: unknown): value is number {
  return typeof value === "number" && Math.abs(value) <= EXTENT_M_MAX;
}

function isWhole(value: unknown, min: number, max: number): value is number {
  return Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
}

function within(value: unknown, min: number, max: number, fallback: number): number {
  if (typeof value !== "number" || Number.isNaN(value)) return fallback;
  return Math.min(max, Math.max(min, value));
}
