/**
 * Pictures of the page for people to look at: the start page; each sample world with its card, at noon and at dusk, and the
 * first minute of a lone player in it; and one world in an emulated headset. Each world and device has one sheet of pictures.
 */
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser, Visitor } from "../browser/browser.js";
import { examine, poverty } from "../browser/picture.js";
import { type Device, LonePlayer, plugInPad } from "./lone-player.js";
import { writeSheet } from "./sheet.js";
import { drawForPicturesOnly, takePicture } from "./stage.js";

const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
const SCREENSHOTS = `${ROOT}/target/screenshots`;
const WORLDS = readdirSync(`${ROOT}/worlds`).filter((name) => existsSync(`${ROOT}/worlds/${name}/tests`));
const PICTURES_MS = [5_000, 20_000, 60_000];
const DEVICES = {
  desktop: { width: 1280, height: 720 },
  phone: { width: 390, height: 844 },
  "phone-wide": { width: 844, height: 390 },
};
const MINUTE_SIZES = { keyboard: "desktop", touch: "phone", gamepad: "phone-wide" } as const;

let browser: Browser;
let server: ServerProcess;

beforeAll(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  const limits = ["--rooms-max", "64", "--rooms-per-address-max", "64"];
  server = await ServerProcess.start(0, [...limits, `${ROOT}/worlds/worlds.txt`]);
  browser = await launchBrowser();
});

// A page that a failed test left open would slow down the others.
afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
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

/** Waits for the pictures of the cards in the window. They are loaded when their cards come near it. */
async function hasPictures(page: Page): Promise<void> {
  await waitFor("the pictures", () =>
    page.evaluate(() => {
      const shown = [...document.images].filter((image) => {
        const { top, bottom, left, right } = image.getBoundingClientRect();
        return bottom > 0 && top < innerHeight && right > 0 && left < innerWidth;
      });
      return shown.every(({ complete, naturalWidth }) => complete && naturalWidth > 0);
    }),
  );
}

async function hideCard(page: Page): Promise<void> {
  await waitFor("the card", () => page.locator("#intro").isVisible());
  await page.evaluate(() => window.nowcast.viewer.hud.intro.hide());
}

describe.each(Object.entries(DEVICES))("on a %s", (device, viewport) => {
  const hasTouch = device !== "desktop";

  it("the_start_page_shows_all_worlds", async () => {
    const options = { name: "Ada", room: "", path: "/", viewport, hasTouch, atStart: true, isSharp: true };
    const visitor = await Visitor.knock(browser, server, options);
    const { page } = visitor;
    await waitFor("the worlds", async () => (await page.locator("#worlds li").count()) === WORLDS.length);
    await hasPictures(page);
    await isStill(page);
    await page.screenshot({ path: `${SCREENSHOTS}/start-${device}.png` });
    expect(await isTooWide(page)).toBe(false);
    await page.locator("#worlds li").last().scrollIntoViewIfNeeded();
    await hasPictures(page);
    await page.screenshot({ path: `${SCREENSHOTS}/start-${device}-end.png` });
    expect(visitor.errors).toEqual([]);
    await visitor.leave();
  });

  it.each(WORLDS)("%s_shows_its_card_noon_and_dusk", async (world) => {
    const room = `${world}-${device}`;
    const visitor = await Visitor.enter(browser, server, {
      name: "Ada",
      room,
      viewport,
      isSharp: true,
      hasTouch,
    });
    const { page } = visitor;
    await waitFor("the card", () => page.locator("#intro").isVisible());
    await waitFor("the steps", async () => !(await page.locator("#intro").textContent())?.includes("{"));
    const pictures = [await page.screenshot()];
    await hideCard(page);
    for (const light of ["day", "dusk"] as const) {
      await page.evaluate(async (light) => {
        window.nowcast.viewer.change({ light });
        for (let frame = 0; frame < 4; frame++) await new Promise(requestAnimationFrame);
      }, light);
      pictures.push(await page.screenshot());
    }
    await writeSheet(browser, pictures, `${SCREENSHOTS}/world-${world}-${device}.jpg`);
    expect(await isTooWide(page)).toBe(false);
    expect(visitor.errors).toEqual([]);
    await visitor.leave();
  });
});

/** Plays the first minute in a room without other people. Returns the errors of the page. */
async function playFirstMinute(world: string, device: Device): Promise<readonly string[]> {
  const visitor = await Visitor.enter(browser, server, {
    name: "Ada",
    room: `${world}-${device}`,
    viewport: DEVICES[MINUTE_SIZES[device]],
    hasTouch: device === "touch",
    isSharp: true,
    ...(device === "gamepad" && { before: plugInPad }),
  });
  const { page } = visitor;
  await visitor.avatarId();
  await drawForPicturesOnly(page);
  const since = Date.now();
  const pictures = [await takePicture(page)];
  await hideCard(page);
  const player = await LonePlayer.create(page, world, device);
  for (const ms of PICTURES_MS) {
    await player.playUntil(since, ms);
    pictures.push(await takePicture(page));
  }
  await writeSheet(browser, pictures, `${SCREENSHOTS}/minute-${world}-${device}.jpg`);
  await visitor.leave();
  return visitor.errors;
}

// The devices play in rooms of their own at the same time.
it.each(WORLDS)("a_lone_player_plays_the_first_minute_in_%s_by_each_device", async (world) => {
  const devices: Device[] = ["keyboard", "touch", "gamepad"];
  const errors = await Promise.all(devices.map((device) => playFirstMinute(world, device)));
  expect(errors.flat()).toEqual([]);
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
