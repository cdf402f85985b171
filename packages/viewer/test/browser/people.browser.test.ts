/** People as others see them: clothes, gestures, hats, and the settings that choose them. */
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser, Visitor } from "./browser.js";

const SCREENSHOTS = fileURLToPath(new URL("../../../../target/screenshots", import.meta.url));

let browser: Browser;
let server: ServerProcess;

beforeAll(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  server = await ServerProcess.start(0, ["--rooms-per-address-max", "64"]);
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

interface Seen {
  readonly hat: number;
  readonly emote: string | undefined;
  readonly outfit: number;
}

/** A person as a page draws it. */
function seen(page: Page, avatar: number): Promise<Seen | undefined> {
  return page.evaluate((id) => {
    const member = window.nowcast.viewer.stage.drawn.crowd.get(id);
    return member && { hat: member.hat, emote: member.emote, outfit: member.body.outfit };
  }, avatar);
}

it("clothes_of_the_start_page_are_worn_in_the_world_seen_by_others_and_kept", async () => {
  const ben = await Visitor.enter(browser, server, { name: "Ben", room: "playground-clothes" });
  const ada = await Visitor.knock(browser, server, {
    name: "Ada",
    room: "playground-clothes",
    atStart: true,
  });
  const { page } = ada;
  await waitFor("the card", () => page.locator("#outfit-open").isVisible());
  await page.locator("#outfit-open").click();
  await page.locator('#start-outfit [data-part="hat"][data-choice="4"]').click();
  await page.locator('#start-outfit [data-part="shirt"][data-choice="3"]').click();
  await page.screenshot({ path: `${SCREENSHOTS}/outfit-start.png` });
  await page.locator("#outfit .primary").click();
  await page.locator("#enter").click();
  await ada.isIn();
  const avatar = await ada.avatarId();
  await waitFor("the crown at the other page", async () => (await seen(ben.page, avatar))?.hat === 4);
  await waitFor("the crown at the own page", async () => (await seen(page, avatar))?.hat === 4);

  await page.locator("#settings-open").click();
  const cap = page.locator('#set-outfit [data-part="hat"][data-choice="2"]');
  expect(
    await page.locator('#set-outfit [data-choice="4"][data-part="hat"]').getAttribute("aria-pressed"),
  ).toBe("true");
  await cap.click();
  await page.keyboard.press("Escape");
  await waitFor("the cap at the other page", async () => (await seen(ben.page, avatar))?.hat === 2);

  const late = await Visitor.enter(browser, server, { name: "Cy", room: "playground-clothes" });
  await waitFor("the cap at a later page", async () => (await seen(late.page, avatar))?.hat === 2);
  await late.leave();

  await page.goto(`${page.url()}${page.url().includes("?") ? "&" : "?"}enter=1`);
  await ada.isIn();
  const again = await ada.avatarId();
  await waitFor("the cap after a reload", async () => (await seen(ben.page, again))?.hat === 2);
  expect([...ada.errors, ...ben.errors]).toEqual([]);
  await ada.leave();
  await ben.leave();
});

it("gestures_by_key_and_by_touch_are_seen_by_others", async () => {
  const ben = await Visitor.enter(browser, server, { name: "Ben", room: "playground-gestures" });
  const viewport = { width: 390, height: 844 };
  const ada = await Visitor.enter(browser, server, {
    name: "Ada",
    room: "playground-gestures",
    viewport,
    hasTouch: true,
  });
  const [adaAvatar, benAvatar] = [await ada.avatarId(), await ben.avatarId()];
  await waitFor("the dress", async () => (await seen(ada.page, benAvatar)) !== undefined);
  await ben.page.keyboard.press("KeyT");
  await waitFor("the menu", () => ben.page.locator("#emotes").isVisible());
  await ben.page.keyboard.press("Digit3");
  expect(await ben.page.locator("#emotes").isVisible()).toBe(false);
  await waitFor("the gesture of the key", async () => (await seen(ada.page, benAvatar))?.emote === "cheer");

  await ada.page.locator("#intro-close").tap();
  await ada.page.locator("#touch-emote").tap();
  await ada.page.screenshot({ path: `${SCREENSHOTS}/gestures-390.png` });
  await ada.page.locator('[data-emote="dance"]').tap();
  await waitFor("the gesture of the touch", async () => (await seen(ben.page, adaAvatar))?.emote === "dance");
  await ben.page.screenshot({ path: `${SCREENSHOTS}/gestures-seen.png` });
  await waitFor("its end", async () => (await seen(ben.page, adaAvatar))?.emote === undefined);
  expect([...ada.errors, ...ben.errors]).toEqual([]);
  await ada.leave();
  await ben.leave();
});
