/** Kinds whose entities are parts of a player's body, moved by that player: "Headsets" in `docs/HEADSETS.md`. */
import { isFields } from "../../look/form.js";

/** The part of a body that an entity is. */
export type TrackedPart = "head" | "hand";

/** The part of a kind that this file needs. */
export interface TrackedKind {
  readonly name: string;
  readonly owner?: unknown;
}

/**
 * Returns the body part that entities of a kind show. Such a kind is called `head` or `hand`, and lets players spawn
 * entities (`owner.spawns`). Returns `undefined` for every other kind, such as one for hands of robots.
 */
export function trackedPartOf({ name, owner }: TrackedKind): TrackedPart | undefined {
  if (name !== "head" && name !== "hand") return undefined;
  if (!isFields(owner) || owner["by"] === "program") return undefined;
  const { spawns } = owner;
  return typeof spawns === "number" && spawns > 0 ? name : undefined;
}
