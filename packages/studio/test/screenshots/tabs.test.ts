/** Pictures of every tab for people to look at: on a desktop and a phone, dark and light, at a server with bots. */
import type { ChildProcess } from "node:child_process";
import { mkdirSync } from "node:fs";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServerProcess, startBots } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser } from "../../../viewer/test/browser/browser.js";
import { StudioVisitor } from "../browser/studio-visitor.js";

const WORLDS = fileURLToPath(new URL("../../../../worlds", import.meta.url));
const SCREENSHOTS = fileURLToPath(new URL("../../../../target/screenshots", import.meta.url));
const DEVICES = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };
const BOTS = 6;

let browser: Browser;
let server: ServerProcess;
let folder: string;
let bots: ChildProcess;

beforeAll(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  folder = await mkdtemp(join(tmpdir(), "nowcast-studio-"));
  // The server may write into this folder.
  await cp(join(WORLDS, "football"), join(folder, "football"), { recursive: true });
  const options = ["--world", `football=${join(folder, "football")}`, "--data", join(folder, "data")];
  server = await ServerProcess.start(0, options);
  bots = startBots(server.port, "football", BOTS);
  await waitFor("the bots", async () => (await server.metric("nowcast_clients")) >= BOTS);
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  bots?.kill();
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Brings a tab into the state that its picture shows. */
const STATES: Readonly<Record<string, (visitor: StudioVisitor) => Promise<void>>> = {
  World: async ({ page }) => {
    await page.getByRole("button", { name: "Shapes" }).click();
    await page.getByRole("treeitem", { name: /footballer/ }).click();
    await page.locator('[id^="entity-"]').first().click();
    await page.getByRole("heading", { name: /^footballer/ }).waitFor();
  },
  Code: async ({ page }) => {
    await page.locator(".cm-line").nth(5).click();
    await page.keyboard.press("End");
    await page.keyboard.type(" oops");
    await page.locator(".cm-lintRange-error").first().waitFor();
  },
  Time: async ({ page }) => {
    await page.getByRole("button", { name: "1 s ago" }).click();
    await page.getByRole("article").first().waitFor();
    await page.locator('[id^="entity-"]').first().waitFor();
  },
  Step: ({ page }) => page.getByRole("cell", { name: /ms|µs/ }).first().waitFor(),
  Clients: async ({ page }) => {
    await page.getByRole("button", { name: /^bot-0/ }).click();
    await page.getByRole("region", { name: "Client", exact: true }).waitFor();
  },
  Events: ({ page }) => page.locator(".plots figure").first().waitFor(),
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
      const url = `${server.url}/studio/`;
      const visitor = await StudioVisitor.open(browser, url, { viewport, colorScheme, hasTouch });
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
