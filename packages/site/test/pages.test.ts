/** The pages of the site: complete, without broken links, and the same in each build. */

import { expect, it } from "vitest";
import { ERROR_CODES } from "../../nowcast/src/errors/nowcast-error.js";
import { worldEnd } from "../../nowcast/src/world/end.js";
import { llmsText } from "../src/pages/llms.js";
import { anchorsOf, sectionOf, withLinks } from "../src/pages/markdown.js";
import { filesOfRepository, readRepositoryFile } from "../src/pages/repository.js";
import { HOME, PAGES } from "../src/pages/site-map.js";
import { makePages } from "../src/pages/stage.js";

const staged = makePages();

it("no_link_of_a_page_leads_nowhere", () => {
  expect(staged.problems).toEqual([]);
  expect(staged.pages.size).toBeGreaterThan(PAGES.length);
});

it("every_link_between_pages_leads_to_a_page_or_a_copied_file", () => {
  const known = new Set(
    [...staged.pages.keys()].map((path) => `/${path.replace(/(^|\/)index\.md$/, "$1").replace(/\.md$/, "")}`),
  );
  let count = 0;
  for (const [page, text] of staged.pages) {
    withLinks(text, (target) => {
      if (!target.startsWith("/")) return target;
      count += 1;
      const [path] = target.split("#");
      const isKnown = known.has(path!) || staged.copies.has(path!.slice(1));
      expect(`${page}: ${target} ${isKnown}`).toBe(`${page}: ${target} true`);
      return target;
    });
  }
  expect(count).toBeGreaterThan(200);
});

it("every_page_of_docs_and_spec_is_on_the_site", () => {
  const mapped = new Set([HOME, ...PAGES.map(({ file }) => file)]);
  const pages = [...filesOfRepository()].filter((file) => /^(?:docs|spec)\/.*\.md$/.test(file));
  expect(pages.length).toBeGreaterThan(25);
  const missing = pages.filter((file) => !mapped.has(file) && !file.startsWith("spec/vectors/"));
  expect(missing).toEqual([]);
});

it("list_for_programs_names_every_page", () => {
  const text = llmsText();
  for (const { address } of PAGES) expect(text).toContain(`(/${address}.html)`);
});

it("page_of_errors_lists_every_code_once", () => {
  const rows = sectionOf(readRepositoryFile("docs/reference/errors.md"), "Codes").matchAll(
    /^\| `(\w+)` \|/gm,
  );
  expect([...rows].map(([, code]) => code)).toEqual([...ERROR_CODES]);
});

it("page_of_errors_gives_each_close_code_the_code_that_the_sdk_gives_it", () => {
  const rows = sectionOf(readRepositoryFile("docs/reference/errors.md"), "Close codes").matchAll(
    /^\| ([\d, –]+) \| ([\d, –]+) \| `(\w+)` \|/gm,
  );
  let count = 0;
  for (const [, session, , code] of rows) {
    for (const number of session!.match(/\d+/g) ?? []) {
      expect(`${number} ${worldEnd(Number(number), "").code}`).toBe(`${number} ${code}`);
      count += 1;
    }
  }
  expect(count).toBeGreaterThan(20);
});

it("page_of_limits_has_the_limits_of_the_engine", () => {
  const page = readRepositoryFile("docs/reference/limits.md");
  const source = readRepositoryFile("crates/world/src/limits.rs");
  const limits = /DEFAULT: Limits = Limits \{(.*?)\};/s
    .exec(source)![1]!
    .matchAll(/(\w+): ([\d_]+)(?: << (\d+))?,/g);
  let count = 0;
  for (const [, name, base, shift] of limits) {
    const value = Number(base!.replaceAll("_", "")) * 2 ** Number(shift ?? 0);
    const texts = [value.toLocaleString("en-US"), `${value / 2 ** 20} MiB`];
    expect(`${name} ${value} ${texts.some((text) => page.includes(text))}`).toBe(`${name} ${value} true`);
    count += 1;
  }
  expect(count).toBeGreaterThan(10);
});

it("anchors_are_those_of_the_headings", () => {
  expect([...anchorsOf("# A `b` c!\n\n## Same\n\n```text\n# no\n```\n\n## Same\n")]).toEqual([
    "a-b-c",
    "same",
    "same-1",
  ]);
});
