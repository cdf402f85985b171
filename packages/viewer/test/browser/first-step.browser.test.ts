/**
 * The first minute of a visitor, from the program's own files: bytes and requests, which have limits here, and times, which are
 * printed only. `npm run first-step` prints both.
 */
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { drawCoarsely, launchBrowser } from "./browser.js";

const BYTES_MAX = 350_000;
const REQUESTS_MAX = 15;

const DESKTOP = { viewport: { width: 1280, height: 720 } };
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
/** A phone's processor, as a share of this machine's, and a link of 9 Mbit/s with a round trip of 85 ms. */
const PHONE_SLOWER = 4;
const PHONE_LINK = { offline: false, latency: 85, downloadThroughput: 1_125_000, uploadThroughput: 187_500 };

/** Moments of a page, in milliseconds since the browser asked for it. */
interface Moments {
  /** The first text or picture. */
  text?: number;
  /** The first frame with the garden behind the start page. */
  garden?: number;
  enter?: number;
  /** The first frame in which a pressed key has moved the own avatar. */
  step?: number;
}

let browser: Browser;
let server: ServerProcess;

beforeAll(async () => {
  browser = await launchBrowser();
  server = await ServerProcess.start();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

async function openContext(options: BrowserContextOptions): Promise<BrowserContext> {
  const context = await browser.newContext(options);
  await drawCoarsely(context);
  await context.addInitScript(watch);
  return context;
}

/** Notes the moments, and walks as soon as there is an avatar. Runs in the page. */
function watch(): void {
  const moments: Moments = {};
  Object.assign(window, { moments });
  new PerformanceObserver((list) => {
    for (const { name, startTime } of list.getEntries())
      if (name === "first-contentful-paint") moments.text = startTime;
  }).observe({ type: "paint", buffered: true });
  addEventListener("submit", ({ timeStamp }) => Object.assign(moments, { enter: timeStamp }), true);
  let start: { x: number; z: number } | undefined;
  const look = (now: number): void => {
    if (moments.step === undefined) requestAnimationFrame(look);
    const { viewer } = (window as Partial<Window>).nowcast ?? {};
    if (!viewer) return;
    if (viewer.stage.renderer.info.render.triangles > 2_000) moments.garden ??= now;
    const id = viewer.controls.actor && viewer.view?.world.avatarId;
    const pose = { position: { x: 0, y: 0, z: 0 }, quaternion: { x: 0, y: 0, z: 0, w: 1 } };
    if (id === undefined || !viewer.view?.world.pose(id, pose)) return;
    if (!start) {
      start = { ...pose.position };
      dispatchEvent(new KeyboardEvent("keydown", { code: "KeyW", key: "w" }));
    } else if (Math.hypot(pose.position.x - start.x, pose.position.z - start.z) > 0.001) moments.step = now;
  };
  requestAnimationFrame(look);
}

function momentsOf(page: Page): Promise<Moments> {
  return page.evaluate(() => (window as unknown as { moments: Moments }).moments);
}

/** A path, and the bytes of the answer with its headers. */
type Load = readonly [string, number];

/** Counts what a page loads over the network. */
async function countLoads(page: Page): Promise<{ readonly files: Load[]; isIdle(): boolean }> {
  const client = await page.context().newCDPSession(page);
  const files: Load[] = [];
  const open = new Map<string, string>();
  client.on("Network.requestWillBeSent", ({ requestId, request }) => {
    if (request.url.startsWith("http")) open.set(requestId, new URL(request.url).pathname);
  });
  client.on("Network.requestServedFromCache", ({ requestId }) => open.delete(requestId));
  client.on("Network.loadingFailed", ({ requestId }) => open.delete(requestId));
  client.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    const path = open.get(requestId);
    if (path === undefined) return;
    open.delete(requestId);
    files.push([path, encodedDataLength]);
  });
  await client.send("Network.enable");
  return { files, isIdle: () => open.size === 0 };
}

function expectFew(what: string, files: readonly Load[]): void {
  const bytes = files.reduce((sum, [, size]) => sum + size, 0);
  console.log(`${what}: ${(bytes / 1_000).toFixed(1)} kB in ${files.length} requests`);
  for (const [path, size] of files) console.log(`  ${(size / 1_000).toFixed(1).padStart(6)} kB  ${path}`);
  expect(files.length).toBeGreaterThan(3);
  expect(files.length).toBeLessThanOrEqual(REQUESTS_MAX);
  expect(bytes).toBeLessThanOrEqual(BYTES_MAX);
}

it("the_start_page_needs_few_bytes_and_requests", async () => {
  const context = await openContext(DESKTOP);
  const page = await context.newPage();
  const loads = await countLoads(page);
  await page.goto(server.url);
  await waitFor("the garden", async () => (await momentsOf(page)).garden !== undefined);
  await waitFor("the pictures in sight", () =>
    page.evaluate(() => {
      const pictures = [...document.querySelectorAll<HTMLImageElement>("#worlds img")];
      const inSight = pictures.filter(({ src }) => src !== "");
      return inSight.length > 0 && inSight.every(({ complete }) => complete);
    }),
  );
  await waitFor("the end of loading", () => loads.isIdle());
  expectFew("start page", loads.files);
  await context.close();
});

it("a_world_needs_few_bytes_and_requests", async () => {
  const context = await openContext(DESKTOP);
  const page = await context.newPage();
  const loads = await countLoads(page);
  await page.goto(`${server.url}/r/playground-loads?enter=1&name=Ada`);
  await waitFor("a step", async () => (await momentsOf(page)).step !== undefined);
  await waitFor("the end of loading", () => loads.isIdle());
  expectFew("a world", loads.files);
  await context.close();
});

/** Opens the start page and enters. Prints the times from the request to the first picture, and from Enter to the first step. */
async function visit(what: string, page: Page): Promise<void> {
  await page.goto(server.url);
  await waitFor("the start page", () => page.locator("#start.ready").isVisible());
  await waitFor("the garden", async () => (await momentsOf(page)).garden !== undefined);
  await page.locator("#enter").click();
  await waitFor("a step", async () => (await momentsOf(page)).step !== undefined, 120_000);
  const { text, garden, enter, step } = await momentsOf(page);
  const [first, picture, own] = [text!, garden!, step! - enter!].map((ms) => `${ms.toFixed(0)} ms`);
  console.log(`${what}: first text ${first}, first picture ${picture}, Enter to the first step ${own}`);
  expect(step).toBeGreaterThan(enter!);
}

it("a_visitor_takes_a_first_step_on_a_desktop_and_again", async () => {
  const context = await openContext(DESKTOP);
  for (const what of ["cold", "warm"]) {
    const page = await context.newPage();
    await visit(`desktop, ${what}`, page);
    await page.close();
  }
  await context.close();
});

it("a_visitor_takes_a_first_step_on_a_phone", async () => {
  const context = await openContext(PHONE);
  for (const what of ["cold", "warm"]) {
    const page = await context.newPage();
    const client = await context.newCDPSession(page);
    await client.send("Network.enable");
    await client.send("Network.emulateNetworkConditions", PHONE_LINK);
    await client.send("Emulation.setCPUThrottlingRate", { rate: PHONE_SLOWER });
    await visit(`phone, ${what}`, page);
    await page.close();
  }
  await context.close();
});
