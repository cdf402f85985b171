/** A page in a browser that converts text by an input method, blocks site data, or suspends sound. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { blockSiteData, launchBrowser, Visitor } from "./browser.js";

declare global {
  interface Window {
    contexts: AudioContext[];
    refusals: number;
  }
}

let browser: Browser;
let server: ServerProcess;

beforeAll(async () => {
  server = await ServerProcess.start();
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

it("enter_and_escape_belong_to_a_conversion_in_the_chat", async () => {
  const visitor = await Visitor.enter(browser, server, { name: "Ada", room: "playground-words" });
  const { page } = visitor;
  const line = page.locator("#chat-input");
  const log = page.locator("#chat-log");
  await page.keyboard.press("KeyW");
  await page.keyboard.press("Enter");
  await waitFor("the line", () => line.evaluate((element) => document.activeElement === element));
  const session = await page.context().newCDPSession(page);
  await session.send("Input.imeSetComposition", { text: "にほん", selectionStart: 3, selectionEnd: 3 });
  await page.keyboard.press("Escape");
  await page.keyboard.press("Enter");
  expect(await line.inputValue()).toBe("にほん");
  expect(await line.evaluate((element) => document.activeElement === element)).toBe(true);
  await session.send("Input.insertText", { text: "日本" });
  await page.keyboard.press("Enter");
  await waitFor("the word", async () => (await log.textContent())?.includes("日本"));
  expect(await log.textContent()).not.toContain("にほん");
  expect(visitor.errors).toEqual([]);
  await visitor.leave();
});

it("enter_belongs_to_a_conversion_in_the_name_of_the_start_page", async () => {
  const visitor = await Visitor.knock(browser, server, { name: "", room: "playground-name", atStart: true });
  const { page } = visitor;
  await page.locator("#start.ready").waitFor();
  const name = page.locator("#name");
  await name.fill("");
  await name.focus();
  const session = await page.context().newCDPSession(page);
  await session.send("Input.imeSetComposition", { text: "さくら", selectionStart: 3, selectionEnd: 3 });
  await page.keyboard.press("Enter");
  expect(await page.locator("#start.leaving").count()).toBe(0);
  await session.send("Input.insertText", { text: "桜" });
  await page.keyboard.press("Enter");
  await visitor.isIn();
  expect(await visitor.ownName()).toBe("桜");
  expect(visitor.errors).toEqual([]);
  await visitor.leave();
});

it("a_world_opens_in_a_browser_that_blocks_site_data", async () => {
  const options = { name: "Ada", room: "playground-blocked", before: blockSiteData };
  const visitor = await Visitor.enter(browser, server, options);
  expect(visitor.errors).toEqual([]);
  await visitor.leave();
});

it("sound_returns_with_the_key_after_a_refused_one", async () => {
  const before = (): void => {
    window.contexts = [];
    window.refusals = 0;
    window.AudioContext = class extends AudioContext {
      constructor() {
        super();
        window.contexts.push(this);
      }

      override async resume(): Promise<void> {
        if (window.refusals++ === 0) throw new DOMException("the page may not start now", "NotAllowedError");
        return super.resume();
      }
    };
  };
  const visitor = await Visitor.enter(browser, server, { name: "Ada", room: "playground-sound", before });
  const { page } = visitor;
  await page.keyboard.press("KeyW");
  await waitFor("the sound", () => page.evaluate(() => window.contexts[0]?.state === "running"));
  await page.evaluate(async () => {
    await window.contexts[0]!.suspend();
    window.refusals = 0;
  });
  await page.keyboard.press("KeyW");
  await waitFor("the refusal", () => page.evaluate(() => window.refusals > 0));
  await page.keyboard.press("KeyW");
  await waitFor("the sound", () => page.evaluate(() => window.contexts[0]!.state === "running"));
  expect(visitor.errors).toEqual([]);
  await visitor.leave();
});
