/** The references in `docs/reference/` that are made from types and from the program. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { REFERENCES } from "../src/pages/generated.js";
import { ROOT, readRepositoryFile } from "../src/pages/repository.js";
import { helpOf } from "./program.js";

const IS_WRITING = process.env["NOWCAST_WRITE"] === "1";
const CURE = "run NOWCAST_WRITE=1 npx vitest run packages/site/test/references.test.ts";

for (const [file, make] of Object.entries(REFERENCES)) {
  it(`${file.replace(/\W+/g, "_")}_is_current`, () => {
    const text = make(helpOf);
    if (IS_WRITING) writeFileSync(join(ROOT, file), text);
    expect(readRepositoryFile(file) === text ? "current" : `${file} is not current: ${CURE}`).toBe("current");
  });
}

it("the_main_entries_export_at_most_200_names", () => {
  const names = readRepositoryFile("docs/reference/sdk.md").match(/^### `/gm) ?? [];
  expect(names.length).toBeGreaterThan(100);
  expect(names.length).toBeLessThanOrEqual(200);
});

it("every_exported_name_has_a_page_that_shows_it", () => {
  const names = readRepositoryFile("docs/reference/sdk.md").split(/^### /m).slice(1);
  expect(names.length).toBeGreaterThan(100);
  expect(names.filter((text) => text.includes("No page shows this name."))).toEqual([]);
});
