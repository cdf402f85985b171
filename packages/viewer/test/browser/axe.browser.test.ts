/** The pages under the rules of axe-core, in every state that a visitor sees first. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { StudioVisitor } from "../../../studio/test/browser/studio-visitor.js";
import { launchBrowser, Visitor } from "./browser.js";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly target: readonly string[] }[];
}

let browser: Browser;
let server: ServerProcess;

beforeAll(async () => {
  const root = new URL("../../../..", import.meta.url).pathname;
  server = await ServerProcess.start(0, [`${root}/worlds/football`, `${root}/worlds/builders`]);
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

/** The violations in the page, as `impact rule: elements`. */
async function violations(page: Page): Promise<string[]> {
  // Elements that fade in have too little contrast for a moment.
  await waitFor("the page to be still", () =>
    page.evaluate(() => document.getAnimations().every(({ playState }) => playState !== "running")),
  );
  // The policy of the page forbids inline scripts, but not scripts of the browser's own tools.
  await page.evaluate(AXE);
  const { found, passed } = await page.evaluate(async () => {
    const { axe } = window as unknown as {
      axe: { run(): Promise<{ violations: Violation[]; passes: unknown[] }> };
    };
    const { violations, passes } = await axe.run();
    return { found: violations, passed: passes.length };
  });
  expect(passed).toBeGreaterThan(10);
  return found.map(
    ({ id, impact, nodes }) => `${impact} ${id}: ${nodes.map(({ target }) => target).join(", ")}`,
  );
}

describe.each([
  ["a desktop", { viewport: { width: 1280, height: 720 } }],
  ["a phone", { viewport: { width: 390, height: 844 }, hasTouch: true }],
])("axe finds no violation on %s", (device, options) => {
  it("on_the_start_page_and_in_the_settings", async () => {
    const visitor = await Visitor.knock(browser, server, {
      name: "Ada",
      room: "",
      path: "/",
      atStart: true,
      ...options,
    });
    const { page } = visitor;
    await waitFor("the worlds", async () => (await page.locator("#worlds li").count()) === 2);
    expect(await violations(page)).toEqual([]);
    await page.locator("#outfit-open").click();
    expect(await violations(page)).toEqual([]);
    await visitor.leave();
  });

  it.each(["football", "builders"])("in_the_world_%s", async (world) => {
    const visitor = await Visitor.enter(browser, server, {
      name: "Ada",
      room: `${world}-${device.slice(2)}`,
      ...options,
    });
    const { page } = visitor;
    await waitFor("the card", () => page.locator("#intro").isVisible());
    expect(await violations(page)).toEqual([]);
    await page.locator("#intro-close").click();
    await page.locator("#place").click();
    await page.locator("#chat-input").waitFor({ state: "attached" });
    await page.evaluate(() => window.nowcast.world!.chat("hello"));
    await page.locator("#chat-log li").last().waitFor({ state: "attached" });
    expect(await violations(page)).toEqual([]);
    await page.locator("#settings-open").click();
    expect(await violations(page)).toEqual([]);
    await visitor.leave();
  });
});

describe("axe finds no violation in the studio", () => {
  let player: Visitor;

  beforeAll(async () => {
    player = await Visitor.enter(browser, server, { name: "Ada", room: "football" });
  });

  afterAll(() => player?.leave());

  it.each([
    ["world", ".list-row"],
    ["code", ".cm-line"],
    ["time", "button"],
    ["step", ".flame-row"],
    ["clients", "td"],
    ["events", ".log"],
    ["net", "[data-figure]"],
  ])("in_the_tab_%s", async (tab, content) => {
    const visitor = await StudioVisitor.open(browser, `${server.url}/studio/`, { tab, room: "football" });
    await visitor.page.locator(`#panel-${tab} ${content}`).first().waitFor();
    expect(await violations(visitor.page)).toEqual([]);
    await visitor.leave();
  });
});
