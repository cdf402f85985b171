/** An action with several keys, and a player that moves keys in the settings by the keyboard alone. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser, Visitor } from "./browser.js";

const RULES = `local world = require("@nowcast/world")
world.about { goal = "Count.", how = { "Count by {count}." } }
world.state { count = 0 }
local Floor = world.kind("floor", { body = { motion = "fixed", shape = "box", size = vector.create(20, 1, 20) } })
local Person = world.kind("person", { walker = {} })
world.on("start", function()
	Floor:spawn { at = vector.create(0, -0.5, 0) }
end)
world.on("join", function(player)
	player:spawn_avatar(Person, { at = vector.create(0, 1, 3) })
end)
world.action("count", {}, function()
	world.state.count += 1
	world.show("message", \`Counted {world.state.count}\`)
end, { key = { "2", "f", "left" }, label = "Count" })
`;

let browser: Browser;
let server: ServerProcess;
let parent: string;

beforeAll(async () => {
  parent = mkdtempSync(join(tmpdir(), "nowcast-keys-"));
  const folder = join(parent, "keys");
  mkdirSync(folder);
  writeFileSync(join(folder, "world.luau"), RULES);
  server = await ServerProcess.start(0, [folder]);
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(parent, { recursive: true, force: true });
});

async function counted(page: Page, times: number): Promise<void> {
  await waitFor(
    `${times} times`,
    async () => (await page.locator("#message").textContent()) === `Counted ${times}`,
  );
}

/** Moves the focus forward by the keyboard until it is on this element. */
async function focusByTab(page: Page, selector: string): Promise<void> {
  await waitFor(`the focus on ${selector}`, async () => {
    await page.keyboard.press("Tab");
    return page.evaluate((wanted) => document.activeElement?.matches(wanted) === true, selector);
  });
}

it("each_key_of_an_action_triggers_it_and_a_moved_key_still_does_after_a_reload", async () => {
  const visitor = await Visitor.enter(browser, server, { name: "Ada", room: "keys" });
  const { page } = visitor;
  const intro = page.locator("#intro");
  await waitFor("the step", async () =>
    (await intro.textContent())?.includes("Count by 2 or F or the mouse button."),
  );
  await page.keyboard.press("Escape");
  await waitFor("no card", () => intro.isHidden());
  await waitFor("the keys in the bar", async () =>
    (await page.locator("#hints").textContent())?.includes("2 / F / Click Count"),
  );
  expect(await page.locator("#prompt").isVisible(), "a prompt of what is always possible").toBe(false);

  let times = 0;
  for (const key of ["Digit2", "Numpad2", "KeyF", "KeyX"]) {
    await page.keyboard.press(key);
    await counted(page, ++times);
  }
  await page.locator("canvas").first().click();
  await counted(page, ++times);

  // The keyboard alone opens the settings, and moves the action from F to G.
  await focusByTab(page, "#settings-open");
  await page.keyboard.press("Enter");
  await waitFor("the settings", () => page.locator("#settings").isVisible());
  await focusByTab(page, '[data-code="KeyF"]');
  const line = page.locator('#set-keys [data-code="KeyF"]');
  const status = page.locator("#set-keys-status");
  expect(await status.getAttribute("role")).toBe("status");
  expect(await line.getAttribute("aria-label")).toBe("Count: F");
  await page.keyboard.press("Enter");
  expect(await status.textContent()).toBe("Press the new key for “Count”. Escape keeps F.");
  await page.keyboard.press("Escape");
  expect(await line.textContent()).toBe("F");
  await page.keyboard.press("Enter");
  await page.keyboard.press("KeyG");
  expect(await status.textContent()).toBe("“Count” has the key G.");
  expect(await line.getAttribute("aria-label")).toBe("Count: G");
  expect(await line.evaluate((button) => button === document.activeElement)).toBe(true);

  // A question that loses the focus takes no key of the world.
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await waitFor("no settings", () => page.locator("#settings").isHidden());
  await page.keyboard.press("KeyF");
  await page.keyboard.press("KeyG");
  await counted(page, ++times);

  await page.reload();
  await visitor.isIn();
  await waitFor("the moved key in the step", async () =>
    (await intro.textContent())?.includes("Count by 2 or G or the mouse button."),
  );
  await page.keyboard.press("Escape");
  await page.keyboard.press("KeyG");
  await counted(page, ++times);
  expect(visitor.errors).toEqual([]);
  await visitor.leave();
});
