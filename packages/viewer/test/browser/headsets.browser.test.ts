/** Two players with headsets in one room: each sees the other's head and hands, and one hands a block to the other. */
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser, Visitor } from "./browser.js";
import { OneBlockWorld } from "./one-block-world.js";
import { examine, poverty } from "./picture.js";

const SCREENSHOTS = fileURLToPath(new URL("../../../../target/screenshots", import.meta.url));

type Place = readonly [number, number, number];
type Side = "left" | "right";

let browser: Browser;
let server: ServerProcess;
const world = new OneBlockWorld();
let ada: Visitor;
let ben: Visitor;

beforeAll(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  server = await ServerProcess.start(0, [world.folder]);
  browser = await launchBrowser();
  const options = {
    room: "meeting",
    viewport: { width: 480, height: 240 },
    hasHeadset: true,
    isSharp: true,
  } as const;
  ada = await Visitor.enter(browser, server, { ...options, name: "Ada" });
  ben = await Visitor.enter(browser, server, { ...options, name: "Ben" });
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
  world.remove();
});

/** Presses "Enter VR", and looks in a direction: 0 is -Z, counter-clockwise seen from above. */
async function enterHeadset({ page }: Visitor, yaw: number): Promise<void> {
  const button = page.locator("#vr-enter");
  await waitFor("the button", () => button.isVisible());
  await button.click();
  await waitFor("the headset", () =>
    page.evaluate(() => window.nowcast.viewer.controls.headset !== undefined),
  );
  await page.evaluate((angle) => {
    window.headset.quaternion.set(0, Math.sin(angle / 2), 0, Math.cos(angle / 2));
  }, yaw);
}

/** Holds a controller at a place of the world. */
async function reach({ page }: Visitor, side: Side, [x, y, z]: Place): Promise<void> {
  await page.evaluate(
    ({ side, x, y, z }) => {
      const { rig } = window.nowcast.viewer.stage;
      const place = rig.worldToLocal(rig.position.clone().set(x, y, z));
      window.headset.controllers[side]!.position.set(place.x, place.y, place.z);
    },
    { side, x, y, z },
  );
}

/** A controller lies in the palm. This is its maximum distance from the wrist, in metres. */
const PALM_M = 0.2;

/** Holds a controller at a place, and waits until the other page shows the hand there. */
async function reachVisibly(owner: Visitor, watcher: Visitor, side: Side, place: Place): Promise<void> {
  await reach(owner, side, place);
  await waitFor("the hand there", async () => {
    const own = await ownWrist(owner, side);
    const metres = own ? Math.hypot(...place.map((part, axis) => part - own[axis]!)) : Number.NaN;
    return metres < PALM_M && (await disagreement(owner, watcher, side)).metres < 0.01;
  });
}

async function squeeze({ page }: Visitor, side: Side, isClosed: boolean): Promise<void> {
  await page.evaluate(
    ({ side, value }) => window.headset.controllers[side]!.updateButtonValue("squeeze", value),
    { side, value: isClosed ? 1 : 0 },
  );
}

/** Position and quaternion of the local player's wrist. */
function ownWrist({ page }: Visitor, side: Side): Promise<number[] | undefined> {
  return page.evaluate((which) => {
    const wrist = window.nowcast.viewer.controls.headset?.wristOf(which);
    return wrist && [...wrist.position.toArray(), ...wrist.quaternion.toArray()];
  }, side);
}

interface Seen {
  readonly part: string;
  readonly isLeft: boolean;
  readonly hasJoints: boolean;
  readonly pose: number[];
}

/** The other player's head and hands as a page shows them now. */
function seenBy({ page }: Visitor): Promise<Seen[]> {
  return page.evaluate(() =>
    [...(window.nowcast.viewer.stage.drawn.tracking?.all ?? [])]
      .filter(({ isShown }) => isShown)
      .map(({ part, isLeft, hasJoints, position, quaternion }) => ({
        part,
        isLeft,
        hasJoints,
        pose: [...position.toArray(), ...quaternion.toArray()],
      })),
  );
}

