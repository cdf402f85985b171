import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { ENGLISH } from "../src/words/en.js";
import { chooseWords, wordsNamed } from "../src/words.js";

const PAGE = readFileSync(new URL("../index.html", import.meta.url), "utf8");

it("has a text for every place on the page that names one", () => {
  const names = [...PAGE.matchAll(/data-words(?:-\w+)?="(\w+)"/g)].map(([, name]) => name!);
  expect(names.length).toBeGreaterThan(40);
  for (const name of names) expect(wordsNamed(name), name).not.toBe("");
  expect(() => wordsNamed("nonsense")).toThrow();
});

it("has no texts in the page itself except its name and the number keys", () => {
  const text = PAGE.replace(/<[^>]*>/g, " ").replace(/\s+/g, " ");
  expect(text.trim()).toMatch(/^(?:Nowcast|\d+|[ ])*$/);
});

it("takes the first language that there is, and English for those without", () => {
  expect(chooseWords(["xx-YY", "en-GB"])).toEqual({ tag: "en", words: ENGLISH });
  expect(chooseWords([])).toEqual({ tag: "en", words: ENGLISH });
});
