/** Bodies, from the fields of `BodyFields` in `docs/reference/world-luau.md`. */
import type { Kind } from "../world.js";
import { clamped, type Form, readForm } from "./shape.js";

/**
 * How a body moves. `dynamic`: by forces. `fixed`: not at all. `kinematic`: by its velocity alone. `sensor`: others
 * pass through it.
 */
export type BodyMotion = "dynamic" | "fixed" | "kinematic" | "sensor";

/** A body's effect on walkers (`spec/MOVEMENT.md`, section 5): they climb a `ladder`, and swim in `water`. */
export type BodyRole = "obstacle" | "ladder" | "water";

/** The physics of a kind's entities. Numbers are within the engine's bounds; missing ones have its defaults. */
export interface Body {
  readonly motion: BodyMotion;
  /** The shape, before the entity's scale is applied; `undefined` for an unknown or invalid shape. */
  readonly form: Form | undefined;
  /** In kilograms; `undefined` if the density gives the mass. */
  readonly mass: number | undefined;
  /** In kilograms a cubic metre. */
  readonly density: number;
  readonly friction: number;
  readonly restitution: number;
  readonly gravityScale: number;
  readonly linearDamping: number;
  readonly angularDamping: number;
  readonly locksRotation: boolean;
  /** Whether the engine checks fast motion for collisions between steps. */
  readonly isBullet: boolean;
  readonly role: BodyRole;
}

/**
 * Returns a kind's body, which is parsed once; `undefined` for a kind without a body or with an unknown motion. The
 * body of a walker is in {@link walkerOf}.
 */
export function bodyOf({ body }: Pick<Kind, "body">): Body | undefined {
  if (body === undefined) return undefined;
  let known = KNOWN.get(body);
  if (known === undefined) {
    known = { body: readBody(body) };
    KNOWN.set(body, known);
  }
  return known.body;
}

const KNOWN = new WeakMap<object, { readonly body: Body | undefined }>();

/** The defaults and bounds equal those of `crates/world/src/body.rs`. */
function readBody(fields: Readonly<Record<string, unknown>>): Body | undefined {
  const motion = fields["motion"] ?? "dynamic";
  if (motion !== "dynamic" && motion !== "fixed" && motion !== "kinematic" && motion !== "sensor") {
    return undefined;
  }
  return {
    motion,
    form: readForm(fields),
    mass: fields["mass"] === undefined ? undefined : clamped(fields["mass"], 0.001, 1e6, 1),
    density: clamped(fields["density"], 0.001, 1e5, 100),
    friction: clamped(fields["friction"], 0, 100, 0.5),
    restitution: clamped(fields["restitution"], 0, 1, 0),
    gravityScale: clamped(fields["gravity_scale"], -100, 100, 1),
    linearDamping: clamped(fields["linear_damping"], 0, 1000, 0),
    angularDamping: clamped(fields["angular_damping"], 0, 1000, 0),
    locksRotation: fields["locks_rotation"] === true,
    isBullet: fields["bullet"] === true,
    role: roleOf(fields["role"], motion),
  };
}

function roleOf(value: unknown, motion: BodyMotion): BodyRole {
  if (value === "ladder" && motion === "fixed") return "ladder";
  return value === "water" && motion === "sensor" ? "water" : "obstacle";
}
