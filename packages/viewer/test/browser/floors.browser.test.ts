/** One's own avatar on floors of every shape: the page draws it at the height that the server has. */
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser, Visitor } from "./browser.js";

const WORLD = fileURLToPath(new URL("./floors", import.meta.url));
const SCREENSHOTS = fileURLToPath(new URL("../../../../target/screenshots", import.meta.url));
const SHAPES = [
  "box",
  "sphere",
  "cylinder",
  "capsule",
  "cone",
  "heights",
  "mesh",
  "hull",
  "compound",
] as const;

/** The middle of a person of 1.8 m. */
const HALF_HEIGHT_M = 0.9;
const TOLERANCE_M = 0.02;
/** Steps and frames in a row without a change. */
const RESTING = 30;

let browser: Browser;
let server: ServerProcess;
let visitor: Visitor;

beforeAll(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  server = await ServerProcess.start(0, [WORLD]);
  browser = await launchBrowser();
  visitor = await Visitor.enter(browser, server, { name: "Ada", room: "floors" });
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

interface Place {
  readonly server: number;
  readonly still: number;
  readonly drawn: readonly [number, number, number];
}

/** The height of the local avatar on the server, and its drawn position. */
function place(): Promise<Place> {
  return visitor.page.evaluate(() => {
    const { world, viewer } = window.nowcast;
    const { height, still } = world!.entities.get(world!.avatarId!)!.attributes;
    const { x, y, z } = viewer.controls.actor!.position;
    return { server: Number(height), still: Number(still), drawn: [x, y, z] as const };
  });
}

/** Waits until the server has the avatar at rest, and the page has drawn it there in several frames in a row. */
async function rests(): Promise<Place> {
  let agreeing = 0;
  let last: Place | undefined;
  return waitFor("the avatar to rest at the same height on both sides", async () => {
    last = await place();
    const isThere = Math.abs(last.drawn[1] - last.server) < TOLERANCE_M;
    agreeing = last.still >= RESTING && isThere ? agreeing + 1 : 0;
    return agreeing >= RESTING && last;
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${JSON.stringify(last)}`);
  });
}

/** Walks ahead until the page shows the avatar a metre away. */
async function walk(from: Place): Promise<void> {
  const { keyboard } = visitor.page;
  await keyboard.down("KeyW");
  await waitFor("a metre", async () => {
    const { drawn } = await place();
    return Math.hypot(drawn[0] - from.drawn[0], drawn[2] - from.drawn[2]) > 1;
  });
  await keyboard.up("KeyW");
}

describe("one's own avatar", () => {
  it.each(SHAPES)("stands on a %s at the server's height", async (shape) => {
    const before = await place();
    await visitor.page.evaluate((floor) => window.nowcast.world!.act("visit", { floor }), shape);
    await waitFor("the server to have moved the avatar", async () => {
      const { drawn } = await place();
      return shape === "box" || Math.hypot(drawn[0] - before.drawn[0], drawn[2] - before.drawn[2]) > 20;
    });
    const placed = await rests();
    expect(placed.server).toBeCloseTo(HALF_HEIGHT_M, 1);

    await walk(placed);
    const walked = await rests();
    console.log(
      `${shape}: server ${walked.server.toFixed(4)} m, drawn ${walked.drawn[1].toFixed(4)} m, ` +
        `placed ${placed.server.toFixed(4)} and ${placed.drawn[1].toFixed(4)} m`,
    );
    // It still stands on the floor and has not fallen off.
    expect(walked.server).toBeGreaterThan(-2);
    await visitor.page.screenshot({ path: `${SCREENSHOTS}/floor-${shape}.png` });
    expect(visitor.errors).toEqual([]);
  });
});
