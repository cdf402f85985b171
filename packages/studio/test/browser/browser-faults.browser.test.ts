/** The studio in a browser that converts text by an input method, or blocks site data. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { blockSiteData, launchBrowser } from "../../../viewer/test/browser/browser.js";
import { Arena } from "./arena.js";
import { StudioVisitor } from "./studio-visitor.js";

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

it("opens_and_stores_a_converted_word_though_site_data_is_blocked", async () => {
  const visitor = await StudioVisitor.open(browser, arena.url, { before: blockSiteData });
  const { page } = visitor;
  const [goal] = await arena.rowsOf("goal");
  await visitor.select(goal!.id);
  await page.getByRole("button", { name: /^Edit title/ }).click();
  const session = await page.context().newCDPSession(page);
  await session.send("Input.imeSetComposition", { text: "にほん", selectionStart: 3, selectionEnd: 3 });
  await page.keyboard.press("Escape");
  await page.keyboard.press("Enter");
  expect(await page.locator("input:focus").inputValue()).toContain("にほん");
  await page.keyboard.press("Control+a");
  await session.send("Input.insertText", { text: "日本" });
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Edit title, now 日本" }).waitFor();
  expect(visitor.errors).toEqual([]);
  await visitor.leave();
});