async function seenHand(visitor: Visitor, side: Side): Promise<Seen | undefined> {
  return (await seenBy(visitor)).find(({ part, isLeft }) => part === "hand" && isLeft === (side === "left"));
}

/** Metres and degrees between a hand and its display on the other page. */
async function disagreement(
  owner: Visitor,
  watcher: Visitor,
  side: Side,
): Promise<{ metres: number; degrees: number }> {
  const [own, seen] = [await ownWrist(owner, side), (await seenHand(watcher, side))?.pose];
  if (!own || !seen) return { metres: Number.POSITIVE_INFINITY, degrees: 180 };
  const metres = Math.hypot(own[0]! - seen[0]!, own[1]! - seen[1]!, own[2]! - seen[2]!);
  const cosine = Math.abs([3, 4, 5, 6].reduce((sum, i) => sum + own[i]! * seen[i]!, 0));
  return { metres, degrees: (2 * Math.acos(Math.min(1, cosine)) * 180) / Math.PI };
}

async function blockOf(visitor: Visitor): Promise<{ readonly id: number; readonly position: number[] }> {
  const [block] = await visitor.blocks();
  return block!;
}

/** Waits until a page shows the block where it stays. */
async function rests(visitor: Visitor): Promise<void> {
  let before = [Number.NaN, 0, 0];
  await waitFor("the block to rest", async () => {
    const { position } = await blockOf(visitor);
    const metres = Math.hypot(...position.map((part, axis) => part - before[axis]!));
    before = position;
    await new Promise((resolve) => setTimeout(resolve, 150));
    return metres < 0.003;
  });
}

/** Waits until a hand that closes would grab something. */
async function isOffered({ page }: Visitor): Promise<void> {
  await waitFor("something to grab", () =>
    page.evaluate(() =>
      window.nowcast.viewer.controls.actions.offered.some(({ action }) => action === "grab"),
    ),
  );
}

it("shows each player the other's head and hands, to a centimetre", async () => {
  // Ada stands at x = 0, Ben at x = -1.3: they face each other.
  await enterHeadset(ada, Math.PI / 2);
  await enterHeadset(ben, -Math.PI / 2);
  for (const visitor of [ada, ben]) {
    await waitFor("a head and two hands", async () => (await seenBy(visitor)).length === 3);
  }
  const places: [Visitor, Visitor, Side, Place][] = [
    [ada, ben, "right", [-0.4, 1.35, 12.75]],
    [ada, ben, "left", [-0.3, 0.95, 13.3]],
    [ben, ada, "right", [-0.95, 1.1, 13.25]],
    [ben, ada, "left", [-0.85, 1.4, 12.7]],
  ];
  for (const [owner, , side, place] of places) await reach(owner, side, place);
  for (const [owner, watcher, side] of places) {
    const apart = await waitFor("the hand at its position", async () => {
      const now = await disagreement(owner, watcher, side);
      return now.metres < 0.01 && now.degrees < 1 && now;
    });
    console.log(`a hand is ${(apart.metres * 1000).toFixed(1)} mm and ${apart.degrees.toFixed(2)}° off`);
  }
});

it("lets one player hand a block to the other", async () => {
  const block = await blockOf(ada);
  const [x, y, z] = block.position as [number, number, number];
  await reachVisibly(ada, ben, "right", [x + 0.05, y + 0.22, z]);
  await isOffered(ada);
  await squeeze(ada, "right", true);
  await waitFor("the block in Ada's hand", async () => (await ada.ownAttribute("holding")) === block.id);
  await reach(ada, "right", [-0.6, 1.35, 12.8]);
  await waitFor("the block before Ben", async () => (await blockOf(ben)).position[1]! > 0.9);
  await rests(ben);
  // The window shows the headset's picture: both eyes, side by side.
  const blank = await browser.newPage();
  for (const [name, { page }] of Object.entries({ ada, ben })) {
    const png = await page.screenshot({ path: `${SCREENSHOTS}/headsets-${name}.png` });
    expect(poverty(await examine(blank, png))).toBeUndefined();
  }
  await blank.close();

  const [bx, by, bz] = (await blockOf(ben)).position as [number, number, number];
  await reachVisibly(ben, ada, "right", [bx - 0.1, by - 0.12, bz + 0.1]);
  await isOffered(ben);
  await squeeze(ben, "right", true);
  await waitFor("the block in Ben's hand", async () => (await ben.ownAttribute("holding")) === block.id);
  expect(await ada.ownAttribute("holding")).toBeFalsy();
  await squeeze(ada, "right", false);
  await reach(ben, "right", [-1.1, 1.3, 12.4]);
  await waitFor(
    "the block to go with Ben in Ada's page",
    async () => (await blockOf(ada)).position[2]! < 12.75,
  );
  expect(await ben.ownAttribute("holding")).toBe(block.id);
  await squeeze(ben, "right", false);
  await waitFor("the block to be released", async () => !(await ben.ownAttribute("holding")));
});

