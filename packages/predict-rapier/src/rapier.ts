import { BodyPredictionError } from "./errors.js";

/** The module of `@dimforge/rapier3d-deterministic-compat`. */
export type Rapier = typeof import("@dimforge/rapier3d-deterministic-compat");

/**
 * Loads and initialises Rapier (1.7 MB after gzip), once for all predictors of a page. Rejected with
 * `not_loaded`.
 */
export async function loadRapier(): Promise<Rapier> {
  try {
    const rapier = await import("@dimforge/rapier3d-deterministic-compat");
    await rapier.init();
    return rapier;
  } catch (cause) {
    const cure = "check the network, and that the content security policy allows 'wasm-unsafe-eval'";
    throw new BodyPredictionError("not_loaded", `Rapier could not be loaded: ${cure}`, { cause });
  }
}
