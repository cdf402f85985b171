/** The built site in a browser: pages, the search, the playable lab and the animation, on a desktop and on a phone. */
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser } from "../../../viewer/test/browser/browser.js";

const DIST = fileURLToPath(new URL("../../dist", import.meta.url));
const SCREENSHOTS = fileURLToPath(new URL("../../../../target/screenshots", import.meta.url));
const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".woff2": "font/woff2",
  ".txt": "text/plain",
};
const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 844 };

let browser: Browser;
let server: Server;
let address: string;
/** Requests to other hosts, and errors of pages. */
const problems: string[] = [];

beforeAll(async () => {
  if (!existsSync(join(DIST, "index.html"))) {
    throw new Error("the site is not built: run `npm run build --workspace @nowcast/site`");
  }
  mkdirSync(SCREENSHOTS, { recursive: true });
  server = createServer((request, response) => {
    const { pathname } = new URL(request.url!, "http://localhost");
    const file = join(DIST, pathname.endsWith("/") ? `${pathname}index.html` : pathname);
    if (!existsSync(file)) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "application/octet-stream" });
    response.end(readFileSync(file));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  server?.close();
});

async function open(path: string, viewport = DESKTOP): Promise<Page> {
  const page = await browser.newPage({ viewport });
  page.on("pageerror", (error) => problems.push(`${path}: ${error.message}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(address) && !request.url().startsWith("data:"))
      problems.push(request.url());
  });
  page.on("response", (response) => {
    if (response.status() >= 400) problems.push(`${response.status()} ${response.url()}`);
  });
  await page.goto(`${address}/${path}`);
  return page;
}

/** Whether a page is wider than its window, so that a reader would have to scroll sideways. */
function overflows(page: Page): Promise<boolean> {
  return page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth + 1);
}

const PAGES = [
  "index.html",
  "tutorials/first-world.html",
  "how-to/migrate.html",
  "concepts/updatable-queue.html",
  "reference/errors.html",
];

describe("the site", () => {
  it.each(PAGES)("shows_%s_on_a_desktop_and_a_phone", async (path) => {
    for (const [name, viewport] of [["desktop", DESKTOP] as const, ["phone", PHONE] as const]) {
      const page = await open(path, viewport);
      await page.locator(".vp-doc h1").waitFor();
      expect(await overflows(page)).toBe(false);
      const file = path.replace(/\//g, "-").replace(".html", "");
      await page.screenshot({ path: `${SCREENSHOTS}/site-${file}-${name}.png` });
      await page.close();
    }
    expect(problems).toEqual([]);
  });

  it("begins_with_two_buttons_and_a_picture", async () => {
    const page = await open("index.html", PHONE);
    const buttons = page.locator(".vp-doc h1 + p + p a");
    expect(await buttons.allTextContents()).toEqual(["Install Nowcast", "Make your first world"]);
    for (const button of await buttons.all())
      expect((await button.boundingBox())!.height).toBeGreaterThanOrEqual(40);
    expect(await page.locator(".vp-doc img").first().isVisible()).toBe(true);
    await page.close();
  });

  it("nests_no_button_in_another_one", async () => {
    const page = await open("index.html");
    await page.locator(".VPSidebar").waitFor();
    expect(await page.locator(".VPSidebar .item").count()).toBeGreaterThan(20);
    expect(await page.locator(".VPSidebar [role=button] :is(a, button, [role=button])").count()).toBe(0);
    await page.close();
  });

  it("loads_no_page_that_the_visitor_has_not_opened", async () => {
    const page = await open("index.html");
    const scripts = () =>
      page.evaluate(() =>
        performance
          .getEntriesByType("resource")
          .map(({ name }) => new URL(name).pathname)
          .filter((path) => /\.md\.[^/]*\.js$/.test(path)),
      );
    const link = page.locator('.vp-doc a[href$=".html"]').last();
    await link.scrollIntoViewIfNeeded();
    await page.waitForLoadState("networkidle");
    const own = await scripts();
    expect(own.length).toBeGreaterThan(0);
    expect(own.filter((path) => !path.includes("/index.md."))).toEqual([]);
    await link.click();
    await waitFor("the script of the opened page", async () => (await scripts()).length > own.length);
    await page.close();
  });

  it("switches_all_examples_to_the_language_chosen_in_one", async () => {
    const page = await open("how-to/bodies.html");
    const shown = page.locator(".vp-code-group .language-typescript:visible");
    expect(await shown.count()).toBe(0);
    await page.locator(".vp-code-group label", { hasText: "TypeScript" }).nth(1).click();
    const groups = await page.locator(".vp-code-group").count();
    expect(groups).toBeGreaterThan(3);
    await waitFor("all examples in TypeScript", async () => (await shown.count()) === groups);
    await page.close();
  });

  it("finds_pages_by_the_words_in_them_without_another_server", async () => {
    const page = await open("index.html");
    await page.locator(".DocSearch-Button").click();
    await page.locator("#localsearch-input").fill("durable action");
    await page.locator("#localsearch-list li a").first().waitFor();
    const found = await page
      .locator("#localsearch-list li a")
      .evaluateAll((links) => links.map((link) => (link as HTMLAnchorElement).href));
    expect(found.some((link) => link.includes("durability") || link.includes("worlds"))).toBe(true);
    await page.close();
    expect(problems).toEqual([]);
  });
});

describe("the playable lab", () => {
  it.each([
    ["desktop", DESKTOP],
    ["phone", PHONE],
  ] as const)("runs_on_a_%s_and_follows_its_sliders", async (name, viewport) => {
    const page = await open("lab.html", viewport);
    await page.locator(".lab-panel").first().waitFor();
    expect(await page.locator(".lab-panel").count()).toBe(3);
    const lossOf = () => page.evaluate(() => window.nowcastLab!.lab.settings.loss);
    expect(await lossOf()).toBe(0.02);
    const slider = page.locator('input[data-name="loss"]');
    await slider.focus();
    await page.keyboard.press("ArrowRight");
    expect(await lossOf()).toBe(0.03);
    await page.getByRole("button", { name: "Narrow link" }).click();
    // The lab's own time passes only while frames are drawn.
    const figures = await waitFor("the queue to be fresher than the others", async () => {
      const ages = await page.evaluate(() =>
        window.nowcastLab!.lab.contestants.map(({ receiver }) => receiver.ages.quantileMs(0.99) ?? 0),
      );
      const [tcp, datagrams, queue] = ages as [number, number, number];
      return queue > 0 && tcp > 3 * queue && datagrams > 2 * queue && ages;
    });
    console.log(`${name}: ages, p99: ${figures.map((ms) => ms.toFixed(0)).join(", ")} ms`);
    await page.locator(".lab").evaluate((lab) => lab.scrollIntoView());
    expect(await overflows(page)).toBe(false);
    await page.screenshot({ path: `${SCREENSHOTS}/site-lab-${name}.png`, fullPage: name === "phone" });
    await page.getByRole("button", { name: "Pause" }).click();
    const timeOf = () => page.evaluate(() => window.nowcastLab!.lab.timeline.nowUs);
    expect(await timeOf()).toBe(await timeOf());
    await page.close();
    expect(problems).toEqual([]);
  });
});

describe("the animation of the queue", () => {
  it("replaces_states_and_keeps_events", async () => {
    const page = await open("concepts/updatable-queue.html");
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("button", { name: "Empty" }).click();
    for (const name of ["Put state A", "Put state B", "Put state A", "Put event", "Put state A"]) {
      await page.getByRole("button", { name }).click();
    }
    const rows = page.locator(".queue-row");
    const lengths = await Promise.all([0, 1].map((row) => rows.nth(row).locator(".queue-entry").count()));
    expect(lengths).toEqual([5, 4]);
    await page.locator(".queue-animation").screenshot({ path: `${SCREENSHOTS}/site-queue.png` });
    await page.close();
  });
});
