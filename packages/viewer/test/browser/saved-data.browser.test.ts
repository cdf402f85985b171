import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { drawCoarsely, launchBrowser } from "./browser.js";
import { serveBuiltPage } from "./built-page.js";

let browser: Browser;
let context: BrowserContext;
let data: string;
let rules: string;
let server: ServerProcess;

const RULES = `
local world = require("@nowcast/world")
world.saved { default = { coins = 0 } }
local Floor = world.kind("floor", { body = { motion = "fixed", shape = "box", size = vector.create(40, 1, 40) } })
local Person = world.kind("person", { walker = {} })
world.on("start", function() Floor:spawn { at = vector.create(0, -0.5, 0) } end)
world.on("join", function(player)
  player:spawn_avatar(Person, { at = vector.create(0, 1, 0) })
  world.show("coins", player.saved.coins, player)
end)
world.action("earn", {}, function(player)
  player.saved.coins += 1
  world.show("coins", player.saved.coins, player)
end, { key = "e", label = "Earn", durable = true })
`;

function serve(port = 0): Promise<ServerProcess> {
  return ServerProcess.start(port, ["--data", data, "--world", `purse=${rules}`]);
}

beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), "nowcast-data-"));
  rules = await mkdtemp(join(tmpdir(), "nowcast-rules-"));
  await writeFile(join(rules, "world.luau"), RULES);
  server = await serve();
  browser = await launchBrowser();
  context = await profile();
});

afterAll(async () => {
  await browser?.close();
  await server?.kill();
  for (const folder of [data, rules]) await rm(folder, { recursive: true, force: true });
});

/** A browser profile, with keys of its own. */
async function profile(): Promise<BrowserContext> {
  const made = await browser.newContext({ viewport: { width: 800, height: 500 } });
  made.setDefaultNavigationTimeout(300_000);
  await serveBuiltPage(made);
  await drawCoarsely(made);
  return made;
}

async function enter(room: string, from = context): Promise<Page> {
  const page = await from.newPage();
  await page.goto(`${server.url}/r/${room}?name=Ada&quality=low&enter=1`);
  return page;
}

function coinsOf(page: Page): Promise<unknown> {
  return page.evaluate(() => window.nowcast?.world?.screen.get("coins"));
}

/** Waits until the page shows this number of coins of the player. */
async function shows(page: Page, coins: number): Promise<void> {
  await waitFor(`${coins} coins`, async () => (await coinsOf(page)) === coins, 240_000);
}

/** Earns a coin, and waits until it is confirmed. */
async function earn(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const world = window.nowcast.world!;
    await world.joined;
    await world.act("earn", {});
  });
}

describe("saved data of a player", () => {
  it("is there after a reload, after kill -9, and in another room", async () => {
    let page = await enter("purse");
    await shows(page, 0);
    await earn(page);
    await shows(page, 1);
    await page.reload();
    await shows(page, 1);

    await earn(page);
    await shows(page, 2);
    await server.kill();
    await page.close();
    server = await serve(server.port);
    page = await enter("purse");
    await shows(page, 2);

    const other = await enter("purse-2");
    await shows(other, 2);
    await waitFor("the first page to end", () =>
      page.evaluate(() => window.nowcast.world!.status === "closed"),
    );
    const theirs = await enter("purse", await profile());
    await shows(theirs, 0);
    expect(await coinsOf(other)).toBe(2);
  });
});
