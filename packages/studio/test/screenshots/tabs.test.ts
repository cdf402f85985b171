/** Pictures of every tab for people to look at: on a desktop and a phone, dark and light. */
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser } from "../../../viewer/test/browser/browser.js";
import { StudioVisitor } from "../browser/studio-visitor.js";
import { ContractServer } from "../contract-server.js";

const SCREENSHOTS = fileURLToPath(new URL("../../../../target/screenshots", import.meta.url));
const DEVICES = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };

let browser: Browser;
let worlds: ServerProcess;
let server: ContractServer;

beforeAll(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  worlds = await ServerProcess.start();
  server = await ContractServer.start("playground", 300, worlds.port);
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
  await worlds?.stop();
});

/** Brings a tab into the state that its picture shows. */
const STATES: Readonly<Record<string, (visitor: StudioVisitor) => Promise<void>>> = {
  World: async (visitor) => {
    await visitor.page.getByRole("treeitem", { name: /block/ }).click();
    await visitor.page.locator("#entity-3").click();
    await visitor.page.getByRole("heading", { name: "block #3" }).waitFor();
    await visitor.page.locator(".room-view canvas").waitFor();
    await visitor.page.waitForTimeout(2_500);
  },
  Code: async ({ page }) => {
    await page.locator(".cm-content").getByText("local GOAL = 3").click();
    await page.keyboard.press("End");
    await page.keyboard.type(" + oops");
    await page.locator(".cm-lintRange-error").waitFor();
  },
  Time: async ({ page }) => {
    await page.getByRole("button", { name: "10 s ago" }).click();
    await page.getByRole("article").first().waitFor();
    await page.locator("#entity-1").waitFor();
  },
  Step: ({ page }) => page.getByRole("img", { name: "Time of each step" }).waitFor(),
  Clients: ({ page }) => page.getByRole("table").waitFor(),
  Events: ({ page }) => page.getByText("hello & welcome").waitFor(),
  "Net lab": async ({ page }) => {
    await page.getByRole("button", { name: "Train" }).click();
    await waitFor("a round trip", async () =>
      /\d/.test(await page.locator('[data-figure="round trip"]').innerText()),
    );
  },
};

describe.each(Object.entries(DEVICES))("on a %s", (device, viewport) => {
  describe.each(["light", "dark"] as const)("in %s", (colorScheme) => {
    it.each(Object.keys(STATES))("%s_is_shown_within_the_window", async (tab) => {
      const hasTouch = device === "phone";
      const visitor = await StudioVisitor.open(browser, server.url, { viewport, colorScheme, hasTouch });
      await visitor.show(tab);
      await STATES[tab]!(visitor);
      await visitor.page.screenshot({
        path: `${SCREENSHOTS}/studio-${tab.toLowerCase().replace(" ", "-")}-${device}-${colorScheme}.png`,
      });
      expect(await visitor.page.evaluate(() => document.documentElement.scrollWidth > innerWidth)).toBe(
        false,
      );
      expect(visitor.errors).toEqual([]);
      await visitor.leave();
    });
  });
});