it("puts one where an arc leads", async () => {
  const id = await ben.avatarId();
  const [x, , z] = (await ada.position(id))!;
  const push = (up: number) =>
    ben.page.evaluate((y) => window.headset.controllers.right!.updateAxes("thumbstick", 0, y), up);
  await push(-1);
  const landing = await waitFor("a place to stand", () =>
    ben.page.evaluate(() => window.nowcast.viewer.controls.headset!.landing),
  );
  expect(Math.hypot(landing.x - x, landing.z - z)).toBeGreaterThan(2);
  await push(0);
  await waitFor("Ben to be on Ada's page", async () => {
    const [nowX, , nowZ] = (await ada.position(id))!;
    return Math.hypot(landing.x - nowX, landing.z - nowZ) < 0.5;
  });
  // The head is still above the body.
  await waitFor("the head there, too", async () => {
    const head = (await seenBy(ada)).find(({ part }) => part === "head");
    return head && Math.hypot(head.pose[0]! - landing.x, head.pose[2]! - landing.z) < 0.5;
  });
});

it("shows fingers where hands are tracked", async () => {
  await ada.page.evaluate(() => {
    window.headset.primaryInputMode = "hand";
  });
  const seen = await waitFor("fingers", async () => {
    const hand = await seenHand(ben, "right");
    return hand?.hasJoints && hand;
  });
  expect(seen.hasJoints).toBe(true);
  const bytes = await ben.page.evaluate(() => {
    const entities = [...window.nowcast.world!.entities.values()];
    return entities
      .map(({ attributes }) => attributes["joints"])
      .filter((joints) => joints instanceof Uint8Array)
      .map(({ length }) => length);
  });
  expect(bytes).toEqual([63, 63]);
});

it("leaves no frozen hands of a headset that stops or is taken off", async () => {
  // The headset gives no more frames, as if it slept. The page itself continues.
  await ada.page.evaluate(() => {
    window.requestAnimationFrame = () => 0;
  });
  await waitFor("Ada's hands to vanish", async () => (await seenBy(ben)).length === 0, 15_000);
  const { page } = ben;
  await page.evaluate(() => document.getElementById("vr-enter")!.click());
  await waitFor("the page", () => page.evaluate(() => window.nowcast.viewer.controls.headset === undefined));
  const isAsBefore = () =>
    page.evaluate(() => {
      const { viewer } = window.nowcast;
      const { renderer, rig, camera } = viewer.stage;
      const metres = camera
        .getWorldPosition(rig.position.clone())
        .distanceTo(viewer.controls.actor!.position);
      return (
        !renderer.xr.isPresenting &&
        rig.position.length() === 0 &&
        metres > 1.5 &&
        document.querySelector("canvas#world")!.parentElement === document.querySelector("main")
      );
    });
  await waitFor("the page to be as before", isAsBefore);
  const ownsNothing = () =>
    page.evaluate(() => {
      const { world } = window.nowcast;
      const own = [...world!.entities.values()].filter(({ owner }) => owner === world!.playerId);
      return own.every(({ id }) => id === world!.avatarId);
    });
  await waitFor("the hands to go", ownsNothing);
  await page.screenshot({ path: `${SCREENSHOTS}/headsets-after.png` });
  expect(ada.errors).toEqual([]);
  expect(ben.errors).toEqual([]);
});
