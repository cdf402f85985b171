/**
 * The pictures of the sample worlds on the start page, each from a low camera that this file places. They go to
 * `target/screenshots/cards`; with NOWCAST_WRITE=1 into the worlds themselves, too: `NOWCAST_WRITE=1 npm run cards`.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser, Visitor } from "../browser/browser.js";
import { examine, poverty } from "../browser/picture.js";

type Place = readonly [number, number, number];

/** A staged picture: where the camera stands and what it looks at. */
interface Stage {
  readonly at: Place;
  readonly lookAt: Place;
  readonly fov?: number;
}

const STAGES: Readonly<Record<string, Stage>> = {
  playground: { at: [2.6, 1.5, 17], lookAt: [0.2, 1.8, 0] },
  football: { at: [-9.5, 1.5, 0], lookAt: [2, 1.2, -2.6] },
  "capture-the-flag": { at: [-30, 1.7, 6.5], lookAt: [-20, 1.4, -2] },
  "tower-defence": { at: [13.4, 2.2, 13.8], lookAt: [19, 1.4, 2] },
  "obstacle-race": { at: [4.6, 2.6, 8], lookAt: [-1, 0.6, -24] },
  party: { at: [7.5, 1.8, 9], lookAt: [-2, 0.8, -4] },
  gallery: { at: [6.5, 1.6, 20], lookAt: [-1.5, 2.2, 2] },
  shop: { at: [3.2, 1.5, 3.4], lookAt: [-1.4, 1.5, -6] },
  builders: { at: [3, 1.9, 5], lookAt: [-7, 1.6, -7] },
  robots: { at: [-5.4, 1.7, 6.4], lookAt: [1, 1.4, -3] },
  asteroids: { at: [3.4, 2.4, 59], lookAt: [-1, 0.6, 40] },
  minimal: { at: [3.6, 1.1, 6.4], lookAt: [-1, 0.9, -4] },
};
const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
const CARDS = `${ROOT}/target/screenshots/cards`;
const IS_WRITING = process.env["NOWCAST_WRITE"] === "1";
const SIZE = { width: 480, height: 270 };
const QUALITY = 84;
/** A start page with twelve cards stays small. */
const BYTES_MAX = 26_000;

let browser: Browser;
let server: ServerProcess;

beforeAll(async () => {
  mkdirSync(CARDS, { recursive: true });
  const folders = Object.keys(STAGES).map((world) => `${ROOT}/worlds/${world}`);
  server = await ServerProcess.start(0, ["--rooms-max", "64", "--rooms-per-address-max", "64", ...folders]);
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

it.each(Object.entries(STAGES))("a_card_of_%s", async (world, { at, lookAt, fov = 46 }) => {
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
  const png = await waitFor("a picture", async () => {
    await page.evaluate(
      async ({ at, lookAt, fov }) => {
        const { viewer } = window.nowcast;
        viewer.change({ quality: "medium", light: "day" });
        for (const id of ["hud", "labels"]) document.getElementById(id)!.style.visibility = "hidden";
        // The frame of the focus belongs to the keyboard.
        viewer.stage.canvas.blur();
        viewer.stage.setPixelRatio(2);
        const rules = { mode: "fixed", at, lookAt, fov, seconds: 0, rail: undefined, on: undefined };
        viewer.controls.camera.setRules({
          ...rules,
          distance: undefined,
          min: undefined,
          max: undefined,
        } as never);
        for (let frame = 0; frame < 6; frame++) await new Promise(requestAnimationFrame);
      },
      { at, lookAt, fov },
    );
    const blank = await browser.newPage();
    const picture = await page.screenshot();
    const fault = poverty(await examine(blank, picture));
    await blank.close();
    return fault === undefined ? picture : undefined;
  });
  writeFileSync(`${CARDS}/${world}.png`, png);
  const jpeg = await page.screenshot({ type: "jpeg", quality: QUALITY });
  expect(jpeg.length).toBeLessThan(BYTES_MAX);
  writeFileSync(`${CARDS}/${world}.jpg`, jpeg);
  if (IS_WRITING) writeFileSync(`${ROOT}/worlds/${world}/assets/picture.jpg`, jpeg);
  await visitor.leave();
});
