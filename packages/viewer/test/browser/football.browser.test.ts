/** A world with its own rules: two players play football, and both pages show the rules' texts. */
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

/** The goals of both teams on the page: `Blue 0 Red 1` in any case. */
async function goals(visitor: Visitor): Promise<number> {
  const numbers = (await text(visitor, "score")).match(/\d+/g) ?? [];
  return numbers.reduce((sum, goal) => sum + Number(goal), 0);
}

/**
 * Runs in a page: walks to the ball from behind, turns to the other goal, and kicks in the facing direction. If a wall
 * is in the way, it kicks from its position.
 */
function play(): void {
  const { world, viewer } = window.nowcast;
  let nearSinceMs: number | undefined;
  setInterval(() => {
    const nowMs = performance.now();
    const own = world!.entities.get(world!.avatarId!);
    const ball = [...world!.entities.values()].find((entity) => entity.kind.name === "ball");
    if (!own || !ball) return;
    const goalX = own.attributes["team"] === "red" ? 21 : -21;
    const length = Math.hypot(goalX - ball.position[0], ball.position[2]);
    const [towardX, towardZ] = [(goalX - ball.position[0]) / length, -ball.position[2] / length];
    const [x, z] = [ball.position[0] - own.position[0], ball.position[2] - own.position[2]];
    const along = x * towardX + z * towardZ;
    const side = Math.sign(x * towardZ - z * towardX) || 1;
    if (Math.hypot(x, z) > 1.45) nearSinceMs = undefined;
    else nearSinceMs ??= nowMs;
    const nearMs = nearSinceMs === undefined ? 0 : nowMs - nearSinceMs;
    const isReady = nearMs > 0 && (along > 0.2 || nearMs > 2000);
    // Walks around the ball on the nearer side, because a walk through the ball would push it toward the own
    // goal.
    const around = along < 0.2 ? -side : 0;
    const [behindX, behindZ] = [x - 0.8 * towardX + towardZ * around, z - 0.8 * towardZ - towardX * around];
    const [aheadX, aheadZ] = isReady ? [towardX, towardZ] : [behindX, behindZ];
    const metres = Math.hypot(behindX, behindZ);
    viewer.controls.camera.yaw = Math.atan2(-aheadX, -aheadZ);
    viewer.controls.inputs.touch.forward = isReady ? 0 : Math.min(1, Math.max(0.2, metres / 2));
    viewer.controls.inputs.touch.run = metres > 5;
    // After this time the server has received the turn.
    if (!isReady || nearMs < 700) return;
    nearSinceMs = nowMs;
    world!.act("kick", { power: 1 });
  }, 40);
}

it("counts a goal in both pages", async () => {
  const ada = await Visitor.enter(browser, server, { name: "Ada", room: "football" });
  await waitFor("the screen of the rules", async () =>
    /score in the blue goal/i.test(await text(ada, "world-prompt")),
  );
  const ben = await Visitor.enter(browser, server, { name: "Ben", room: "football" });
  for (const visitor of [ada, ben]) {
    await waitFor("the match to begin", async () => /^2:\d\d$/.test(await text(visitor, "clock")));
  }
  expect(await goals(ben)).toBe(0);

  // In a small window, frames are drawn often enough to steer the player.
  for (const { page } of [ada, ben]) await page.setViewportSize({ width: 480, height: 300 });
  await ada.page.evaluate(play);
  const startMs = performance.now();
  await waitFor("a goal", async () => (await goals(ada)) > 0, 300_000);
  console.log(
    `a goal after ${((performance.now() - startMs) / 1000).toFixed(0)} s: ${await text(ada, "score")}`,
  );
  await waitFor("the goal in Ben's page", async () => (await goals(ben)) > 0);
  expect(await text(ben, "score")).toBe(await text(ada, "score"));
  for (const { page } of [ada, ben]) await page.setViewportSize({ width: 800, height: 500 });
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
