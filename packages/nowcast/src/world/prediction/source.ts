import type { World } from "../world.js";

export interface PredictorOptions {
  /** The clock of frames, on which 60 steps are taken each second; `performance.now()` by default. */
  readonly nowMs?: (() => number) | undefined;
}

/** The parts of a {@link World} that a predictor needs. */
export type PredictionSource = Pick<
  World,
  "on" | "entities" | "avatarId" | "status" | "connection" | "input" | "act" | "definition" | "stats"
>;
