/** A tree of 100,000 entities. The contract server has them, because a world of this size starts slowly in a debug build. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launchBrowser } from "../../../viewer/test/browser/browser.js";
import { ContractServer } from "../contract-server.js";
import { StudioVisitor } from "./studio-visitor.js";

const ROWS = 100_000;
/** Frames of the measured scroll. */
const FRAMES = 120;

let browser: Browser;
let server: ContractServer;

beforeAll(async () => {
  server = await ContractServer.start(ROWS);
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

describe("a room with 100,000 entities", () => {
  it("shows_its_first_rows_and_scrolls_to_the_last_row", async () => {
    const visitor = await StudioVisitor.open(browser, server.url);
    const { page } = visitor;
    const group = page.getByRole("treeitem", { name: /block/ });
    await group.waitFor();
    const firstRowsMs = await page.evaluate(async () => {
      const item = [...document.querySelectorAll(".list-row.kind")].find((row) =>
        row.textContent?.includes("block"),
      ) as HTMLElement;
      const begin = performance.now();
      item.click();
      while (document.querySelector("#entity-1") === null) await new Promise(requestAnimationFrame);
      return performance.now() - begin;
    });
    const list = page.getByRole("tree", { name: "Entities" });
    expect(await page.getByRole("treeitem").count()).toBeLessThan(60);
    const { drawMs, framesMs } = await list.evaluate(async (element, frames) => {
      const framesMs: number[] = [];
      let drawMs = 0;
      let earlier = await new Promise<number>(requestAnimationFrame);
      for (let frame = 0; frame < frames; frame += 1) {
        element.scrollTop += 130;
        const now = await new Promise<number>(requestAnimationFrame);
        framesMs.push(now - earlier);
        earlier = now;
        const begin = performance.now();
        // The layout of the rows that were drawn in this frame.
        element.getBoundingClientRect();
        drawMs += performance.now() - begin;
      }
      return { drawMs, framesMs };
    }, FRAMES);
    const seconds = framesMs.reduce((sum, ms) => sum + ms, 0) / 1_000;
    process.stdout.write(
      `tree of ${ROWS} rows: first rows after ${firstRowsMs.toFixed(0)} ms, ` +
        `${(FRAMES / seconds).toFixed(1)} frames a second while scrolling, layout ${(drawMs / FRAMES).toFixed(2)} ms a frame\n`,
    );
    await list.focus();
    await page.keyboard.press("End");
    await page.getByRole("treeitem", { name: /floor/ }).waitFor();
    await page.locator(`#entity-${ROWS}`).waitFor();
    await page.keyboard.press("Home");
    await page.locator("#entity-1").waitFor();
    expect(visitor.errors).toEqual([]);
    await visitor.leave();
  });
});

describe("a room with 5,000 entities, to which more come each second", () => {
  it("every_click_on_a_row_selects_its_entity", async () => {
    const growing = await ContractServer.start(5_000);
    const visitor = await StudioVisitor.open(browser, growing.url);
    const { page } = visitor;
    await page.getByRole("treeitem", { name: /block/ }).click();
    const list = page.getByRole("tree", { name: "Entities" });
    await list.evaluate((element) => {
      element.scrollTop = 26 * 4_500;
    });
    await page.locator("#entity-4505").waitFor();
    growing.isGrowing = true;
    for (let click = 0; click < 5; click += 1) {
      const row = page.locator(`#entity-${4_501 + click}`);
      const box = (await row.boundingBox())!;
      await page.mouse.move(box.x + 20, box.y + box.height / 2);
      // The list is read again while the button is down.
      const isRead = page.waitForResponse((response) => response.url().endsWith("/rooms/arena"));
      await page.mouse.down();
      await isRead;
      await page.mouse.up();
      await row.and(page.locator('[aria-selected="true"]')).waitFor();
    }
    await visitor.leave();
    await growing.stop();
  });
});
