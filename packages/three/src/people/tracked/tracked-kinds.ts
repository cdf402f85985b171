/** Kinds whose entities are parts of a player's body, moved by that player: "Headsets" in `docs/how-to/headsets.md`. */

import { ownerRulesOf } from "nowcast/internal";
import type { Kind } from "nowcast/world";

/** The body part that an entity represents. */
export type TrackedPart = "head" | "hand";

/** The part of a kind that this file needs. */
export type TrackedKind = Pick<Kind, "name" | "owner">;

/**
 * Returns the body part that entities of a kind show. Such a kind is called `head` or `hand`, and lets players spawn
 * entities (`owner.spawns`). Returns `undefined` for every other kind, such as one for hands of robots.
 */
export function trackedPartOf(kind: TrackedKind): TrackedPart | undefined {
  const { name } = kind;
  if (name !== "head" && name !== "hand") return undefined;
  const rules = ownerRulesOf(kind);
  return rules !== undefined && rules.by !== "program" && rules.spawnsMax > 0 ? name : undefined;
}
