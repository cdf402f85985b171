/** References that are made from types and from the program. They are committed; `test/references.test.ts` compares them. */
import { cliReference } from "./cli-reference.js";
import { luauReference } from "./luau-reference.js";
import { typescriptReference } from "./typescript-reference.js";

/** Returns the help of a command, given by its words. */
export type Help = (command: readonly string[]) => string;

/** Each file, from the root of the repository, and its text. */
export const REFERENCES: Readonly<Record<string, (help: Help) => string>> = {
  "docs/reference/world-luau.md": luauReference,
  "docs/reference/sdk.md": typescriptReference,
  "docs/reference/cli.md": cliReference,
};
