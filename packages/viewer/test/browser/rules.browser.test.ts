/** Rules that are saved while a player is there: the page shows their current state and their errors. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser, Visitor } from "./browser.js";

const MINIMAL = fileURLToPath(new URL("../../../../worlds/minimal", import.meta.url));

let browser: Browser;
let server: ServerProcess;
let directory: string;
let file: string;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "nowcast-rules-"));
  const world = join(directory, "yard");
  cpSync(MINIMAL, world, { recursive: true });
  file = join(world, "world.luau");
  server = await ServerProcess.start(0, [world]);
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(directory, { recursive: true, force: true });
});

const WAVE = `
world.action("wave", {}, function()
	world.show("message", "Hello!")
	print("waved", { to = "everybody" })
end, { key = "g", label = "Wave" })
`;

it("shows new rules at once, and where broken ones are broken", async () => {
  const visitor = await Visitor.enter(browser, server, { name: "Ada", room: "yard" });
  const { page } = visitor;
  const panel = page.locator("#console");
  await waitFor("the console to be offered", () => page.locator("#console-toggle").isVisible());
  expect(await panel.isVisible()).toBe(false);

  const rules = readFileSync(file, "utf8");
  writeFileSync(file, `${rules}\nlocal broken = = 1\n`);
  const brokenLine = rules.split("\n").length + 1;
  await waitFor("the fault", async () => (await panel.textContent())?.includes(`world.luau:${brokenLine}`));
  expect(await panel.isVisible(), "the console is closed until the user asks").toBe(false);
  expect(await page.locator("#console-toggle").getAttribute("class")).toContain("fault");
  await page.keyboard.press("Backquote");
  expect(await panel.isVisible()).toBe(true);
  expect(await page.locator("#console-list li").first().getAttribute("class")).toBe("refused");

  writeFileSync(file, rules + WAVE);
  await waitFor("the new action", async () => (await page.locator("#hints").textContent())?.includes("Wave"));
  await page.locator("#world").click();
  await page.keyboard.press("KeyG");
  const message = page.locator("#message");
  await waitFor("the text of the action", async () => (await message.textContent()) === "Hello!");

  // A line that the rules print reaches the page's console and the server's log.
  const line = 'waved { to = "everybody" }';
  const newest = page.locator("#console-list li").first();
  await waitFor("the printed line in the console", async () => (await newest.textContent())?.includes(line));
  expect(await newest.getAttribute("class")).toBe("printed");
  expect(await page.locator("#console-list li").nth(1).getAttribute("class")).toBe("runs");
  await waitFor("the printed line in the log", () => server.log.includes("waved { to ="));
  expect(visitor.errors).toEqual([]);
  await visitor.leave();
});
