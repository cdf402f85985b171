/** The texts of the page, in the first of the browser's languages that has a file. */
import { pageTexts } from "@nowcast/page";
import { ENGLISH } from "./words/en.js";

export type Words = typeof ENGLISH;

/** The texts of each language, by the first part of the language's tag. */
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
// The parts of `@nowcast/page` read their own texts.
Object.assign(pageTexts, words);

/** The attributes in `index.html` that name an element's text and its attributes' texts. */
const PLACES = {
  "data-words": undefined,
  "data-words-title": "title",
  "data-words-label": "aria-label",
  "data-words-placeholder": "placeholder",
  "data-words-content": "content",
} as const;

/** Writes each text at the places of the page that name it. */
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

/** Page and texts belong together, so an unknown name is a programming error. */
export function wordsNamed(name: string): string {
  const value: unknown = Object.hasOwn(words, name) ? words[name as keyof Words] : undefined;
  if (typeof value !== "string") throw new Error(`there is no text named "${name}"`);
  return value;
}
