import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser, Visitor } from "./browser.js";

let browser: Browser;
let data: string;
let server: ServerProcess;
let ada: Visitor;

beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), "nowcast-data-"));
  server = await ServerProcess.start(0, ["--data", data]);
  browser = await launchBrowser();
  ada = await Visitor.enter(browser, server, { name: "Ada", room: "playground" });
});

afterAll(async () => {
  await browser?.close();
  await server?.kill();
  await rm(data, { recursive: true, force: true });
});

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

type Place = readonly [number, number, number];

function apart(a: Place, b: Place): number {
  return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

/** Walks ahead until there is a block, takes it, and puts it down elsewhere. Returns the block. */
async function moveBlock(visitor: Visitor): Promise<number> {
  const { keyboard } = visitor.page;
  const block = await waitFor(
    "a block in the hands",
    async () => {
      const holding = await visitor.ownAttribute("holding");
      if (typeof holding === "number") return holding;
      await keyboard.press("KeyW", { delay: 250 });
      await keyboard.press("KeyE", { delay: 60 });
      return false;
    },
    240_000,
  );
  const from = (await visitor.position(await visitor.avatarId()))!;
  await keyboard.down("KeyS");
  await waitFor("steps", async () => apart((await visitor.position(await visitor.avatarId()))!, from) > 2);
  await keyboard.up("KeyS");
  await waitFor("empty hands", async () => {
    await keyboard.press("KeyQ", { delay: 60 });
    return typeof (await visitor.ownAttribute("holding")) !== "number";
  });
  return block;
}

/** The positions of all blocks, by id. */
async function blocksOf({ page }: Visitor): Promise<Map<number, Place>> {
  const blocks = await page.evaluate(() =>
    [...window.nowcast.world!.entities.values()]
      .filter(({ kind }) => kind.name === "block")
      .map(({ id, position }) => [id as number, [...position] as [number, number, number]] as const),
  );
  return new Map(blocks);
}

async function shownAtMs({ page }: Visitor): Promise<number> {
  const at = await page.evaluate(
    () => (window.nowcast.world!.screen.get("@past") as { at: number } | undefined)?.at,
  );
  return at ?? Number.NaN;
}

/** Sets the slider as a user does, and waits until the moment is shown. Returns the waiting time in milliseconds. */
async function slideTo(visitor: Visitor, atMs: number): Promise<number> {
  const begun = performance.now();
  await visitor.page.locator("#past-slider").evaluate((slider: HTMLInputElement, value) => {
    slider.value = String(value);
    slider.dispatchEvent(new Event("input", { bubbles: true }));
  }, atMs);
  // On a busy machine a world may have stalled for a while. Its stored moments are then that far apart.
  await waitFor("the moment", async () => Math.abs((await shownAtMs(visitor)) - atMs) < 1_000);
  return performance.now() - begun;
}

describe("the page that shows a room's history", () => {
  it("shows the earlier state, follows the slider, and copies the moment to a new room", async () => {
    // A world is stored from its first player action on.
    const begun = (await ada.position(await ada.avatarId()))!;
    await waitFor("the first step", async () => {
      await ada.page.keyboard.press("KeyS", { delay: 100 });
      return apart((await ada.position(await ada.avatarId()))!, begun) > 0.1;
    });
    await pause(1_500);
    const before = await blocksOf(ada);
    const beforeMs = Date.now();
    await pause(1_500);
    const moved = await moveBlock(ada);
    await waitFor("the block to lie still", async () => {
      const one = (await ada.position(moved))!;
      await pause(1_000);
      return apart(one, (await ada.position(moved))!) < 0.001;
    });
    const after = await blocksOf(ada);
    expect(apart(after.get(moved)!, before.get(moved)!)).toBeGreaterThan(0.5);
    // A moment that is not the present.
    await pause(1_500);
    const afterMs = Date.now() - 1_000;

    const at = new Date(afterMs).toISOString();
    const eve = await Visitor.enter(browser, server, { name: "Eve", room: "playground", at });
    const { page } = eve;
    await page.locator("#past").waitFor();
    await waitFor("the block at its current position", async () => {
      const place = (await blocksOf(eve)).get(moved);
      return place !== undefined && apart(place, after.get(moved)!) < 0.02;
    });
    expect(await page.evaluate(() => window.nowcast.world!.avatarId)).toBeUndefined();
    expect(await page.locator("#place").textContent()).toContain("playground, as it was");

    const tookMs = await slideTo(eve, beforeMs);
    console.log(`from the slider until the moment is shown: ${tookMs.toFixed(0)} ms`);
    await waitFor("every block where it was", async () => {
      const now = await blocksOf(eve);
      return [...before].every(([id, place]) => now.has(id) && apart(now.get(id)!, place) < 0.02);
    });
    expect(page.url()).toContain("at=");
    await page.screenshot({ path: process.env["NOWCAST_PAST_PICTURE"] ?? join(data, "past.png") });

    await page.locator("#past-name").fill("playground-old");
    await page.locator("#past-copy").click();
    await page.getByText("room playground-old begins").waitFor();
    const ben = await Visitor.enter(browser, server, { name: "Ben", room: "playground-old" });
    // The nearest entities arrive first.
    await waitFor("the block in the copy", async () => (await blocksOf(ben)).has(moved));
    const copied = await blocksOf(ben);
    expect(apart(copied.get(moved)!, before.get(moved)!)).toBeLessThan(0.05);

    // The room itself did not change in the meantime.
    expect(apart((await blocksOf(ada)).get(moved)!, after.get(moved)!)).toBeLessThan(0.01);
    await page.locator("#past-play").click();
    await waitFor("time to continue", async () => (await shownAtMs(eve)) > beforeMs + 700);
    await page.locator("#past-present").click();
    await eve.isIn();
    expect(await page.evaluate(() => window.nowcast.world!.avatarId)).toBeDefined();
    expect([...eve.errors, ...ada.errors, ...ben.errors]).toEqual([]);
  });
});
