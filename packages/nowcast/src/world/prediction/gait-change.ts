import type { CollisionWorld } from "./collision-world.js";
import type { StepHistory } from "./history.js";
import type { Gait, Mover } from "./mover.js";

/** The steps of a client, and the solids around them. */
export interface WalkedSteps {
  readonly history: StepHistory;
  readonly world: CollisionWorld;
  /** The gait after the change. */
  readonly gait: Gait;
  /** The world's step in which the server takes a step of this client; undefined if unknown. */
  readonly tickOf: (step: number) => number | undefined;
}

/**
 * Returns the step after which the rules changed the gait of a walker: the one from which the new gait leads nearest to
 * `position` after `step`. It is `first` or later. `trial` is overwritten.
 */
export function stepOfChange(
  { history, world, gait, tickOf }: WalkedSteps,
  trial: Mover,
  step: number,
  first: number,
  [x, y, z]: readonly [number, number, number],
): number {
  let [best, least] = [step, Number.POSITIVE_INFINITY];
  for (let from = step - 1; from >= first; from--) {
    history.readMover(from, trial);
    world.advance(tickOf(from));
    trial.updateGround(gait, world.near, world.count);
    for (let again = from + 1; again <= step; again++) {
      world.advance(tickOf(again));
      trial.step(gait, history.input(again), world.near, world.count);
    }
    const errorM = Math.hypot(x - trial.px, y - trial.py, z - trial.pz);
    if (errorM < least) [best, least] = [from, errorM];
  }
  return best;
}
