/** A world with rules of its own: two people play football, and both pages show what the rules write. */
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser, Visitor } from "./browser.js";

const SCREENSHOTS = fileURLToPath(new URL("../../../../target/screenshots", import.meta.url));

let browser: Browser;
let server: ServerProcess;

beforeAll(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  server = await ServerProcess.start();
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

const text = (visitor: Visitor, id: string): Promise<string> =>
  visitor.page
    .locator(`#${id}`)
    .textContent()
    .then((found) => found ?? "");

/** The goals of both teams, as the page shows them: `Blue 0 Red 1` in whatever case. */
async function goals(visitor: Visitor): Promise<number> {
  const numbers = (await text(visitor, "score")).match(/\d+/g) ?? [];
  return numbers.reduce((sum, goal) => sum + Number(goal), 0);
}

/**
 * Runs in a page: turns the camera to where one should go next, so that the ball lies between oneself and the other goal,
 * and says whether it is there now.
 */
function lineUp(): boolean {
  const { world, viewer } = window.nowcast;
  const own = world!.entities.get(world!.avatarId!);
  const ball = [...world!.entities.values()].find((entity) => entity.kind.name === "ball");
  if (!own || !ball) return false;
  const goalX = own.attributes["team"] === "red" ? 21 : -21;
  const [ballX, , ballZ] = ball.position;
  const length = Math.hypot(goalX - ballX, ballZ);
  const [towardX, towardZ] = [(goalX - ballX) / length, -ballZ / length];
  const [x, , z] = own.position;
  const [behindX, behindZ] = [ballX - towardX * 0.9 - x, ballZ - towardZ * 0.9 - z];
  // How far beside the line to the goal, and how far from the ball.
  const beside = Math.abs((ballX - x) * towardZ - (ballZ - z) * towardX);
  const isBehind = (ballX - x) * towardX + (ballZ - z) * towardZ > 0.3;
  const isReady = isBehind && beside < 0.25 && Math.hypot(ballX - x, ballZ - z) < 1.4;
  const [aheadX, aheadZ] = isReady ? [towardX, towardZ] : [behindX, behindZ];
  viewer.camera.yaw = Math.atan2(-aheadX, -aheadZ);
  return isReady;
}

it("counts a goal in both pages", async () => {
  const ada = await Visitor.enter(browser, server, { name: "Ada", room: "football" });
  expect(await text(ada, "screen-list")).toMatch(/phase\s*waiting/i);
  const ben = await Visitor.enter(browser, server, { name: "Ben", room: "football" });
  for (const visitor of [ada, ben]) {
    await waitFor("the match to begin", async () =>
      /phase\s*playing/i.test(await text(visitor, "screen-list")),
    );
    expect(await text(visitor, "clock")).toMatch(/^\d:\d\d$/);
  }
  expect(await goals(ben)).toBe(0);

  const { keyboard } = ada.page;
  await keyboard.down("KeyW");
  await waitFor(
    "a goal",
    async () => {
      if (await ada.page.evaluate(lineUp)) {
        await ada.page.evaluate(() => window.nowcast.world!.act("kick", { power: 1 }));
      }
      return (await goals(ada)) > 0;
    },
    180_000,
  );
  await keyboard.up("KeyW");
  await waitFor("the goal in Ben's page", async () => (await goals(ben)) > 0);
  expect(await text(ben, "score")).toBe(await text(ada, "score"));
  await ada.page.screenshot({ path: `${SCREENSHOTS}/football-ada.png` });
  await ben.page.screenshot({ path: `${SCREENSHOTS}/football-ben.png` });
  for (const visitor of [ada, ben]) {
    expect(visitor.errors).toEqual([]);
    await visitor.leave();
  }
});

it("is listed on the start page, and entered from there", async () => {
  const visitor = await Visitor.knock(browser, server, { name: "Ada", room: "lobby", atStart: true });
  await visitor.page.locator('[data-world="football"]').click();
  await visitor.isIn();
  expect(new URL(visitor.page.url()).pathname).toBe("/r/football");
  await waitFor("the score", () => visitor.page.locator("#score").isVisible());
  expect(visitor.errors).toEqual([]);
  await visitor.leave();
});
