import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser, Visitor } from "./browser.js";
import { examine, poverty } from "./picture.js";

const SCREENSHOTS = fileURLToPath(new URL("../../../../target/screenshots", import.meta.url));
const MARKUP = '<img src="x" onerror="window.hacked = true"><b>hello</b> & welcome';

let browser: Browser;
let server: ServerProcess;
let ada: Visitor;
let ben: Visitor;

beforeAll(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  server = await ServerProcess.start();
  browser = await launchBrowser();
  ada = await Visitor.enter(browser, server, { name: "Ada", room: "meeting" });
  ben = await Visitor.enter(browser, server, {
    name: "<b>Ben</b>",
    room: "meeting",
    carrier: "websocket",
  });
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

/**
 * The longest frame of a page that draws smoothly. Longer frames are caused by the software renderer, so their excess
 * is subtracted.
 */
const SMOOTH_FRAME_MS = 34;

interface Sight {
  /** The time from the key in one page to the step in the other page. */
  readonly delayMs: number;
  /** The time by which the longest frames of both pages exceeded smooth frames on the way. */
  readonly drawingMs: number;
}

/** Presses W in one page and waits until the other page shows the avatar elsewhere. */
async function timeToSight(mover: Visitor, watcher: Visitor): Promise<Sight> {
  const id = await mover.avatarId();
  await standsStill(mover, id);
  await standsStill(watcher, id);
  // Both observers are installed before the key is pressed, because key events may overtake a script on a busy page.
  for (const visitor of [mover, watcher]) await visitor.page.evaluate(watchForStep, id);
  const noted = (visitor: Visitor, what: string): Promise<number> =>
    visitor.page.evaluate((key) => Number(document.documentElement.dataset[key]), what);
  await mover.page.keyboard.down("KeyW");
  const seenMs = await waitFor(
    "the other page to show a step",
    async () => (await noted(watcher, "seen")) || false,
  );
  await mover.page.keyboard.up("KeyW");
  const longestMs = [await noted(mover, "longest"), await noted(watcher, "longest")];
  const drawingMs = longestMs.reduce((sum, ms) => sum + Math.max(0, ms - SMOOTH_FRAME_MS), 0);
  return { delayMs: seenMs - (await noted(mover, "pressed")), drawingMs };
}

/** Runs in a page: notes when a key is pressed, when the avatar is shown elsewhere, and the longest frame until then. */
function watchForStep(avatar: number): void {
  const { world } = window.nowcast;
  const notes = document.documentElement.dataset;
  const pose = { position: { x: 0, y: 0, z: 0 }, quaternion: { x: 0, y: 0, z: 0, w: 1 } };
  const entity = [...world!.entities.values()].find((candidate) => candidate.id === avatar)!;
  world!.pose(entity.id, pose);
  const [startX, startZ] = [pose.position.x, pose.position.z];
  Object.assign(notes, { seen: "", pressed: "", longest: "0" });
  const press = (event: KeyboardEvent): void => {
    notes["pressed"] = String(performance.timeOrigin + event.timeStamp);
  };
  window.addEventListener("keydown", press, { capture: true, once: true });
  let lastMs = performance.now();
  const watch = (): void => {
    const nowMs = performance.now();
    notes["longest"] = String(Math.max(Number(notes["longest"]), nowMs - lastMs));
    lastMs = nowMs;
    world!.pose(entity.id, pose);
    const away = Math.hypot(pose.position.x - startX, pose.position.z - startZ);
    if (away <= 0.02) requestAnimationFrame(watch);
    else notes["seen"] = String(performance.timeOrigin + nowMs);
  };
  requestAnimationFrame(watch);
}

/** Waits until a page has shown the avatar at rest for half a second. */
async function standsStill(visitor: Visitor, id: number): Promise<void> {
  await waitFor("the avatar to stop", () =>
    visitor.page.evaluate((avatar) => {
      const { world } = window.nowcast;
      const entity = [...world!.entities.values()].find((candidate) => candidate.id === avatar)!;
      return world!.display.tick > entity.tick + world!.stats.snapshotIntervalMs! * 0.06 + 30;
    }, id),
  );
}

/** Grabs a block, carries it a few steps back, and throws it. Returns the block, if it also flew in the other page. */
async function throwBlock(thrower: Visitor, watcher: Visitor): Promise<number | undefined> {
  const { keyboard, mouse } = thrower.page;
  const held = async (): Promise<number | undefined> => {
    const holding = await thrower.ownAttribute("holding");
    return typeof holding === "number" ? holding : undefined;
  };
  const block = await waitFor("a block in the hands", async () => {
    await keyboard.press("KeyE", { delay: 60 });
    await within(2000, async () => (await held()) !== undefined);
    return held();
  });
  const start = (await watcher.position(block))!;
  const isAway = async (): Promise<boolean> => {
    const [x, , z] = (await watcher.position(block))!;
    return Math.hypot(x - start[0], z - start[2]) > 2;
  };
  await keyboard.down("KeyS");
  const carried = await within(10_000, isAway);
  await keyboard.up("KeyS");
  if (!carried || (await held()) !== block) return undefined;
  await thrower.drag(-40, 0);
  const from = (await watcher.position(block))!;
  await mouse.move(400, 250);
  await mouse.down();
  await waitFor("the meter to rise", async () => {
    const share = await thrower.page.locator("#charge").getAttribute("aria-valuenow");
    return (await thrower.page.locator("#charge").isVisible()) && Number(share) > 80;
  });
  await mouse.up();
  const flew = await within(5000, async () => {
    const now = (await watcher.position(block))!;
    return (await held()) === undefined && Math.hypot(now[0] - from[0], now[2] - from[2]) > 1.5;
  });
  return flew ? block : undefined;
}

/** Whether a condition becomes true before the deadline. */
async function within(deadlineMs: number, condition: () => Promise<boolean>): Promise<boolean> {
  return waitFor("a condition", condition, deadlineMs).then(
    () => true,
    () => false,
  );
}

/** The largest differences between two pages that show all 300 blocks at rest; nothing if they differ, or if a block moves. */
async function asleep(one: Visitor, two: Visitor): Promise<{ metres: number; degrees: number } | undefined> {
  const states = [await one.quiet(), await two.quiet()];
  if (states.some(({ lastMotion, shown }) => shown <= lastMotion + 60)) return undefined;
  const others = new Map((await two.blocks()).map((block) => [block.id, block]));
  const blocks = await one.blocks();
  if (blocks.length !== 300 || others.size !== 300) return undefined;
  const worst = { metres: 0, degrees: 0 };
  for (const { id, position, quaternion } of blocks) {
    const other = others.get(id);
    if (other === undefined) return undefined;
    const apart = Math.hypot(...position.map((coordinate, axis) => coordinate - other.position[axis]!));
    const cosine = Math.abs(quaternion.reduce((sum, part, i) => sum + part * other.quaternion[i]!, 0));
    worst.metres = Math.max(worst.metres, apart);
    worst.degrees = Math.max(worst.degrees, (2 * Math.acos(Math.min(1, cosine)) * 180) / Math.PI);
  }
  return worst.metres < 0.01 && worst.degrees < 1 ? worst : undefined;
}

describe("two players in two tabs", () => {
  it("are there by the best carrier that each may have", async () => {
    expect((await ada.stats()).link?.carrier).toBe("WebTransport");
    expect((await ben.stats()).link?.carrier).toBe("WebSocket");
  });

  it("see each other, with the names they gave, as text", async () => {
    const [adaId, benId] = [await ada.avatarId(), await ben.avatarId()];
    await waitFor("Ben in Ada's page", () => ada.position(benId));
    await waitFor("Ada in Ben's page", () => ben.position(adaId));
    const labels = ada.page.locator("#labels");
    await waitFor("Ben's name above his head", async () =>
      (await labels.textContent())?.includes("<b>Ben</b>"),
    );
    expect(await labels.locator("b").count()).toBe(0);
  });

  it("see each other move within 300 ms of the key, without the time of drawing by software", async () => {
    const sights: Sight[] = [];
    // The longest frames of both pages may have come before or after the step. If their excess is longer than the whole
    // delay, nothing is subtracted for drawing.
    const best = (): number =>
      Math.min(
        ...sights.map(({ delayMs, drawingMs }) => (drawingMs < delayMs ? delayMs - drawingMs : delayMs)),
      );
    // Uses the best of a few starts, because other load of this machine is not part of the test.
    while (sights.length < 30 && !(best() <= 300)) sights.push(await timeToSight(ada, ben));
    const shown = sights.map(
      ({ delayMs, drawingMs }) => `${delayMs.toFixed(0)} (${drawingMs.toFixed(0)} of it drawing)`,
    );
    console.log(`from key to sight in the other tab: ${shown.join(", ")} ms`);
    expect(best()).toBeLessThanOrEqual(300);
  });

  it("walk into a stack, which gives way in both pages", async () => {
    const before = new Map((await ben.blocks()).map(({ id, position }) => [id, position]));
    const { keyboard } = ada.page;
    await keyboard.down("ShiftLeft");
    await keyboard.down("KeyW");
    const shoved = await waitFor("blocks to be pushed in Ben's page", async () => {
      const moved = (await ben.blocks()).filter(({ id, position }) => {
        const start = before.get(id)!;
        return Math.hypot(position[0]! - start[0]!, position[2]! - start[2]!) > 0.05;
      });
      return moved.length > 2 && moved;
    });
    await keyboard.up("KeyW");
    await keyboard.up("ShiftLeft");
    expect(shoved.length).toBeGreaterThan(2);
  });

  it("grab, carry and throw a block", async () => {
    // A carried block may get stuck and slip from the hands; then it is tried again.
    const thrown = await waitFor("a throw", () => throwBlock(ada, ben), 120_000);
    console.log(`block ${thrown} flew`);
  });

  it("agree on all 300 blocks, to 1 cm and 1°, once they sleep", async () => {
    // A page that a busy machine holds back shows the last motion later than the other one.
    const both = "both pages to show all blocks asleep, and in the same places";
    const apart = await waitFor(both, () => asleep(ada, ben), 90_000);
    console.log(
      `300 blocks: at most ${(apart.metres * 1000).toFixed(2)} mm and ${apart.degrees.toFixed(3)}° apart`,
    );
  });

  it("chat, and their input stays text", async () => {
    await ada.page.keyboard.press("Enter");
    await ada.page.keyboard.type(MARKUP);
    await ada.page.keyboard.press("Enter");
    const log = ben.page.locator("#chat-log");
    await waitFor("the line in Ben's page", async () => (await log.textContent())?.includes(MARKUP));
    expect(await log.locator("img").count()).toBe(0);
    expect(await ben.page.evaluate(() => "hacked" in window)).toBe(false);
  });

  it("see a detailed picture", async () => {
    const blank = await browser.newPage();
    for (const [name, visitor] of Object.entries({ ada, ben })) {
      const png = await visitor.sharpPicture(`${SCREENSHOTS}/two-tabs-${name}.png`);
      const richness = await examine(blank, png);
      console.log(`${name}'s page: ${JSON.stringify(richness)}`);
      expect(poverty(richness)).toBeUndefined();
    }
    // This checks that the examination detects an empty page.
    for (const [background, why] of [
      ["black", /only 1 colours/],
      ["linear-gradient(red, blue)", /only|no edges|one colour/],
    ] as const) {
      await blank.setContent(`<body style="margin: 0; height: 100vh; background: ${background}">`);
      expect(poverty(await examine(blank, await blank.screenshot()))).toMatch(why);
    }
    await blank.close();
  });

  it("meet no error on the way", () => {
    expect(ada.errors).toEqual([]);
    expect(ben.errors).toEqual([]);
  });
});
