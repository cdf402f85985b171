/** The example of an own page: built from the published packages, and opened with a real server. */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { build, type PreviewServer, preview } from "vite";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser } from "../../../viewer/test/browser/browser.js";

const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
const PAGE = join(ROOT, "examples/page");
const BUILT = join(ROOT, "target/example-page");
const SCREENSHOTS = join(ROOT, "target/screenshots");

let server: ServerProcess;
let pages: PreviewServer;
let browser: Browser;

beforeAll(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  server = await ServerProcess.start();
  process.env["NOWCAST_SERVER"] = server.url;
  await build({ root: PAGE, logLevel: "error", build: { outDir: BUILT, emptyOutDir: true } });
  pages = await preview({
    root: PAGE,
    logLevel: "error",
    build: { outDir: BUILT },
    preview: { port: 0, host: "127.0.0.1" },
  });
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await pages?.close();
  await server?.stop();
});

it("joins a world, draws it, and walks", async () => {
  const page = await browser.newPage({ viewport: { width: 640, height: 400 } });
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(`${pages.resolvedUrls!.local[0]}?room=playground-page`);
  const players = async (): Promise<number> =>
    ((await (await fetch(`${server.url}/api/rooms`)).text()).match(/playground-page/g) ?? []).length;
  await waitFor("a player in the room", async () => (await players()) > 0);
  const size = async (): Promise<number> => (await page.screenshot()).length;
  const empty = await size();
  await waitFor(
    "a world in the picture",
    async () => (await size()) > empty + 10_000 || (await size()) > 40_000,
  );
  await page.screenshot({ path: join(SCREENSHOTS, "page.png") });
  const still = await page.screenshot();
  await page.keyboard.down("KeyW");
  await waitFor("another picture", async () => !still.equals(await page.screenshot()));
  await page.keyboard.up("KeyW");
  expect(errors).toEqual([]);
});

it("is the example of the package's front page, in at most 45 lines", () => {
  const example = readFileSync(join(PAGE, "page.ts"), "utf8");
  const readme = readFileSync(join(ROOT, "packages/three/README.md"), "utf8");
  expect(/```ts\n(.*?)```/s.exec(readme)![1]).toBe(example);
  // A camera that reads a pose before the view samples the frame shows the avatar's position of the previous frame.
  expect(example.indexOf("view.sample(")).toBeGreaterThan(0);
  expect(example.indexOf("view.sample(")).toBeLessThan(example.indexOf("view.pose("));
  expect(example.trimEnd().split("\n").length).toBeLessThanOrEqual(45);
});
