/** The keyboard alone plays every sample world: it walks, turns, looks up, throws and draws, also with moved keys. */
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser, Visitor } from "./browser.js";

const FOLDER = fileURLToPath(new URL("../../../../worlds", import.meta.url));
const WORLDS = readdirSync(FOLDER).filter((name) => existsSync(`${FOLDER}/${name}/tests`));
/** Small pictures are drawn fast by software. */
const VIEWPORT = { width: 480, height: 300 };
/** Radians that a held key turns the camera before the test continues. */
const TURN = 0.1;

let browser: Browser;
let server: ServerProcess;

beforeAll(async () => {
  const folders = WORLDS.map((world) => `${FOLDER}/${world}`);
  server = await ServerProcess.start(0, ["--rooms-max", "64", "--rooms-per-address-max", "64", ...folders]);
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

interface Look {
  readonly yaw: number;
  readonly pitch: number;
}

function lookOf(page: Page): Promise<Look> {
  return page.evaluate(() => {
    const { yaw, pitch } = window.nowcast.viewer.controls.camera;
    return { yaw, pitch };
  });
}

/** Holds a key until a condition holds. */
async function hold(page: Page, key: string, what: string, condition: () => Promise<boolean>): Promise<void> {
  await page.keyboard.down(key);
  await waitFor(what, condition);
  await page.keyboard.up(key);
}

async function enter(room: string): Promise<Visitor> {
  const visitor = await Visitor.enter(browser, server, { name: "Ada", room, viewport: VIEWPORT });
  const { page } = visitor;
  await waitFor("the local avatar", () =>
    page.evaluate(() => window.nowcast.viewer.controls.actor !== undefined),
  );
  // Any key closes the card of the world.
  await page.keyboard.press("Escape");
  await waitFor("no card", () => page.locator("#intro").isHidden());
  return visitor;
}

const offers = (page: Page, wanted: string): Promise<boolean> =>
  page.evaluate(
    (wanted) => window.nowcast.viewer.controls.actions.offered.some(({ action }) => action === wanted),
    wanted,
  );

/** The distance of the local avatar, or of the nearest entity of a kind, from a place. */
function place(page: Page, kind?: string): Promise<readonly number[]> {
  return page.evaluate((kind) => {
    const { world } = window.nowcast;
    const own = world!.entities.get(world!.avatarId!)!;
    if (kind === undefined) return [...own.position];
    const found = [...world!.entities.values()].find((entity) => entity.kind.name === kind)!;
    return [...found.position];
  }, kind);
}

const metres = (a: readonly number[], b: readonly number[]): number =>
  Math.hypot(...a.map((part, axis) => part - b[axis]!));

it("enter_on_the_card_of_a_world_begins_and_opens_no_chat", async () => {
  const visitor = await Visitor.enter(browser, server, {
    name: "Ada",
    room: "football-card",
    viewport: VIEWPORT,
  });
  const { page } = visitor;
  const focus = () => page.evaluate(() => document.activeElement?.id);
  await waitFor("the card", () => page.locator("#intro").isVisible());
  await page.keyboard.press("Enter");
  await waitFor("no card", () => page.locator("#intro").isHidden());
  expect(await focus()).toBe("world");
  await page.keyboard.press("Enter");
  await waitFor("the chat", async () => (await focus()) === "chat-input");
  await visitor.leave();
});

describe("the keyboard alone", () => {
  it.each(WORLDS)("walks_turns_and_looks_up_in_%s", async (world) => {
    const visitor = await enter(`${world}-keys`);
    const { page } = visitor;
    const before = await lookOf(page);
    await hold(page, "Comma", "a turn to the left", async () => (await lookOf(page)).yaw > before.yaw + TURN);
    const left = await lookOf(page);
    await hold(page, "Period", "a turn to the right", async () => (await lookOf(page)).yaw < left.yaw - TURN);
    await hold(page, "PageUp", "a look up", async () => (await lookOf(page)).pitch < before.pitch - TURN / 2);
    const up = await lookOf(page);
    await hold(page, "PageDown", "a look down", async () => (await lookOf(page)).pitch > up.pitch + TURN / 2);
    const start = await place(page);
    await hold(page, "KeyW", "a walk", async () => metres(start, await place(page)) > 0.3);
    expect(visitor.errors).toEqual([]);
    await visitor.leave();
  });

  it("kicks_the_ball_of_minimal_by_a_held_key", async () => {
    const visitor = await enter("minimal-kick");
    const { page } = visitor;
    const ball = await place(page, "ball");
    // The avatar turns to the ball and walks up to it.
    await page.keyboard.down("KeyW");
    const aims = async (): Promise<boolean> => {
      const [x, , z] = await place(page, "ball");
      const [ownX, , ownZ] = await place(page);
      const { yaw } = await lookOf(page);
      const wanted = Math.atan2(ownX! - x!, ownZ! - z!);
      const off = Math.atan2(Math.sin(wanted - yaw), Math.cos(wanted - yaw));
      await (off > 0.1 ? page.keyboard.down("Comma") : page.keyboard.up("Comma"));
      await (off < -0.1 ? page.keyboard.down("Period") : page.keyboard.up("Period"));
      return Math.hypot(x! - ownX!, z! - ownZ!) < 1.2;
    };
    await waitFor("the ball", aims);
    for (const key of ["KeyW", "Comma", "Period"]) await page.keyboard.up(key);
    await page.keyboard.down("KeyF");
    await waitFor("a charge", () => page.locator("#charge").isVisible());
    await page.keyboard.up("KeyF");
    await waitFor("a kicked ball", async () => metres(ball, await place(page, "ball")) > 2);
    expect(visitor.errors).toEqual([]);
    await visitor.leave();
  });

  it("grabs_and_throws_a_block_of_the_playground", async () => {
    const visitor = await enter("playground-throw");
    const { page } = visitor;
    await hold(page, "KeyW", "a block to grab", () => offers(page, "grab"));
    await page.keyboard.press("KeyE");
    await waitFor("a block in the hands", async () => Boolean(await visitor.ownAttribute("holding")));
    const block = Number(await visitor.ownAttribute("holding"));
    const start = (await visitor.position(block))!;
    // X is the left button of the mouse, because no action of this world has it.
    await page.keyboard.down("KeyX");
    await waitFor("a charge", () =>
      page.evaluate(() => Number(document.getElementById("charge")!.getAttribute("aria-valuenow")) > 50),
    );
    await page.keyboard.up("KeyX");
    await waitFor("empty hands", async () => !(await visitor.ownAttribute("holding")));
    await waitFor("a thrown block", async () => metres(start, (await visitor.position(block))!) > 2);
    expect(visitor.errors).toEqual([]);
    await visitor.leave();
  });

  it("does_the_functions_of_keys_that_the_user_moved", async () => {
    const visitor = await enter("playground-moved");
    const { page } = visitor;
    await page.evaluate(() => {
      const keymap = new Map([
        ["KeyJ", "Comma"],
        ["Comma", "KeyJ"],
      ]);
      window.nowcast.viewer.change({ keymap });
    });
    const before = await lookOf(page);
    await hold(page, "KeyJ", "a turn to the left", async () => (await lookOf(page)).yaw > before.yaw + TURN);
    const turned = await lookOf(page);
    await page.keyboard.down("Comma");
    await page.evaluate(() => new Promise(requestAnimationFrame));
    await page.evaluate(() => new Promise(requestAnimationFrame));
    await page.keyboard.up("Comma");
    expect((await lookOf(page)).yaw).toBeCloseTo(turned.yaw, 5);
    expect(visitor.errors).toEqual([]);
    await visitor.leave();
  });
});
