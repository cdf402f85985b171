/** The reason why bodies are not predicted, for programs. The text of an error is for people and may change. */
export type BodyPredictionErrorCode =
  /** WebAssembly could not be loaded: no network, or a content security policy without `'wasm-unsafe-eval'`. */
  | "not_loaded"
  /** Rapier's results differ from those of the server: it is another release, or the machine rounds differently. */
  | "other_arithmetic"
  /** Rapier failed on the contents of the world. */
  | "broken";

/** An error of this package. */
export class BodyPredictionError extends Error {
  constructor(
    readonly code: BodyPredictionErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = "BodyPredictionError";
  }
}
