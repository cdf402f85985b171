/** A mistake of the user, or of the machine. The message names the cause and the cure. */
export class BuildError extends Error {
  override readonly name = "BuildError";
}
