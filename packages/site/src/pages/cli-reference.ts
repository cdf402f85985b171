/** The reference of all commands, from the help of the program. */
const HEAD = `# Commands

\`nowcast COMMAND --help\` prints the same text. Every command has \`--help\`, and \`nowcast --version\` prints the release.
[Run a server](../how-to/server.md) explains the flags of \`nowcast serve\`.
`;

/** An option that at least this number of commands have is listed once. */
const COMMON_MIN = 3;

/** The page of all commands. `help` returns the help of a command, given by its words without \`nowcast\`. */
export function cliReference(help: (command: readonly string[]) => string): string {
  const commands: (readonly [command: readonly string[], help: string])[] = [];
  const visit = (command: readonly string[]): void => {
    const text = help(command);
    if (command.length > 0) commands.push([command, text]);
    for (const [name] of entriesOf(text, "Commands")) if (name !== "help") visit([...command, name!]);
  };
  visit([]);
  const counts = new Map<string, number>();
  for (const [, text] of commands)
    for (const row of rowsOf(text)) counts.set(row, (counts.get(row) ?? 0) + 1);
  const isCommon = (row: string): boolean => row.startsWith("| `--") && counts.get(row)! >= COMMON_MIN;
  const common = [...counts.keys()].filter(isCommon);
  const sections = commands.map(([command, text]) => sectionOfCommand(command, text, isCommon));
  return [`${HEAD}\nSeveral commands have these:\n${tableOf(common)}`, ...sections].join("\n");
}

/** The rows of a command's arguments and options. */
function rowsOf(help: string): readonly string[] {
  return [...entriesOf(help, "Arguments"), ...entriesOf(help, "Options")]
    .filter(([name]) => !/--(?:help|version)\b/.test(name!))
    .map(([name, meaning]) => `| \`${name!.replaceAll("|", "\\|")}\` | ${inCell(meaning!)} |`);
}

function tableOf(rows: readonly string[]): string {
  return rows.length === 0 ? "" : `\n| argument | meaning |\n| --- | --- |\n${rows.join("\n")}\n`;
}

function sectionOfCommand(
  command: readonly string[],
  help: string,
  isCommon: (row: string) => boolean,
): string {
  const [about, rest] = help.split(/^Usage: /m) as [string, string];
  const usage = rest.split("\n\n")[0]!.replace(/^ {7}/gm, "").trim();
  const paragraphs = about.trim().split(/\n\s*\n/);
  const text = paragraphs.map((paragraph) => inProse(paragraph.replace(/\s+/g, " "))).join("\n\n");
  const rows = rowsOf(help).filter((row) => !isCommon(row));
  const depth = "#".repeat(command.length + 1);
  return `${depth} nowcast ${command.join(" ")}\n\n\`\`\`text\n${usage}\n\`\`\`\n\n${text}\n${tableOf(rows)}`;
}

/** The entries of a section of a help: a name, and its meaning on one line. */
function entriesOf(help: string, section: string): readonly (readonly [string, string])[] {
  const body = new RegExp(`^${section}:\\n((?: {2}.*\\n|[ \\t]*\\n)*)`, "m").exec(`${help}\n`)?.[1] ?? "";
  const entries: [string, string][] = [];
  for (const line of body.split("\n")) {
    // A name begins at most six columns from the margin, and its meaning follows after two spaces or on later lines.
    const [, name, meaning] = /^ {2,6}(\S.*?)(?: {2,}(\S.*))?$/.exec(line) ?? [];
    const isName = name !== undefined && (section === "Commands" || /^(?:-|\[|<)/.test(name));
    if (isName) entries.push([name, meaning ?? ""]);
    else if (line.trim() !== "") entries[entries.length - 1]![1] += ` ${line.trim()}`;
  }
  return entries.map(([name, meaning]) => [name.trim(), meaning.trim().replace(/\s+/g, " ")]);
}

/** Text outside of code marks must not look like markup. */
function inProse(text: string): string {
  return text.replace(/`[^`]*`|<(?=\w)/g, (found) => (found === "<" ? "&lt;" : found));
}

function inCell(text: string): string {
  return inProse(text).replaceAll("|", "\\|");
}
