/**
 * Pictures of the page for people to look at: the start page, each sample world with its card, without it, and with two
 * people on a desktop and a phone, and one world in an emulated headset.
 */
import { mkdirSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser, Visitor } from "../browser/browser.js";
import { examine, poverty } from "../browser/picture.js";

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

/** Waits until everything that fades in is there. */
async function isStill(page: Page): Promise<void> {
  await waitFor("the page to fade in", () =>
    page.evaluate(() => document.getAnimations().every(({ playState }) => playState === "finished")),
  );
}

async function hideCard(page: Page): Promise<void> {
  await waitFor("the card", () => page.locator("#intro").isVisible());
  await page.evaluate(() => window.nowcast.viewer.intro.hide());
}

describe.each(Object.entries(DEVICES))("on a %s", (device, viewport) => {
  const hasTouch = device !== "desktop";

  it("the_start_page_shows_all_worlds", async () => {
    const options = { name: "Ada", room: "", path: "/", viewport, hasTouch, atStart: true, isSharp: true };
    const visitor = await Visitor.knock(browser, server, options);
    const { page } = visitor;
    await waitFor("the worlds", async () => (await page.locator("#worlds li").count()) === WORLDS.length);
    await waitFor("the pictures", () =>
      page.evaluate(() =>
        [...document.images].every(
          ({ src, complete, naturalWidth }) => src === "" || (complete && naturalWidth > 0),
        ),
      ),
    );
    await isStill(page);
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
      isSharp: true,
      hasTouch,
    });
    const { page } = visitor;
    await waitFor("the card", () => page.locator("#intro").isVisible());
    await waitFor("the steps", async () => !(await page.locator("#intro").textContent())?.includes("{"));
    await page.screenshot({ path: `${SCREENSHOTS}/world-${world}-${device}-card.png` });
    await hideCard(page);
    await page.screenshot({ path: `${SCREENSHOTS}/world-${world}-${device}.png` });
    expect(await isTooWide(page)).toBe(false);
    expect(visitor.errors).toEqual([]);
    await visitor.leave();
  });
});

it.each(WORLDS)("%s_shows_two_people_to_each_other", async (world) => {
  const room = `${world}-two`;
  const desktop = { viewport: DEVICES.desktop, isSharp: true };
  const ada = await Visitor.enter(browser, server, { name: "Ada", room, ...desktop });
  const phone = { viewport: DEVICES.phone, hasTouch: true, isSharp: true };
  const ben = await Visitor.enter(browser, server, { name: "Ben", room, ...phone });
  for (const { page } of [ada, ben]) await hideCard(page);
  // A new round gives her another avatar.
  const place = async () => ben.position(await ada.avatarId());
  const start = await waitFor("Ada in Ben's page", place);
  // Ada walks back, so that Ben comes into her picture.
  await ada.page.keyboard.down("KeyS");
  await waitFor("the way back", async () => {
    const at = await place();
    return at !== undefined && Math.hypot(at[0] - start[0], at[2] - start[2]) > 1.5;
  });
  await ada.page.keyboard.up("KeyS");
  for (const [{ page, errors }, device] of [
    [ada, "desktop"],
    [ben, "phone"],
  ] as const) {
    await waitFor("both people", () => page.evaluate(() => window.nowcast.world!.players.size === 2));
    await page.screenshot({ path: `${SCREENSHOTS}/two-${world}-${device}.png` });
    expect(errors).toEqual([]);
  }
  await ada.leave();
  await ben.leave();
});

it("a_world_is_drawn_for_both_eyes_of_a_headset", async () => {
  const visitor = await Visitor.enter(browser, server, {
    name: "Ada",
    room: "playground-headset",
    isSharp: true,
    viewport: { width: 1280, height: 640 },
    hasHeadset: true,
  });
  const { page } = visitor;
  await hideCard(page);
  const button = page.locator("#vr-enter");
  await waitFor("the button", () => button.isVisible());
  await button.click();
  await waitFor("the headset", () =>
    page.evaluate(() => window.nowcast.viewer.controls.headset !== undefined),
  );
  await page.evaluate(() => {
    const { left, right } = window.headset.controllers;
    left!.position.set(-0.25, 1.3, -0.5);
    right!.position.set(0.25, 1.3, -0.5);
  });
  const blank = await browser.newPage();
  await waitFor("a picture", async () => {
    const png = await page.screenshot({ path: `${SCREENSHOTS}/headset-playground.png` });
    return poverty(await examine(blank, png)) === undefined;
  });
  await blank.close();
  expect(visitor.errors).toEqual([]);
  await visitor.leave();
});
