/** Writes modules in Luau beside their TypeScript files. */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { BuildError } from "./error.js";
import type { Module } from "./module.js";
import { mapLine } from "./source-map.js";

/** The second line of a module that was made, up to the name of its source. */
const MADE_FROM = "-- Made from ";
/** The compiler has checked the names, so `nowcast check` skips them. */
const FIRST = "--!nocheck";

/** `Error` of the compiler's library looks for a stack with `debug`, which a world refuses by an error. */
const NO_DEBUG = "local debug = nil";

/** Returns the text of a module: the head, the code of the compiler, and the source map. */
export function moduleText(source: string, text: string, code: string, map: string): string {
  const hash = textHash(text).toString(16).padStart(8, "0");
  const head = [FIRST, `${MADE_FROM}${source} (${hash}) by nowcast-world: changes of this file are lost.`];
  if (/\bdebug\b/.test(code)) head.push(NO_DEBUG);
  return `${[...head, code.trimEnd(), mapLine(map, source, head.length)].join("\n")}\n`;
}

/** FNV-1a of 32 bits over UTF-8. `nowcast check` and `nowcast test` compare it with the source. */
export function textHash(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}

/**
 * Writes the modules that changed, and removes modules whose TypeScript file is gone. Each file is replaced at once, so a
 * reader never finds half of a module. Throws a `BuildError`, and writes nothing, if a module of the author has the name of
 * one. Returns the number of changed files.
 */
export function writeModules(folder: string, modules: readonly Module[]): number {
  const changed = modules.filter(({ path, source, text }) => {
    const place = join(folder, path);
    if (!existsSync(place)) return true;
    const found = readFileSync(place, "utf8");
    if (found !== text && !isMade(found)) {
      throw new BuildError(
        `${path} was not made from ${source}, so it is kept and nothing was written: rename one of the two files.`,
      );
    }
    return found !== text;
  });
  const written = changed.map(({ path, text }) => {
    const place = join(folder, path);
    const temporary = join(dirname(place), `.${basename(place)}.new`);
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(temporary, text);
    return { place, temporary };
  });
  for (const { place, temporary } of written) renameSync(temporary, place);
  const stale = staleModules(folder, new Set(modules.map((module) => module.path)));
  for (const path of stale) rmSync(join(folder, path), { force: true });
  return written.length + stale.length;
}

function isMade(text: string): boolean {
  return text.startsWith(`${FIRST}\n${MADE_FROM}`);
}

/** Returns the modules that were made from files that are not part of the world any more. */
function staleModules(folder: string, current: ReadonlySet<string>): string[] {
  return modulesBelow(folder, folder).filter(
    (path) => !current.has(path) && isMade(readFileSync(join(folder, path), "utf8")),
  );
}

function modulesBelow(folder: string, at: string): string[] {
  return readdirSync(at, { withFileTypes: true }).flatMap((entry) => {
    if (entry.name.startsWith(".") || entry.name === "node_modules") return [];
    const path = join(at, entry.name);
    if (entry.isDirectory()) return modulesBelow(folder, path);
    return entry.isFile() && entry.name.endsWith(".luau")
      ? [relative(folder, path).split(sep).join("/")]
      : [];
  });
}
