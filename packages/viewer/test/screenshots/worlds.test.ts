/** Pictures of the page for people to look at: the start page, and each sample world with its card and without it. */
import { mkdirSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser, Visitor } from "../browser/browser.js";

const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
const SCREENSHOTS = `${ROOT}/target/screenshots`;
const WORLDS = readdirSync(`${ROOT}/worlds`).filter((name) => !name.startsWith("."));
const DEVICES = {
  desktop: { width: 1280, height: 720 },
  phone: { width: 390, height: 844 },
  "phone-wide": { width: 844, height: 390 },
};

let browser: Browser;
let server: ServerProcess;

beforeAll(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  const folders = WORLDS.map((world) => `${ROOT}/worlds/${world}`);
  server = await ServerProcess.start(0, ["--rooms-max", "64", "--rooms-per-address-max", "64", ...folders]);
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

/** Whether an element reaches beyond the sides of the window. */
function isTooWide(page: Page): Promise<boolean> {
  return page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
}

describe.each(Object.entries(DEVICES))("on a %s", (device, viewport) => {
  const hasTouch = device !== "desktop";

  it("the_start_page_shows_all_worlds", async () => {
    const options = { name: "Ada", room: "", path: "/", viewport, hasTouch, atStart: true };
    const visitor = await Visitor.knock(browser, server, options);
    const { page } = visitor;
    await waitFor("the worlds", async () => (await page.locator("#worlds li").count()) === WORLDS.length);
    await waitFor("the pictures", () =>
      page.evaluate(() =>
        [...document.images].every(({ complete, naturalWidth }) => complete && naturalWidth > 0),
      ),
    );
    await page.screenshot({ path: `${SCREENSHOTS}/start-${device}.png` });
    expect(await isTooWide(page)).toBe(false);
    await page.locator("#worlds li").last().scrollIntoViewIfNeeded();
    await page.screenshot({ path: `${SCREENSHOTS}/start-${device}-end.png` });
    expect(visitor.errors).toEqual([]);
    await visitor.leave();
  });

  it.each(WORLDS)("%s_shows_its_card_and_its_picture", async (world) => {
    const visitor = await Visitor.enter(browser, server, {
      name: "Ada",
      room: `${world}-${device}`,
      viewport,
      hasTouch,
    });
    const { page } = visitor;
    await waitFor("the card", () => page.locator("#intro").isVisible());
    await waitFor("the steps", async () => !(await page.locator("#intro").textContent())?.includes("{"));
    await page.screenshot({ path: `${SCREENSHOTS}/world-${world}-${device}-card.png` });
    await page.evaluate(() => window.nowcast.viewer.intro.hide());
    await page.screenshot({ path: `${SCREENSHOTS}/world-${world}-${device}.png` });
    expect(await isTooWide(page)).toBe(false);
    expect(visitor.errors).toEqual([]);
    await visitor.leave();
  });
});
