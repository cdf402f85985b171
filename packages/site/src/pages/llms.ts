/** `llms.txt`: the list of all pages for programs that read the documents (llmstxt.org). */
import { readRepositoryFile } from "./repository.js";
import { type Page, SECTIONS } from "./site-map.js";

export function llmsText(): string {
  const sections = SECTIONS.map(
    ({ title, pages }) => `## ${title}\n\n${pages.map((page) => `- ${entryOf(page)}`).join("\n")}\n`,
  );
  return (
    "# Nowcast\n\n> A real-time engine for shared virtual worlds: newest state first, events never lost, from shared memory to the " +
    `browser.\n\n${sections.join("\n")}`
  );
}

function entryOf({ title, address, file }: Page): string {
  const path = address.replace(/(^|\/)index$/, "$1index");
  const first = file.endsWith(".md") ? firstSentence(readRepositoryFile(file)) : file;
  return `[${title}](/${path}.html): ${first}`;
}

/** The first sentence below the first heading. */
function firstSentence(text: string): string {
  const lines = text.split("\n");
  const start = lines.findIndex((line, index) => index > 0 && /^(?:[A-Z]|`(?!``))/.test(line));
  const end = lines.findIndex((line, index) => index > start && line.trim() === "");
  const paragraph = lines.slice(start, end < 0 ? undefined : end).join(" ");
  return /^.*?[.:](?=\s|$)/.exec(paragraph)?.[0].replace(/:$/, ".") ?? paragraph;
}
