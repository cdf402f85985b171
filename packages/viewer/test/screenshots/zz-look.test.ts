import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { launchBrowser, Visitor } from "../browser/browser.js";

const ROOT = process.env["LOOK_ROOT"] ?? fileURLToPath(new URL("../../../..", import.meta.url));
const OUT = process.env["LOOK_OUT"] ?? "/tmp/worlds-look";
const SIZES = { d: [1280, 720], p: [390, 844], w: [844, 390] } as const;
const SHOTS = (process.env["LOOK"] ?? "football:p").split(",");
let browser: Browser;
let server: ServerProcess;
beforeAll(async () => {
  mkdirSync(OUT, { recursive: true });
  const worlds = [...new Set(SHOTS.map((s) => s.split(":")[0]!))];
  server = await ServerProcess.start(0, ["--rooms-max", "64", "--rooms-per-address-max", "64", ...worlds.map((w) => `${ROOT}/worlds/${w}`)]);
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
});
it.each(SHOTS)("%s", async (shot) => {
  const [world, size, light = "day", quality = "medium", wait = "2500"] = shot.split(":") as [string, "d" | "p" | "w", string, string, string];
  const [width, height] = SIZES[size];
  const visitor = await Visitor.enter(browser, server, { name: "Ada", room: `${world}-${size}-${light}`, viewport: { width, height }, hasTouch: size !== "d", isSharp: true });
  const { page } = visitor;
  await visitor.avatarId();
  await page.evaluate(([light, quality]) => {
    window.nowcast.viewer.intro.hide();
    window.nowcast.viewer.change({ light, quality } as never);
  }, [light, quality] as const);
  const place = process.env["LOOK_AT"];
  if (place) {
    await page.evaluate((rules) => { window.nowcast.viewer.controls.camera.setRules(rules as never); }, { mode: "fixed", seconds: 0, ...JSON.parse(place) });
  }
  await page.waitForTimeout(Number(wait));
  await page.screenshot({ path: `${OUT}/${world}-${size}-${light}-${quality}.jpg`, type: "jpeg", quality: 80 });
  await visitor.leave();
});
