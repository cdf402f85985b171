/** Markdown as text: blocks of code, headings and links. */

/** A block of code between two fences. */
export interface Block {
  readonly language: string;
  readonly text: string;
  /** The number of its first line in the page, from 1. */
  readonly line: number;
  /** The text of the comment directly before the block. */
  readonly comment: string | undefined;
  /** The reason why the block does not run in CI, from that comment. */
  readonly notRun: string | undefined;
}

const FENCE = /^(\s*)(`{3,}|~{3,})(.*)$/;
/** A comment directly before a block of code gives the reason why the block does not run in CI. */
export const NOT_RUN = /^<!-- not run: (.*?) -->$/;

/** Applies `change` to every line outside of blocks of code. */
export function outsideCode(text: string, change: (line: string) => string): string {
  let fence: string | undefined;
  const lines = text.split("\n").map((line) => {
    const marks = FENCE.exec(line)?.[2];
    if (fence === undefined && marks === undefined) return change(line);
    if (fence === undefined) fence = marks;
    else if (marks?.startsWith(fence)) fence = undefined;
    return line;
  });
  return lines.join("\n");
}

export function blocksOf(text: string): readonly Block[] {
  const lines = text.split("\n");
  const blocks: Block[] = [];
  for (let index = 0; index < lines.length; index++) {
    const [, indent, marks, info] = FENCE.exec(lines[index]!) ?? [];
    if (marks === undefined) continue;
    const end = lines.findIndex((line, at) => at > index && line.trim().startsWith(marks));
    if (end < 0) throw new Error(`a block of code that begins in line ${index + 1} has no end`);
    const body = lines.slice(index + 1, end).map((line) => line.slice(indent!.length));
    const before = lines
      .slice(0, index)
      .reverse()
      .find((line) => line.trim() !== "");
    blocks.push({
      language: info!.trim().split(/\s+/)[0]!,
      text: `${body.join("\n")}\n`,
      line: index + 2,
      comment: /^<!-- (.*) -->$/.exec(before?.trim() ?? "")?.[1],
      notRun: NOT_RUN.exec(before?.trim() ?? "")?.[1],
    });
    index = end;
  }
  return blocks;
}

/** The anchor of a heading, as the site and GitHub make it. */
export function anchorOf(heading: string): string {
  const text = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "");
  return text
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}\s_-]/gu, "")
    .replace(/\s/g, "-");
}

/** The anchors of all headings. A repeated heading gets a number. */
export function anchorsOf(text: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  outsideCode(text, (line) => {
    const heading = /^#{1,6}\s+(.*?)\s*#*$/.exec(line)?.[1];
    if (heading === undefined) return line;
    const anchor = anchorOf(heading);
    let unique = anchor;
    for (let count = 1; anchors.has(unique); count++) unique = `${anchor}-${count}`;
    anchors.add(unique);
    return line;
  });
  return anchors;
}

/** The text below a heading of the second level, with its headings raised by one level. */
export function sectionOf(text: string, heading: string): string {
  let fence = false;
  let isInside = false;
  const lines: string[] = [];
  for (const line of text.split("\n")) {
    if (/^```/.test(line)) fence = !fence;
    if (!fence && line.startsWith("## ")) isInside = line === `## ${heading}`;
    if (isInside) lines.push(!fence && line.startsWith("##") ? line.slice(1) : line);
  }
  if (lines.length === 0) throw new Error(`there is no section "${heading}"`);
  return `${lines.join("\n").trim()}\n`;
}

/** Joins each block of Luau and the block of TypeScript after it into one block with a switch between the languages. */
export function withLanguageSwitch(text: string): string {
  return text.replace(
    /^```lua\n((?:(?!^```).*\n)*)```\n\n```typescript\n((?:(?!^```).*\n)*)```$/gm,
    "::: code-group\n\n```lua [Luau]\n$1```\n\n```typescript [TypeScript]\n$2```\n\n:::",
  );
}

/** Replaces the targets of all links and pictures outside of code. */
export function withLinks(text: string, replace: (target: string) => string): string {
  return outsideCode(text, (line) =>
    line.replace(/(`+)(?:(?!\1).)*\1|\]\(([^()\s]+)\)/g, (whole, code: string | undefined, target: string) =>
      code === undefined ? `](${replace(target)})` : whole,
    ),
  );
}
