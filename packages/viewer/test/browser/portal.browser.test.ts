import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { drawCoarsely, launchBrowser } from "./browser.js";
import { serveBuiltPage } from "./built-page.js";

const HALL = `
local world = require("@nowcast/world")
local Floor = world.kind("floor", { body = { motion = "fixed", shape = "box", size = vector.create(40, 1, 40) } })
local Person = world.kind("person", { walker = {} })
world.on("start", function() Floor:spawn { at = vector.create(0, -0.5, 0) } end)
world.on("join", function(player) player:spawn_avatar(Person, { at = vector.create(0, 1, 0) }) end)
world.command("go", { arguments = { { "room", "text" } } }, function(player, room)
  player:send_to(room, { coins = 3 })
end)
world.on("arrive", function(player, data, from)
  world.show("coins", data.coins .. " from " .. from, player)
end)
`;

let browser: Browser;
let folders: string[];
let server: ServerProcess;

beforeAll(async () => {
  const made = async (): Promise<string> => {
    const folder = await mkdtemp(join(tmpdir(), "nowcast-portal-"));
    await writeFile(join(folder, "world.luau"), HALL);
    return folder;
  };
  folders = [await made(), await made()];
  server = await ServerProcess.start(0, ["--world", `hall=${folders[0]}`, "--world", `shop=${folders[1]}`]);
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
  for (const folder of folders ?? []) await rm(folder, { recursive: true, force: true });
});

describe("a portal", () => {
  it("brings a page to another room without a reload, with the data of its player", async () => {
    const context = await browser.newContext({ viewport: { width: 800, height: 500 } });
    context.setDefaultNavigationTimeout(300_000);
    await serveBuiltPage(context);
    await drawCoarsely(context);
    const page = await context.newPage();
    await page.goto(`${server.url}/r/hall?name=Ada&quality=low&enter=1`);
    const state = (): Promise<unknown> =>
      page.evaluate(() => {
        const world = window.nowcast?.world;
        const has = world?.avatarId !== undefined;
        return [window.location.pathname, has, world?.screen.get("coins") ?? null, document.title];
      });
    const becomes = (what: string, expected: unknown): Promise<unknown> =>
      waitFor(what, async () => JSON.stringify(await state()) === JSON.stringify(expected), 240_000);
    await becomes("the hall", ["/r/hall", true, null, "hall · Nowcast"]);
    await page.evaluate(() => {
      document.documentElement.dataset["loaded"] = "once";
      window.nowcast.viewer.view?.world.chat("/go shop-2");
    });
    await becomes("the shop", ["/r/shop-2", true, "3 from hall", "shop-2 · Nowcast"]);
    expect(await page.evaluate(() => document.documentElement.dataset["loaded"])).toBe("once");
    await page.evaluate(() => window.nowcast.viewer.view?.world.chat("/go hall"));
    await becomes("the hall again", ["/r/hall", true, "3 from shop-2", "hall · Nowcast"]);
  });
});
