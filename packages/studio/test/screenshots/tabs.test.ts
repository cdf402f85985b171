/** Pictures of every tab for people to look at: on a desktop and a phone, dark and light, at a server with players. */
import { mkdirSync } from "node:fs";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { joinWorld, type World } from "nowcast/world";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser } from "../../../viewer/test/browser/browser.js";
import { StudioVisitor } from "../browser/studio-visitor.js";

const WORLDS = fileURLToPath(new URL("../../../../worlds", import.meta.url));
const SCREENSHOTS = fileURLToPath(new URL("../../../../target/screenshots", import.meta.url));
const DEVICES = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };
const PLAYERS = 6;
/** The steps that the chart of the tab Step shows. */
const STEPS = 120;
/** Frames after which the view of the room is drawn. */
const FRAMES = 30;

let browser: Browser;
let server: ServerProcess;
let folder: string;
let players: World[] = [];

beforeAll(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  folder = await mkdtemp(join(tmpdir(), "nowcast-studio-"));
  // The server may write into this folder.
  await cp(join(WORLDS, "football"), join(folder, "football"), { recursive: true });
  const options = ["--world", `football=${join(folder, "football")}`, "--data", join(folder, "data")];
  server = await ServerProcess.start(0, options);
  const { port } = server;
  players = Array.from({ length: PLAYERS }, () => joinWorld(`nowcast://localhost:${port}/football`));
  await waitFor("the players", async () => (await server.metric("nowcast_clients")) >= PLAYERS);
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  for (const player of players) player.close();
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
    await page.locator(".labels .tag").first().waitFor();
    await page.getByRole("button", { name: "Go to" }).click();
    await page.getByRole("button", { name: "Follow" }).click();
    await page.evaluate(async (frames) => {
      for (let frame = 0; frame < frames; frame += 1) await new Promise(requestAnimationFrame);
    }, FRAMES);
  },
  Code: async ({ page }) => {
    await page
      .locator(".cm-line")
      .nth(5)
      .click({ position: { x: 40, y: 8 } });
    await page.keyboard.press("End");
    await page.keyboard.type(" oops");
    await page.locator(".cm-lintRange-error").first().waitFor();
  },
  Time: async ({ page }) => {
    await page.getByRole("button", { name: "1 s ago" }).click();
    await page.getByRole("article").first().waitFor();
    await page.locator('[id^="entity-"]').first().waitFor();
  },
  Step: async ({ page }) => {
    const [hook, bar] = [page.locator(".flame-row .hook").first(), page.locator(".steps g").nth(STEPS - 1)];
    await Promise.all([hook, bar].map((drawn) => drawn.waitFor({ state: "attached" })));
  },
  Clients: async ({ page }) => {
    await page.getByRole("button", { name: /^bot-0/ }).click();
    await page.getByRole("region", { name: "Client", exact: true }).waitFor();
    await page.locator(".histogram li").first().waitFor();
    await page.getByRole("table").nth(2).getByRole("row").nth(1).waitFor();
  },
  Events: ({ page }) => page.locator(".plots figure").first().waitFor(),
  "Net lab": async ({ page }) => {
    await page.getByRole("button", { name: "Train" }).click();
    await waitFor("a round trip", async () =>
      /\d/.test(await page.locator('[data-figure="round trip"]').innerText()),
    );
    await waitFor("a line of three values", async () =>
      /L.*L/.test((await page.locator(".line-chart .line").first().getAttribute("d")) ?? ""),
    );
  },
};

describe.each(Object.entries(DEVICES))("on a %s", (device, viewport) => {
  describe.each(["light", "dark"] as const)("in %s", (colorScheme) => {
    it.each(Object.keys(STATES))("%s_is_shown_within_the_window", async (tab) => {
      const hasTouch = device === "phone";
      const url = `${server.url}/studio/`;
      const visitor = await StudioVisitor.open(browser, url, {
        viewport,
        colorScheme,
        hasTouch,
        isSharp: true,
      });
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
