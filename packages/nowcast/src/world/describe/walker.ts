/** Walkers, from the fields of `WalkerFields` in `docs/reference/world-luau.md`. */
import type { Gait } from "../prediction/mover.js";
import type { Kind } from "../world.js";

/** A walker's body and speeds, in metres, kilograms and seconds, as 32-bit numbers. */
export interface Walker extends Gait {
  readonly mass: number;
  /** Whether the attributes `speed`, `jump` and `frozen` change each walker's gait. */
  readonly isAdjustable: boolean;
  /** Whether each walker has the attribute `pitch`, which the player's page sets. */
  readonly showsPitch: boolean;
}

/** Returns a kind's walker, which is parsed once; `undefined` for a kind that input does not move. */
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
    isAdjustable: fields["adjustable"] === true,
    showsPitch: fields["pitch"] === true,
  };
}

/** Greatest factor of a speed. */
const FACTOR_MAX = 8;

/** The gaits of one walker: its kind's, with the factors in its attributes (`spec/MOVEMENT.md`, section 2). */
export class AdjustedGait {
  #walker: Walker | undefined;
  #speed = 1;
  #jump = 1;
  #isFrozen = false;
  #gait: Gait = readWalker({});

  /** Returns the same object as long as nothing changed. */
  of(walker: Walker, attributes: Readonly<Record<string, unknown>>): Gait {
    const { isAdjustable } = walker;
    const speed = isAdjustable ? factor(attributes["speed"]) : 1;
    const jump = isAdjustable ? factor(attributes["jump"]) : 1;
    const isFrozen = isAdjustable && attributes["frozen"] === true;
    const isSame =
      walker === this.#walker && speed === this.#speed && jump === this.#jump && isFrozen === this.#isFrozen;
    if (isSame) return this.#gait;
    this.#walker = walker;
    this.#speed = speed;
    this.#jump = jump;
    this.#isFrozen = isFrozen;
    const { walkSpeed, runSpeed, jumpSpeed } = walker;
    const speeds = {
      walkSpeed: Math.fround(walkSpeed * speed),
      runSpeed: Math.fround(runSpeed * speed),
      jumpSpeed: Math.fround(jumpSpeed * jump),
    };
    this.#gait = isAdjustable ? { ...walker, ...speeds, isFrozen } : walker;
    return this.#gait;
  }
}

function factor(value: unknown): number {
  const isFactor = typeof value === "number" && Number.isFinite(value);
  return isFactor ? Math.fround(Math.min(FACTOR_MAX, Math.max(0, value))) : 1;
}

function numberOr(value: unknown, fallback: number): number {
  return Math.fround(typeof value === "number" && Number.isFinite(value) ? value : fallback);
}
