import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A block of code between two fences. */
export interface Block {
  readonly language: string;
  readonly text: string;
}

/** A page of the documentation, as a reader follows it. */
export class MarkdownPage {
  readonly #text: string;

  /** `path` is the page's place in the repository. */
  constructor(readonly path: string) {
    this.#text = readFileSync(fileURLToPath(new URL(`../../../../${path}`, import.meta.url)), "utf8");
  }

  /** The text below a heading of the second level, up to the next one; without a heading the text above the first. */
  section(heading?: string): string {
    const parts = this.#text.split(/^## /m);
    if (heading === undefined) return parts[0]!;
    const found = parts.find((part) => part.startsWith(`${heading}\n`));
    if (found === undefined) throw new Error(`${this.path} has no section "${heading}"`);
    return found.slice(heading.length);
  }
}

/** The blocks of code of a text, in their order. */
export function blocksOf(text: string): readonly Block[] {
  return [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, language, block]) => ({
    language: language!,
    text: block!,
  }));
}

/** Returns the matched groups of a sentence that the text must contain. Line breaks may be anywhere in it. */
export function promiseOf(text: string, sentence: RegExp): readonly string[] {
  const found = sentence.exec(text.replace(/\s+/g, " "));
  if (found === null) throw new Error(`the text no longer says ${String(sentence)}`);
  return found.slice(1);
}
