/** The keyboard alone suffices for each tab. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser } from "../../../viewer/test/browser/browser.js";
import { Arena } from "./arena.js";
import { StudioVisitor } from "./studio-visitor.js";

const TABS = ["World", "Code", "Time", "Step", "Clients", "Events", "Net lab"];
const STOPS_MAX = 80;

let browser: Browser;
let arena: Arena;

beforeAll(async () => {
  arena = await Arena.start();
  await arena.join("Ada");
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await arena?.stop();
});

/** Presses Tab until the focus is on the element with this name. */
async function tabTo(page: Page, name: RegExp): Promise<void> {
  const seen: string[] = [];
  for (let stop = 0; stop < STOPS_MAX; stop += 1) {
    await page.keyboard.press("Tab");
    const focused = await page.evaluate(() => {
      const element = document.activeElement?.shadowRoot?.activeElement ?? document.activeElement;
      const label = element?.closest("label")?.textContent ?? "";
      return element?.getAttribute("aria-label") ?? `${element?.textContent ?? ""} ${label}`.trim();
    });
    seen.push(focused.slice(0, 40));
    if (name.test(focused)) return;
  }
  throw new Error(`no tab stop has the name ${name}; the stops are ${seen.join(" | ")}`);
}

describe("the keyboard", () => {
  it("arrow_keys_go_through_all_tabs_and_every_control_has_a_name", async () => {
    const visitor = await StudioVisitor.open(browser, arena.url);
    const { page } = visitor;
    await tabTo(page, /^World/);
    for (const tab of TABS) {
      await page.getByRole("tabpanel", { name: tab, exact: true }).waitFor();
      const nameless = await page
        .getByRole("tabpanel")
        .locator("button, input, select, textarea")
        .evaluateAll((controls) =>
          controls
            .filter((control) => control.checkVisibility())
            .filter(
              (control) =>
                !control.getAttribute("aria-label") &&
                !control.textContent?.trim() &&
                !control.closest("label")?.textContent?.trim(),
            )
            .map((control) => control.outerHTML),
        );
      expect(nameless).toEqual([]);
      await page.keyboard.press("ArrowRight");
    }
    await page.getByRole("tabpanel", { name: "World", exact: true }).waitFor();
    expect(visitor.errors).toEqual([]);
    await visitor.leave();
  });

  it("an_attribute_is_edited_a_moment_is_opened_and_a_file_is_saved_without_a_mouse", async () => {
    const visitor = await StudioVisitor.open(browser, arena.url);
    const { page } = visitor;
    const [first, second] = await arena.rowsOf("block");
    await page.getByRole("treeitem", { name: /block/ }).waitFor();
    await tabTo(page, /^Entities$/);
    const kinds = await page.getByRole("treeitem").allInnerTexts();
    const steps = kinds.findIndex((text) => text.includes("block"));
    for (let step = 0; step < steps; step += 1) await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowRight");
    await page.locator(`#entity-${first!.id}`).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: `block #${second!.id}` }).waitFor();
    await tabTo(page, /^Edit hp/);
    await page.keyboard.press("Enter");
    await page.keyboard.type("55");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Edit hp, now 55" }).waitFor();
    const entity = await arena.api.entity({ type: "room", room: "arena" }, second!.id);
    expect(entity.attributes["hp"]).toBe(55);

    await tabTo(page, /^World/);
    await page.keyboard.press("ArrowRight");
    await page.getByRole("tabpanel", { name: "Code", exact: true }).waitFor();
    await tabTo(page, /score\.luau/);
    await page.keyboard.press("Enter");
    await page.locator(".cm-content").getByText("max = 3").waitFor();
    await tabTo(page, /^Text of score\.luau/);
    await page.keyboard.press("Control+End");
    await page.keyboard.type("-- by keyboard");
    await page.keyboard.press("Control+s");
    await waitFor("the saved file", async () => (await arena.read("score.luau")).includes("-- by keyboard"));
    await page.keyboard.press("Escape");
    await tabTo(page, /^Code/);
    await page.keyboard.press("ArrowRight");
    await page.getByRole("tabpanel", { name: "Time", exact: true }).waitFor();
    await tabTo(page, /^1 s ago/);
    await page.keyboard.press("Enter");
    await page.getByRole("article").waitFor();
    expect(visitor.errors).toEqual([]);
    await visitor.leave();
  });
});
