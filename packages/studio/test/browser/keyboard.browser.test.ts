/** The keyboard alone suffices for each tab, and a long list stays quick. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser } from "../../../viewer/test/browser/browser.js";
import { ContractServer } from "../contract-server.js";
import { StudioVisitor } from "./studio-visitor.js";

const TABS = ["World", "Code", "Time", "Step", "Clients", "Events", "Net lab"];
const STOPS_MAX = 60;

let browser: Browser;
let server: ContractServer;

beforeAll(async () => {
  server = await ContractServer.start("arena", 100_000);
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
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
    const visitor = await StudioVisitor.open(browser, server.url);
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

  it("an_attribute_is_edited_without_a_mouse", async () => {
    const visitor = await StudioVisitor.open(browser, server.url);
    const { page } = visitor;
    await page.getByRole("treeitem", { name: /block/ }).waitFor();
    await tabTo(page, /^Entities$/);
    await page.keyboard.press("ArrowRight");
    await page.locator("#entity-1").waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "block #2" }).waitFor();
    await tabTo(page, /^Edit hp/);
    await page.keyboard.press("Enter");
    await page.keyboard.type("55");
    await page.keyboard.press("Enter");
    await waitFor("the new value", () => server.world.entities.get(2)!.attributes["hp"] === 55);
    await visitor.leave();
  });

  it("a_moment_is_opened_and_the_editor_is_left_without_a_mouse", async () => {
    const visitor = await StudioVisitor.open(browser, server.url, { tab: "time" });
    const { page } = visitor;
    await tabTo(page, /^1 min ago/);
    await page.keyboard.press("Enter");
    await page.getByRole("article").waitFor();
    await visitor.show("Code");
    await page.locator(".cm-content").waitFor();
    await page.locator(".cm-content").focus();
    await page.keyboard.type("x");
    await page.keyboard.press("Escape");
    await tabTo(page, /world\.luau/);
    await visitor.leave();
  });
});

describe("a room with 100,000 entities", () => {
  it("shows_its_first_rows_and_scrolls_to_the_last_row", async () => {
    const visitor = await StudioVisitor.open(browser, server.url);
    const { page } = visitor;
    await page.getByRole("treeitem", { name: /block/ }).click();
    await page.locator("#entity-1").waitFor();
    const list = page.getByRole("tree", { name: "Entities" });
    const drawn = await page.getByRole("treeitem").count();
    expect(drawn).toBeLessThan(60);
    await list.focus();
    await page.keyboard.press("End");
    await page.getByRole("treeitem", { name: /floor/ }).waitFor();
    await page.locator("#entity-100000").waitFor();
    await page.keyboard.press("Home");
    await page.locator("#entity-1").waitFor();
    expect(visitor.errors).toEqual([]);
    await visitor.leave();
  });
});
