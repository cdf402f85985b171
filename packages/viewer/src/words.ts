/** The words of the page, in the first of the browser's languages that there is a file for. */
import { ENGLISH } from "./words/en.js";

export type Words = typeof ENGLISH;

/** By the first letters of a language's tag. */
const LANGUAGES: Readonly<Record<string, Words>> = { en: ENGLISH };

export function chooseWords(tags: readonly string[]): { readonly tag: string; readonly words: Words } {
  for (const tag of tags) {
    const language = tag.toLowerCase().split("-")[0] ?? "";
    const words = LANGUAGES[language];
    if (words) return { tag: language, words };
  }
  return { tag: "en", words: ENGLISH };
}

const chosen = chooseWords(globalThis.navigator?.languages ?? []);

export const words = chosen.words;

/** The names in `index.html`: the words in an element, and those of its attributes. */
const PLACES = {
  "data-words": undefined,
  "data-words-title": "title",
  "data-words-label": "aria-label",
  "data-words-placeholder": "placeholder",
  "data-words-content": "content",
} as const;

/** Writes words wherever the page names some. */
export function fillPage(page: Document): void {
  page.documentElement.lang = chosen.tag;
  for (const [place, attribute] of Object.entries(PLACES)) {
    for (const element of page.querySelectorAll(`[${place}]`)) {
      const text = wordsNamed(element.getAttribute(place) ?? "");
      if (attribute === undefined) element.textContent = text;
      else element.setAttribute(attribute, text);
    }
  }
}

/** The page and its words are one thing: a name that there is not is a mistake in them. */
export function wordsNamed(name: string): string {
  const value: unknown = Object.hasOwn(words, name) ? words[name as keyof Words] : undefined;
  if (typeof value !== "string") throw new Error(`there are no words named "${name}"`);
  return value;
}
