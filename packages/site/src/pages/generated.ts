/** Pages that are made from sources or from the program. */
import { cliReference } from "./cli-reference.js";
import { luauReference } from "./luau-reference.js";
import { readRepositoryFile } from "./repository.js";
import { typescriptReference } from "./typescript-reference.js";

export type Generated = "typescript" | "cli" | "luau" | "world-typescript";

const MAKERS: Readonly<Record<Generated, () => string>> = {
  typescript: typescriptReference,
  cli: cliReference,
  luau: luauReference,
  "world-typescript": () => `~~~~ts\n${readRepositoryFile("packages/world-script/types/api.d.ts")}~~~~\n`,
};

export function generatedPage(kind: Generated): string {
  return MAKERS[kind]();
}
