/** The board of the gallery: a mouse, a finger and the keyboard draw on it. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser, Visitor, type VisitorOptions } from "./browser.js";

const GALLERY = fileURLToPath(new URL("../../../../worlds/gallery", import.meta.url));
const ENTRANCE = "vector.create((player.id % 5 - 2) * 1.2, 1, 16)";

let folder: string;
let browser: Browser;
let server: ServerProcess;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "nowcast-board-"));
  const world = join(folder, "gallery");
  cpSync(GALLERY, world, { recursive: true });
  const rules = join(world, "world.luau");
  const text = readFileSync(rules, "utf8");
  expect(text).toContain(ENTRANCE);
  // Visitors begin in front of the board, which is at z = -12.8.
  writeFileSync(rules, text.replace(ENTRANCE, "vector.create(-0.5, 1, -10.4)"));
  server = await ServerProcess.start(0, ["--rooms-per-address-max", "64", world]);
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
  if (folder) rmSync(folder, { recursive: true });
});

/** Number of tiles that are not white any more. */
function drawn(page: Page): Promise<number> {
  return page.evaluate(() => {
    const tiles = [...window.nowcast.world!.entities.values()].filter(({ kind }) => kind.name === "tile");
    return tiles.filter(({ attributes }) => attributes["color"] !== "#f7f5ef").length;
  });
}

/** A visitor in front of the board, with all tiles in view and the card closed. */
async function enter(room: string, options: Partial<VisitorOptions> = {}): Promise<Visitor> {
  const visitor = await Visitor.enter(browser, server, { name: "Ada", room, ...options });
  const { page } = visitor;
  await waitFor("the card", () => page.locator("#intro").isVisible());
  await page.evaluate(() => window.nowcast.viewer.hud.intro.hide());
  await waitFor("an offer", () =>
    page.evaluate(() => window.nowcast.viewer.controls.actions.offered.length > 0),
  );
  return visitor;
}

it("dragging_the_mouse_over_the_board_draws_a_line", async () => {
  const visitor = await enter("gallery-mouse");
  const { page } = visitor;
  const { mouse } = page;
  await mouse.move(330, 170);
  await waitFor("a tile under the mouse", () =>
    page.evaluate(() =>
      window.nowcast.viewer.controls.actions.offered.some(({ action }) => action === "draw"),
    ),
  );
  const yaw = await page.evaluate(() => window.nowcast.viewer.controls.camera.yaw);
  await mouse.down();
  await waitFor("the first tile", async () => (await drawn(page)) > 0);
  for (let x = 340; x <= 470; x += 10) {
    await mouse.move(x, 170);
    await page.evaluate(() => new Promise(requestAnimationFrame));
  }
  await waitFor("a line", async () => (await drawn(page)) > 2);
  await mouse.up();
  expect(await page.evaluate(() => window.nowcast.viewer.controls.camera.yaw), "drawing does not turn").toBe(
    yaw,
  );
  expect(visitor.errors).toEqual([]);
  await visitor.leave();
});

it("a_finger_on_the_board_draws_and_a_finger_beside_it_looks", async () => {
  const visitor = await enter("gallery-finger", { hasTouch: true });
  const { page } = visitor;
  const touch = await page.context().newCDPSession(page);
  const send = (type: "touchStart" | "touchMove" | "touchEnd", x = 0, y = 0) =>
    touch.send("Input.dispatchTouchEvent", { type, touchPoints: type === "touchEnd" ? [] : [{ x, y }] });
  const frame = () => page.evaluate(() => new Promise(requestAnimationFrame));
  await send("touchStart", 420, 170);
  await waitFor("the first tile", async () => (await drawn(page)) > 0);
  for (let x = 430; x <= 560; x += 10) {
    await send("touchMove", x, 170);
    await frame();
  }
  await waitFor("a line", async () => (await drawn(page)) > 2);
  await send("touchEnd");
  const look = () => page.evaluate(() => window.nowcast.viewer.controls.camera.yaw);
  const turn = async (from: number, to: number) => {
    const yaw = await look();
    for (let x = from; x <= to; x += 10) {
      await send("touchMove", x, 480);
      await frame();
    }
    await waitFor("a turn", async () => (await look()) !== yaw);
  };
  // The lower edge of the picture shows the floor. The last tile of the first finger may arrive during the first turn.
  await send("touchStart", 600, 480);
  await turn(610, 690);
  const before = await drawn(page);
  await turn(700, 780);
  await send("touchEnd");
  expect(await drawn(page)).toBe(before);
  expect(visitor.errors).toEqual([]);
  await visitor.leave();
});

it("the_keyboard_alone_turns_looks_up_and_draws", async () => {
  const visitor = await enter("gallery-keys");
  const { page } = visitor;
  const look = () =>
    page.evaluate(() => {
      const { yaw, pitch } = window.nowcast.viewer.controls.camera;
      return { yaw, pitch };
    });
  const before = await look();
  // The world has Q, R, X and C, so that other keys turn and draw.
  await page.keyboard.down("Comma");
  await waitFor("a turn to the left", async () => (await look()).yaw > before.yaw + 0.05);
  await page.keyboard.up("Comma");
  await page.keyboard.down("Period");
  await waitFor("a turn back", async () => (await look()).yaw <= before.yaw + 0.02);
  await page.keyboard.up("Period");
  await page.keyboard.down("PageUp");
  await waitFor("a look up", async () => (await look()).pitch < before.pitch - 0.05);
  await page.keyboard.up("PageUp");
  await waitFor("a tile ahead", () =>
    page.evaluate(() =>
      window.nowcast.viewer.controls.actions.offered.some(({ action }) => action === "draw"),
    ),
  );
  await page.keyboard.press("KeyV");
  await waitFor("a tile", async () => (await drawn(page)) > 0);
  expect(visitor.errors).toEqual([]);
  await visitor.leave();
});
