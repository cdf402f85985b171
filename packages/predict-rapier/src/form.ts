/** The bodies of the SDK as Rapier builds them, within the limits of this package. */
import type { ColliderDesc, Shape } from "@dimforge/rapier3d-deterministic-compat";
import type { Gait } from "nowcast/extend";
import { bodyOf, type Entity, type Form, type Vec3, type Walker, walkerOf } from "nowcast/world";
import type { Rapier } from "./rapier.js";

/** The engine's limits for scaled lengths: `crates/world/src/shape.rs`. */
const EXTENT_M_MIN = 0.001;
const EXTENT_M_MAX = 10_000;
/**
 * Maximum triangles of a body. A larger body is not built, because building it would take longer than a frame. Bodies
 * near it are not predicted.
 */
const TRIANGLES_MAX = 8_192;
const HEIGHTS_MAX = 16_384;
/** The mass of a walker whose kind declares none, in kilograms. */
const WALKER_KG = 70;

/** A body in the form that this package simulates. */
export interface BodyForm {
  readonly motion: "fixed" | "dynamic" | "kinematic" | "walker";
  /** Half the edges of the box around its origin that contains the body, along its own axes, in metres. */
  readonly half: Vec3;
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

export function formOf({ kind, scale, owner }: Pick<Entity, "kind" | "scale" | "owner">): FormAnswer {
  const walker = walkerOf(kind);
  // The simulation around the avatar has no collision layers, so it leaves such bodies out.
  if (hasLayers(kind.walker ?? kind.body)) return "unknown";
  if (walker !== undefined) return capsuleForm(walker);
  if (kind.body === undefined) return "none";
  const body = bodyOf(kind);
  if (body?.motion === "sensor") return "none";
  const shape = body?.form !== undefined && isScale(scale) ? build(body.form, scale) : undefined;
  if (body === undefined || shape === undefined) return "unknown";
  const { motion, mass, density, friction, restitution } = body;
  return {
    // A body that an owner moves follows the target of its owner, through any obstacle.
    motion: motion === "dynamic" && owner !== undefined ? "kinematic" : (motion as "fixed" | "dynamic"),
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
    gravityScale: body.gravityScale,
    linearDamping: body.linearDamping,
    angularDamping: body.angularDamping,
    locksRotation: body.locksRotation,
    isBullet: body.isBullet,
  };
}

function hasLayers(words: Readonly<Record<string, unknown>> | undefined): boolean {
  return words?.["layer"] !== undefined || words?.["ignores"] !== undefined;
}

/** Like `Walker::body` of the engine: an upright capsule that never turns and slides along walls. */
export function capsuleForm(walker: Walker | Gait): BodyForm {
  const radius = within(walker.radius, 0.05, 5);
  const height = Math.max(2 * radius, within(walker.height, 0.1, 20));
  const mass = within("mass" in walker ? walker.mass : WALKER_KG, 0.1, 10_000);
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
  readonly half: Vec3;
  build(rapier: Rapier): Shape;
}

function build(form: Form, scale: Vec3): BuiltShape | undefined {
  const [sx, sy, sz] = scale;
  switch (form.shape) {
    case "box": {
      const half = scaled(form.size, [sx / 2, sy / 2, sz / 2]);
      if (!half.every((edge) => isExtent(2 * edge))) return undefined;
      return { half, build: (rapier) => new rapier.Cuboid(half[0], half[1], half[2]) };
    }
    case "sphere": {
      const round = form.radius * sx;
      if (sx !== sy || sx !== sz || !isExtent(round)) return undefined;
      return { half: [round, round, round], build: (rapier) => new rapier.Ball(round) };
    }
    case "capsule":
    case "cylinder":
    case "cone":
      return buildRound(form, scale);
    case "hull": {
      const points = pointsOf(form.points, scale);
      return points && { half: halfOf(points), build: (rapier) => new rapier.ConvexPolyhedron(points, null) };
    }
    case "mesh": {
      if (form.triangles.length > 3 * TRIANGLES_MAX) return undefined;
      const vertices = pointsOf(form.vertices, scale);
      const triangles = Uint32Array.from(form.triangles);
      return (
        vertices && {
          half: halfOf(vertices),
          build: (rapier) =>
            new rapier.TriMesh(vertices, triangles, rapier.TriMeshFlags.FIX_INTERNAL_EDGES_TWO_SIDED),
        }
      );
    }
    case "heights":
      return buildHeights(form, scale);
    case "compound":
      return buildCompound(form, scale);
  }
}

function buildRound(
  { shape, radius, height }: Extract<Form, { readonly shape: "capsule" | "cylinder" | "cone" }>,
  [sx, sy, sz]: Vec3,
): BuiltShape | undefined {
  const [round, long] = [radius * sx, (height * sy) / 2];
  if (sx !== sz || !isExtent(round) || !isExtent(2 * long)) return undefined;
  const half: Vec3 = [round, long, round];
  if (shape === "cylinder") return { half, build: (rapier) => new rapier.Cylinder(long, round) };
  if (shape === "cone") return { half, build: (rapier) => new rapier.Cone(long, round) };
  if (sx !== sy) return undefined;
  return { half, build: (rapier) => new rapier.Capsule(long - round, round) };
}

function buildCompound(
  { parts }: Extract<Form, { readonly shape: "compound" }>,
  scale: Vec3,
): BuiltShape | undefined {
  if (scale[0] !== scale[1] || scale[1] !== scale[2]) return undefined;
  const shapes: BuiltShape[] = [];
  const half: [number, number, number] = [0, 0, 0];
  for (const { form, at } of parts) {
    const shape = build(form, scale);
    if (shape === undefined) return undefined;
    const reach = Math.hypot(...shape.half);
    for (let axis = 0; axis < 3; axis++) {
      half[axis] = Math.max(half[axis]!, Math.abs(at[axis]!) * scale[0] + reach);
    }
    shapes.push(shape);
  }
  return {
    half,
    build: (rapier) =>
      rapier.ColliderDesc.compound(
        shapes.map((shape) => shape.build(rapier)),
        parts.map(({ at }) => ({ x: at[0] * scale[0], y: at[1] * scale[0], z: at[2] * scale[0] })),
        parts.map(({ rotation: [x, y, z, w] }) => ({ x, y, z, w })),
      ).shape,
  };
}

function buildHeights(
  { heights, columns, width, depth }: Extract<Form, { readonly shape: "heights" }>,
  scale: Vec3,
): BuiltShape | undefined {
  const rows = heights.length / columns;
  const [wide, deep] = [width * scale[0], depth * scale[2]];
  if (heights.length > HEIGHTS_MAX || !isExtent(wide) || !isExtent(deep)) return undefined;
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
    half: [wide / 2, highest * scale[1], deep / 2],
    build: (rapier) => {
      const size = { x: wide, y: scale[1], z: deep };
      const flags = rapier.HeightFieldFlags.FIX_INTERNAL_EDGES;
      return new rapier.Heightfield(rows - 1, columns - 1, grid, size, flags);
    },
  };
}

function pointsOf(list: readonly Vec3[], scale: Vec3): Float32Array | undefined {
  if (list.length > 3 * TRIANGLES_MAX) return undefined;
  const points = new Float32Array(3 * list.length);
  for (const [at, point] of list.entries()) points.set(scaled(point, scale), 3 * at);
  return points.every((part) => Math.abs(part) <= EXTENT_M_MAX) ? points : undefined;
}

function halfOf(points: Float32Array): Vec3 {
  const half: [number, number, number] = [0, 0, 0];
  for (const [at, part] of points.entries()) half[at % 3] = Math.max(half[at % 3]!, Math.abs(part));
  return half;
}

function isScale(scale: Vec3): boolean {
  return scale.length === 3 && scale.every((part) => part >= 1e-4 && part <= EXTENT_M_MAX);
}

function scaled(point: Vec3, scale: Vec3): Vec3 {
  return [point[0] * scale[0], point[1] * scale[1], point[2] * scale[2]];
}

function isExtent(value: number): boolean {
  return value >= EXTENT_M_MIN && value <= EXTENT_M_MAX;
}

function within(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value));
}
