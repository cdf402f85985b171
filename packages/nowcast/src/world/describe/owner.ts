/** Ownership rules, from the fields of `OwnerFields` in `docs/reference/world-luau.md`. */
import type { Kind, Vec3 } from "../world.js";
import { isFields, readVector } from "./shape.js";

/** Which clients may request a kind's entities, and which changes an owner may make. */
export interface OwnerRules {
  readonly by: "player" | "program" | "anyone";
  /** In metres a second. */
  readonly speedMax: number;
  /** In radians a second. */
  readonly turnMax: number;
  /** Maximum distance from the owner's avatar, in metres; `undefined` for no limit. */
  readonly reachM: number | undefined;
  /** The box that the entities must stay in, parallel to the axes: its centre and its edges, in metres. */
  readonly area: { readonly at: Vec3; readonly size: Vec3 } | undefined;
  /** Whether a target beyond `reachM` or `area` is moved to the nearest allowed pose, or refused. */
  readonly beyond: "clamp" | "refuse";
  /** The attributes that an owner may set. */
  readonly attributes: ReadonlySet<string>;
  /** How many entities of the kind an owner may spawn. */
  readonly spawnsMax: number;
  /**
   * What happens to an entity whose owner leaves: the server becomes the owner, the player that left stays the owner,
   * or the entity is removed.
   */
  readonly leave: "release" | "keep" | "despawn";
}

/**
 * Returns a kind's ownership rules, which are parsed once; `undefined` if clients cannot request its entities.
 *
 * ```ts
 * const canDrag = ownerRulesOf(entity.kind)?.by !== "program";
 * ```
 */
export function ownerRulesOf({ owner }: Pick<Kind, "owner">): OwnerRules | undefined {
  if (owner === undefined) return undefined;
  let known = KNOWN.get(owner);
  if (known === undefined) {
    known = { rules: readRules(owner) };
    KNOWN.set(owner, known);
  }
  return known.rules;
}

const KNOWN = new WeakMap<object, { readonly rules: OwnerRules | undefined }>();

/** The defaults equal those of `crates/world/src/owner.rs`. */
function readRules(fields: Readonly<Record<string, unknown>>): OwnerRules | undefined {
  const { by, speed, turn, reach, area, beyond, attributes, spawns, leave } = fields;
  if (by !== "player" && by !== "program" && by !== "anyone") return undefined;
  const names = Array.isArray(attributes) ? attributes : [];
  return {
    by,
    speedMax: positiveOr(speed, 10),
    turnMax: positiveOr(turn, 12),
    reachM: reach === undefined || reach === null ? undefined : positiveOr(reach, 0),
    area: isFields(area) ? readArea(area) : undefined,
    beyond: beyond === "refuse" ? beyond : "clamp",
    attributes: new Set(names.filter((name) => typeof name === "string")),
    spawnsMax: Math.floor(positiveOr(spawns, 0)),
    leave: leave === "keep" || leave === "despawn" ? leave : "release",
  };
}

function readArea(fields: Readonly<Record<string, unknown>>): OwnerRules["area"] {
  const at = readVector(fields["at"]) ?? [0, 0, 0];
  const size = readVector(fields["size"]);
  return size && { at, size };
}

function positiveOr(value: unknown, fallback: number): number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : fallback;
}
