/** The reference of the API for worlds in Luau, from the types that editors read in `worlds/.nowcast`. */
import { readRepositoryFile } from "./repository.js";

const FOLDER = "worlds/.nowcast";
/** The modules of the API, and the prefix of their names in rules. */
const MODULES: readonly (readonly [file: string, title: string, prefix: string])[] = [
  ["world", "The world", "world."],
  ["test", "Tests", "test."],
  ...[
    "dialogue",
    "headset",
    "inventory",
    "leaderboard",
    "notices",
    "npc",
    "rotation",
    "rounds",
    "teams",
    "vehicles",
  ].map((name) => [name, `\`@nowcast/${name}\``, `${name}.`] as const),
];
const HEAD = "| name | type | description |\n| --- | --- | --- |\n";
const INTRODUCTION = `# Worlds in Luau

TypeScript has the same names: [the declarations](../../packages/world-script/types/api.d.ts) have their types. There \`{ radius = 60 }\` is \`{ radius: 60 }\`, and
nil is \`undefined\`. Names in quotes are sections of the guide: "Kinds" in [Rules and reload](../how-to/rules.md), "Owners" and "Vehicles and drones" in
[Bodies and movement](../how-to/bodies.md), "Actions" and "Panels" in [Actions and pages](../how-to/pages.md), "Commands" and "Portals" in
[Players and saved data](../how-to/players.md).
`;

export function luauReference(): string {
  const parts = MODULES.map(([file, title, prefix]) =>
    tables(readRepositoryFile(`${FOLDER}/${file}.luau`), title, prefix),
  );
  return [INTRODUCTION, ...parts].join("\n");
}

/** A table for each type whose members are on separate lines, and one table for all one-line types. */
function tables(text: string, title: string, prefix: string): string {
  let [parts, fields, comment] = ["", "", ""];
  let isFirst = true;
  for (const line of text.split("\n")) {
    const [, opened] = /^export type (\w+) = \{$/.exec(line) ?? [];
    const [, name, type] = /^(?:export type |\t)(\w+)(?: =|:) (.+?),?$/.exec(line) ?? [];
    if (opened !== undefined) {
      parts += `${isFirst ? `## ${title}` : `### ${opened}`}\n\n${HEAD}`;
    } else if (line === "}") {
      [parts, prefix, isFirst] = [`${parts}\n`, "", false];
    } else if (name !== undefined && type !== undefined) {
      const row = `${name}\` | \`${type.replaceAll("|", "\\|")}\` | ${comment} |\n`;
      if (line.startsWith("\t")) parts += `| \`${prefix}${row}`;
      else fields += `| \`${row}`;
    }
    comment = /^\t?-- (.*)/.exec(line)?.[1] ?? "";
  }
  return fields === "" ? parts : `${parts}### Table fields\n\n${HEAD}${fields}\n`;
}
