/**
 * The pictures of the sample worlds on the start page, each from a low camera that this file places. They go to
 * `target/screenshots/cards`; with NOWCAST_WRITE=1 into the worlds themselves, too: `NOWCAST_WRITE=1 npm run cards`.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser, Visitor } from "../browser/browser.js";
import { examine, poverty } from "../browser/picture.js";
import { type Stage, stage } from "./stage.js";

const STAGES: Readonly<Record<string, Stage>> = {
  playground: { at: [2.6, 1.5, 17], lookAt: [0.2, 1.8, 0] },
  football: { at: [-9.5, 1.5, 0], lookAt: [2, 1.2, -2.6] },
  "capture-the-flag": { at: [-15, 2, 3.6], lookAt: [-27, 1.9, -0.6] },
  "tower-defence": { at: [26.8, 3, 1], lookAt: [11, 1.9, -1.4] },
  "obstacle-race": { at: [1.8, 2, 7.2], lookAt: [-0.8, 0.6, -24] },
  party: { at: [5, 3.3, 19.6], lookAt: [-0.6, 2.2, -4] },
  gallery: { at: [0.8, 1.6, 17.6], lookAt: [-0.7, 2.1, 2] },
  shop: { at: [0.9, 1.8, 6.2], lookAt: [-1, 1.8, -6] },
  builders: { at: [5.2, 2, 13], lookAt: [0.6, 2.6, -7] },
  robots: { at: [-4.2, 1.8, 8.6], lookAt: [0.8, 1.9, -3] },
  asteroids: { at: [3.4, 2.4, 59], lookAt: [-1, 0.6, 40] },
  minimal: { at: [1.6, 1.3, 7.6], lookAt: [-1.4, 1, -3] },
};
const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
const CARDS = `${ROOT}/target/screenshots/cards`;
const IS_WRITING = process.env["NOWCAST_WRITE"] === "1";
const SIZE = { width: 480, height: 270 };
const [QUALITY_MAX, QUALITY_MIN] = [0.8, 0.2];
/** The first window of the start page shows six cards. */
const BYTES_MAX = 6_600;

let browser: Browser;
let server: ServerProcess;

beforeAll(async () => {
  mkdirSync(CARDS, { recursive: true });
  const folders = Object.keys(STAGES).map((world) => `${ROOT}/worlds/${world}`);
  server = await ServerProcess.start(0, ["--rooms-max", "64", "--rooms-per-address-max", "64", ...folders]);
  browser = await launchBrowser();
});

// A page that a failed test left open would slow down the others.
afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

it.each(Object.entries(STAGES))("a_card_of_%s", async (world, view) => {
  const visitor = await Visitor.enter(browser, server, {
    name: "Ada",
    room: `${world}-card`,
    path: `/r/${world}-card`,
    viewport: SIZE,
    isSharp: true,
  });
  const { page } = visitor;
  await waitFor("the own avatar", () =>
    page.evaluate(() => window.nowcast.viewer.controls.actor !== undefined),
  );
  const blank = await browser.newPage();
  const png = await waitFor("a picture", async () => {
    await stage(page, { ...view, pixelRatio: 2 });
    const picture = await page.screenshot();
    return poverty(await examine(blank, picture)) === undefined ? picture : undefined;
  });
  const webp = await asWebp(blank, png);
  await blank.close();
  expect(webp.length).toBeLessThan(BYTES_MAX);
  writeFileSync(`${CARDS}/${world}.webp`, webp);
  if (IS_WRITING) writeFileSync(`${ROOT}/worlds/${world}/assets/picture.webp`, webp);
  await visitor.leave();
});

/** The picture in the best quality that is small enough. */
async function asWebp(blank: Page, png: Buffer): Promise<Buffer> {
  const encoded = await blank.evaluate(
    async ([data, bytesMax, best, worst]) => {
      const image = new Image();
      image.src = `data:image/png;base64,${data}`;
      await image.decode();
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [400, 225];
      canvas.getContext("2d")!.drawImage(image, 0, 0, 400, 225);
      let webp = "";
      for (let quality = best; quality >= worst; quality -= 0.02) {
        webp = canvas.toDataURL("image/webp", quality).split(",")[1]!;
        if ((webp.length * 3) / 4 < bytesMax) break;
      }
      return webp;
    },
    [png.toString("base64"), BYTES_MAX, QUALITY_MAX, QUALITY_MIN] as const,
  );
  return Buffer.from(encoded, "base64");
}
