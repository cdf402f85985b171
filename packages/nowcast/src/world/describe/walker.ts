/** Walkers, from the fields of `WalkerFields` in `docs/WORLDS.md`. */
import type { Gait } from "../prediction/mover.js";
import type { Kind } from "../world.js";

/** The body and the speeds of a walker, in metres, kilograms and seconds, as numbers of 32 bits. */
export interface Walker extends Gait {
  readonly mass: number;
}

/** The walker of a kind, which is read once; `undefined` for a kind that input does not move. */
export function walkerOf({ walker }: Pick<Kind, "walker">): Walker | undefined {
  if (walker === undefined) return undefined;
  let known = KNOWN.get(walker);
  if (known === undefined) {
    known = readWalker(walker);
    KNOWN.set(walker, known);
  }
  return known;
}

const KNOWN = new WeakMap<object, Walker>();

/** The defaults equal those of `crates/world/src/walker.rs`. */
export function readWalker(fields: Readonly<Record<string, unknown>>): Walker {
  return {
    height: numberOr(fields["height"], 1.8),
    radius: numberOr(fields["radius"], 0.35),
    mass: numberOr(fields["mass"], 70),
    walkSpeed: numberOr(fields["walk_speed"], 3.2),
    runSpeed: numberOr(fields["run_speed"], 6.4),
    groundAcceleration: numberOr(fields["ground_acceleration"], 42),
    airAcceleration: numberOr(fields["air_acceleration"], 10),
    jumpSpeed: numberOr(fields["jump_speed"], 4.95),
    gravity: numberOr(fields["gravity"], 9.81),
  };
}

function numberOr(value: unknown, fallback: number): number {
  return Math.fround(typeof value === "number" && Number.isFinite(value) ? value : fallback);
}
