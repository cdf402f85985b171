/** A module in Luau that was made from a TypeScript file. */
export interface Module {
  /** Its path, relative to the world's folder, with `/`. */
  readonly path: string;
  /** The path of its TypeScript file. */
  readonly source: string;
  readonly text: string;
}
