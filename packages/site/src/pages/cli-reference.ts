/** The page of all commands, from the help of the program. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./repository.js";

/** The program: `NOWCAST_BIN`, or a build of this checkout. */
function program(): string | undefined {
  const places = [process.env["NOWCAST_BIN"], "target/release/nowcast", "target/debug/nowcast"];
  return places
    .map((place) => place && join(place.startsWith("/") ? "/" : ROOT, place))
    .find((place) => place && existsSync(place));
}

/** The help of every command, or a hint if the program was not built. */
export function cliReference(): string {
  const binary = program();
  if (binary === undefined) {
    console.warn(
      "the page of commands is empty: `cargo xtask build` makes the program, or NOWCAST_BIN names it",
    );
    return "This build of the site has no list, because the program was not built before.\n";
  }
  return helpOfAll((command) => {
    // The width of the text.
    const env = { ...process.env, COLUMNS: "100" };
    return spawnSync(binary, [...command, "--help"], { encoding: "utf8", env }).stdout;
  });
}

function helpOfAll(help: (command: readonly string[]) => string): string {
  const parts: string[] = [];
  const visit = (command: readonly string[]): void => {
    const text = help(command);
    const depth = "#".repeat(command.length + 1);
    if (command.length > 0) parts.push(`${depth} nowcast ${command.join(" ")}\n`);
    parts.push(`\`\`\`text\n${text.trim().replace(/[ \t]+$/gm, "")}\n\`\`\`\n`);
    for (const name of subcommandsOf(text)) visit([...command, name]);
  };
  visit([]);
  return parts.join("\n");
}

function subcommandsOf(text: string): readonly string[] {
  const listed = /^Commands:\n((?: {2}.*\n|\n)*)/m.exec(`${text}\n`)?.[1] ?? "";
  const names = [...listed.matchAll(/^ {2}([a-z][\w-]*)/gm)].map(([, name]) => name!);
  return names.filter((name) => name !== "help");
}
