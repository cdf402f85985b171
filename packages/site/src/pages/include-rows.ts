/** Includes rows from tables of other pages, without a copy: `<!-- rows of docs/SERVER.md, "Limits" -->`. */
import { sectionOf } from "./markdown.js";
import { readRepositoryFile } from "./repository.js";

const INCLUDE = /^<!-- rows of (\S+), "([^"]+)" -->$/gm;

/** Replaces each comment by the rows of the first table in the named section, without its head. */
export function includeRows(text: string): string {
  return text.replace(INCLUDE, (_, file: string, heading: string) => rowsOf(file, heading).join("\n"));
}

function rowsOf(file: string, heading: string): readonly string[] {
  const lines = sectionOf(readRepositoryFile(file), heading).split("\n");
  const start = lines.findIndex((line) => /^\| *-/.test(line));
  const end = lines.findIndex((line, index) => index > start && !line.startsWith("|"));
  if (start < 0) throw new Error(`${file} has no table in its section "${heading}"`);
  return lines.slice(start + 1, end < 0 ? lines.length : end);
}
