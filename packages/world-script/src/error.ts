/** A mistake by the user, or a fault of the machine. The message names the cause and the cure. */
export class BuildError extends Error {
  override readonly name = "BuildError";
}
