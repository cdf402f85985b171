import { mkdirSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { drawCoarsely, launchBrowser } from "./browser.js";
import { serveBuiltPage } from "./built-page.js";

const SCREENSHOTS = fileURLToPath(new URL("../../../../target/screenshots", import.meta.url));

const RULES = `
local world = require("@nowcast/world")
local Floor = world.kind("floor", { body = { motion = "fixed", shape = "box", size = vector.create(40, 1, 40) } })
local Person = world.kind("person", { walker = {} })
local hud
hud = world.ui.panel("hud", { at = "top_right", title = "<b>Purse</b>", parts = {
  { "text", name = "coins", label = "Coins", text = "0" },
  { "bar", name = "health", label = "Health", max = 10, color = "#d8433b" },
  { "button", name = "earn", text = "Earn", press = function(player)
    player.private.coins = (player.private.coins or 0) + 1
    hud:set("coins", player.private.coins, player)
    hud:set("health", player.private.coins, player)
    if player.private.coins == 2 then hud:set("earn", false, player) end
  end },
  { "list", name = "goods", press = function(player, row) hud:set("coins", "row " .. row, player) end },
} })
local sign = world.ui.panel("sign", { at = "entity", parts = { { "text", name = "text", text = "Over here" } } })
world.on("start", function() Floor:spawn { at = vector.create(0, -0.5, 0) } end)
world.on("join", function(player)
  local person = player:spawn_avatar(Person, { at = vector.create(0, 1, 0) })
  hud:set("goods", { "<i>apple</i>", "hat" }, player)
  sign:show(player, person)
  world.sky({ time = 20.5, fog = 0.2 }, player)
end)
`;

let browser: Browser;
let folder: string;
let server: ServerProcess;
let page: Page;

beforeAll(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  folder = await mkdtemp(join(tmpdir(), "nowcast-panels-"));
  await writeFile(join(folder, "world.luau"), RULES);
  server = await ServerProcess.start(0, ["--world", `purse=${folder}`]);
  browser = await launchBrowser();
  const context = await browser.newContext({ viewport: { width: 1000, height: 620 } });
  context.setDefaultNavigationTimeout(300_000);
  await serveBuiltPage(context);
  await drawCoarsely(context);
  page = await context.newPage();
  await page.goto(`${server.url}/r/purse?name=Ada&quality=low&enter=1`);
  await page.locator('[data-panel="hud"]').waitFor({ timeout: 240_000 });
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
  if (folder) await rm(folder, { recursive: true, force: true });
});

describe("panels of a world", () => {
  it("show texts as texts, and a press is an action of the player", async () => {
    const hud = page.locator('[data-panel="hud"]');
    const coins = (): Promise<string> => hud.locator('[data-part="coins"]').innerText();
    expect(await hud.locator("h2").innerText()).toBe("<b>Purse</b>");
    expect(await coins()).toBe("Coins 0");
    const earn = hud.getByRole("button", { name: "Earn" });
    await earn.focus();
    await page.keyboard.press("Enter");
    await waitFor("a coin", async () => (await coins()) === "Coins 1", 60_000);
    await earn.click();
    await waitFor("a second coin", async () => (await coins()) === "Coins 2", 60_000);
    await waitFor("the button to be turned off", () => earn.isDisabled(), 60_000);
    expect(await hud.getByRole("meter", { name: "Health" }).getAttribute("aria-valuenow")).toBe("2");
    await hud.getByRole("button", { name: "<i>apple</i>" }).click();
    await waitFor("the row", async () => (await coins()) === "Coins row 1", 60_000);
    expect(await page.locator("#screen-list").innerText()).not.toContain("@");
    await page.screenshot({ path: join(SCREENSHOTS, "panels.png") });
  });

  it("hang over an entity in the picture", async () => {
    const sign = page.locator('[data-panel="sign"]');
    await waitFor(
      "the sign to be in the picture",
      async () => {
        const box = await sign.boundingBox();
        return box !== null && box.x > 200 && box.x < 800 && box.y > 0 && box.y < 500;
      },
      60_000,
    );
    expect(await sign.innerText()).toBe("Over here");
  });
});
