/** Kinds whose entities are parts of a person's body, moved by that person: "Headsets" in `docs/HEADSETS.md`. */
import { isFields } from "../../look/form.js";

/** Which part of a body an entity is. */
export type TrackedPart = "head" | "hand";

/** The part of a kind that this file needs. */
export interface TrackedKindFacts {
  readonly name: string;
  readonly owner?: unknown;
}

/**
 * The part that entities of a kind are: a kind is called `head` or `hand` and lets people make some (`owner.spawns`). Undefined for every
 * other kind, also for hands that are a robot's.
 */
export function trackedPartOf({ name, owner }: TrackedKindFacts): TrackedPart | undefined {
  if (name !== "head" && name !== "hand") return undefined;
  if (!isFields(owner) || owner["by"] === "program") return undefined;
  const { spawns } = owner;
  return typeof spawns === "number" && spawns > 0 ? name : undefined;
}
