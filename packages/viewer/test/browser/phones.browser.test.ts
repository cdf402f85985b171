/** The controls of the page on phones, and in a window that is zoomed to 200 %: none lies under another one. */
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isLong } from "../../../nowcast/test/long.js";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser, Visitor } from "./browser.js";
import { layoutOf } from "./layout.js";

const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
const SCREENSHOTS = `${ROOT}/target/screenshots`;
const ALL_WORLDS = ["capture-the-flag", "builders", "shop", "gallery", "playground"] as const;
/** The short form has the world with most buttons, and a world with slots. */
const WORLDS = isLong ? ALL_WORLDS : ALL_WORLDS.slice(0, 2);
const PHONE = [
  { width: 390, height: 844 },
  { width: 844, height: 390 },
  { width: 660, height: 900 },
] as const;
/** Maximum share of the picture that the buttons of a phone cover. */
const BUTTONS_SHARE_MAX = 0.2;
/** A window of 1280 x 720 at a zoom of 200 %. */
const ZOOMED = [{ width: 640, height: 360 }] as const;

let browser: Browser;
let server: ServerProcess;

beforeAll(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  const folders = ALL_WORLDS.map((world) => `${ROOT}/worlds/${world}`);
  server = await ServerProcess.start(0, ["--rooms-max", "64", "--rooms-per-address-max", "64", ...folders]);
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

/** The controls and texts of the page, each of which must be free. An open panel covers the middle of the page on purpose. */
const PARTS = [
  "#place",
  "#invite",
  ".top-right button",
  "#board",
  "#screen-list",
  "#banner",
  "#notice",
  "#world-banner",
  "#message",
  "#world-prompt",
  "#refusal",
  "#world-notice",
  "#prompt",
  "#charge",
  "#slots button",
  "#chat-log li",
  "#chat-form",
  "#hints",
  ".stick-rest",
  ".touch button",
  "#people",
  "#figures",
  "#console",
  "#emotes",
  "#intro",
];

async function expectFree(page: Page, state: string): Promise<void> {
  const { shown, overlaps, cut } = await layoutOf(page, PARTS);
  expect(shown, state).toBeGreaterThan(4);
  expect(overlaps, state).toEqual([]);
  expect(cut, state).toEqual([]);
}

describe.each([
  { device: "phone", sizes: PHONE, hasTouch: true },
  { device: "zoomed window", sizes: ZOOMED, hasTouch: false },
])("on a $device", ({ sizes, hasTouch }) => {
  it.each(WORLDS)("controls_of_%s_do_not_cover_each_other", async (world) => {
    const visitor = await Visitor.enter(browser, server, {
      name: "Ada",
      room: `${world}-${hasTouch ? "phone" : "zoomed"}`,
      viewport: sizes[0],
      hasTouch,
    });
    const { page } = visitor;
    await waitFor("the card", () => page.locator("#intro").isVisible());
    await waitFor("the steps", async () => !(await page.locator("#intro").textContent())?.includes("{"));
    for (const size of sizes) {
      await page.setViewportSize(size);
      await waitFor("the size", () => page.evaluate((width) => innerWidth === width, size.width));
      await expectFreeInEachState(page, hasTouch, `${SCREENSHOTS}/controls-${world}-${size.width}`);
    }
    expect(visitor.errors).toEqual([]);
    await visitor.leave();
  });
});

it("the_card_covers_no_control_of_a_small_tablet", async () => {
  const viewport = { width: 660, height: 900 };
  const visitor = await Visitor.enter(browser, server, {
    name: "Ada",
    room: "builders-tablet",
    viewport,
    hasTouch: true,
  });
  await waitFor("the card", () => visitor.page.locator("#intro").isVisible());
  await expectFree(visitor.page, "with the card");
  await visitor.leave();
});

/** Shows the card, no panel, and each panel, and expects that all shown parts are free. */
async function expectFreeInEachState(page: Page, hasTouch: boolean, picture: string): Promise<void> {
  const press = (selector: string): Promise<void> => {
    const control = page.locator(selector);
    return hasTouch ? control.tap() : control.click();
  };
  await page.evaluate(() => window.nowcast.viewer.hud.intro.show());
  await page.screenshot({ path: `${picture}-card.png` });
  await expectFree(page, "with the card");
  expect(await hidesHead(page), "the card hides the head of the avatar").toBe(false);
  await press("#intro-close");
  await page.evaluate(() => {
    const { hud } = window.nowcast.viewer;
    hud.say("A notice of the page, which may be as long as a sentence is.");
    hud.refuse("A refusal of an action");
    hud.chat.addEvent("Ben is here");
    hud.setCharge(0.5);
  });
  await page.screenshot({ path: `${picture}.png` });
  await expectFree(page, "without a panel");
  if (hasTouch) expect(await shareOfButtons(page), picture).toBeLessThan(BUTTONS_SHARE_MAX);
  for (const toggle of ["place", "hud-toggle", "console-toggle", hasTouch ? "touch-emote" : "emote-toggle"]) {
    await press(`#${toggle}`);
    await page.screenshot({ path: `${picture}-${toggle}.png` });
    await expectFree(page, `with the panel of ${toggle}`);
    await press(`#${toggle}`);
  }
  await page.evaluate(() => {
    window.nowcast.viewer.hud.setCharge(undefined);
    for (const line of ["notice", "refusal"]) document.getElementById(line)!.hidden = true;
  });
}

/** The share of the picture that shown buttons and the stick cover. */
function shareOfButtons(page: Page): Promise<number> {
  return page.evaluate(() => {
    const options = { checkVisibilityCSS: true, checkOpacity: true };
    const buttons = [...document.querySelectorAll("#hud button, .stick-rest")].filter((button) =>
      button.checkVisibility(options),
    );
    if (buttons.length < 5) throw new Error(`only ${buttons.length} buttons are shown`);
    const areas = buttons.map((button) => {
      const { width, height } = button.getBoundingClientRect();
      return width * height;
    });
    return areas.reduce((sum, area) => sum + area, 0) / (innerWidth * innerHeight);
  });
}

/** Whether the head of the avatar is under the card. */
function hidesHead(page: Page): Promise<boolean> {
  return page.evaluate(async () => {
    for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
    const { controls, stage } = window.nowcast.viewer;
    const { x, y, z } = controls.focus;
    const at = stage.camera.position
      .clone()
      .set(x, y + 0.6, z)
      .project(stage.camera);
    const [left, top] = [((1 + at.x) / 2) * innerWidth, ((1 - at.y) / 2) * innerHeight];
    const box = document.getElementById("intro")!.getBoundingClientRect();
    return box.left < left && left < box.right && box.top < top && top < box.bottom;
  });
}

it("steps_name_buttons_on_a_phone_and_keys_otherwise", async () => {
  const stepsOf = async (hasTouch: boolean): Promise<string> => {
    const viewport = { width: 844, height: 390 };
    const options = { name: "Ada", room: "playground-steps", viewport, hasTouch };
    const visitor = await Visitor.enter(browser, server, options);
    const card = visitor.page.locator("#intro");
    await waitFor("the card", () => card.isVisible());
    await waitFor("the names of the controls", async () => !(await card.textContent())?.includes("{"));
    const text = (await visitor.page.locator("#intro-how").innerText()).replaceAll("\n", " ");
    expect(await visitor.page.locator("#intro-touch").isVisible()).toBe(hasTouch);
    await visitor.leave();
    return text;
  };
  expect(await stepsOf(true)).toContain("Press “Grab” at a block to grab it, and “Put down” to put it down.");
  expect(await stepsOf(false)).toContain("Press E at a block to grab it, and Q to put it down.");
});
