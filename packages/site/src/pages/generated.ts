/** Pages that are made from sources or from the program. */
import { cliReference } from "./cli-reference.js";
import { typescriptReference } from "./typescript-reference.js";

export type Generated = "typescript" | "cli";

const MAKERS: Readonly<Record<Generated, () => string>> = {
  typescript: typescriptReference,
  cli: cliReference,
};

export function generatedPage(kind: Generated): string {
  return MAKERS[kind]();
}
