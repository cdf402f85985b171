import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { natsServer } from "../../../nowcast/test/nats-cluster.js";
import { ServerCluster } from "../../../nowcast/test/server-cluster.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser, Visitor } from "./browser.js";

const ROOM = "meeting";
const SCREENSHOTS = fileURLToPath(new URL("../../../../target/screenshots", import.meta.url));

const nats = natsServer();
let cluster: ServerCluster;
let browser: Browser;
let ada: Visitor;
let ben: Visitor;

beforeAll(async () => {
  if (nats === undefined) return;
  mkdirSync(SCREENSHOTS, { recursive: true });
  cluster = await ServerCluster.start(nats, ["north", "south", "west"]);
  browser = await launchBrowser();
  ada = await Visitor.enter(browser, cluster.server("north"), { name: "Ada", room: ROOM });
  const bens = { name: "Ben", room: ROOM, carrier: "websocket" } as const;
  ben = await Visitor.enter(browser, cluster.server("south"), bens);
  for (const { page } of [ada, ben]) await page.evaluate(markPage);
});

afterAll(async () => {
  await browser?.close();
  await cluster?.stop();
});

/** Runs in a page: records when snapshots arrive, and that the page was not reloaded. */
function markPage(): void {
  const notes = document.documentElement.dataset;
  Object.assign(notes, { marked: "yes", arrived: "", gap: "0" });
  window.nowcast.world!.on("snapshot", ({ receivedAtMs }) => {
    const nowMs = performance.timeOrigin + receivedAtMs;
    const gapMs = nowMs - Number(notes["arrived"] || nowMs);
    notes["gap"] = String(Math.max(Number(notes["gap"]), gapMs));
    notes["arrived"] = String(nowMs);
  });
}

function note({ page }: Visitor, key: string): Promise<number> {
  return page.evaluate((name) => {
    const notes = document.documentElement.dataset;
    const value = notes[name];
    if (name === "gap") notes[name] = "0";
    return Number(value);
  }, key);
}

/** Waits until a page receives movement that was sent after this time. */
async function movesAfter(visitor: Visitor, sinceMs: number): Promise<number> {
  return waitFor("the world to move again", async () => {
    const arrivedMs = await note(visitor, "arrived");
    return arrivedMs > sinceMs && arrivedMs;
  });
}

/** Waits until both pages show both players. */
async function seeEachOther(): Promise<void> {
  for (const { page } of [ada, ben]) {
    await waitFor("both players", () => page.evaluate(() => window.nowcast.world!.players.size === 2));
  }
}

/** Saves a picture of each page. */
async function takePictures(when: string): Promise<void> {
  for (const [name, { page }] of Object.entries({ ada, ben })) {
    await page.screenshot({ path: `${SCREENSHOTS}/cluster-${when}-${name}.png` });
  }
}

async function expectNoReload(): Promise<void> {
  for (const { page, errors } of [ada, ben]) {
    expect(await page.evaluate(() => document.documentElement.dataset["marked"])).toBe("yes");
    expect(errors).toEqual([]);
  }
}

describe.skipIf(nats === undefined)("two tabs on different servers of a cluster", () => {
  it("are in one room", async () => {
    await seeEachOther();
    await takePictures("before");
  });

  it("go on when the room moves to another server and back", async () => {
    const source = await cluster.owner(ROOM);
    const target = cluster.others(source)[0]!;
    const ids = [await ada.page.evaluate(() => window.nowcast.world!.playerId), await ben.avatarId()];
    for (const to of [target, source]) {
      for (const visitor of [ada, ben]) await note(visitor, "gap");
      const moving = cluster.move(ROOM, to);
      if (to === target) await takePictures("moving");
      const stoodMs = await moving;
      const sinceMs = Date.now();
      for (const visitor of [ada, ben]) await movesAfter(visitor, sinceMs);
      expect(await cluster.owner(ROOM)).toBe(to);
      const gaps = [await note(ada, "gap"), await note(ben, "gap")];
      console.log(`moved within ${stoodMs} ms; pages without movement for ${gaps.map(Math.round)} ms`);
    }
    await seeEachOther();
    await takePictures("moved");
    expect([await ada.page.evaluate(() => window.nowcast.world!.playerId), await ben.avatarId()]).toEqual(
      ids,
    );
    await expectNoReload();
  });

  it("go on at another server when the owner is killed", async () => {
    const owner = await cluster.owner(ROOM);
    const killedMs = Date.now();
    await cluster.kill(owner);
    const endedMs = Date.now();
    const waits: number[] = [];
    for (const visitor of [ada, ben]) waits.push((await movesAfter(visitor, endedMs + 500)) - killedMs);
    console.log(`moving again ${waits.map(Math.round).join(" and ")} ms after the kill`);
    expect(await cluster.owner(ROOM)).not.toBe(owner);
    await seeEachOther();
    await takePictures("owner-killed");
    await expectNoReload();
  });

  it("go on when the servers of their pages are killed, too", async () => {
    await cluster.startServer(["north", "south", "west"].find((name) => !cluster.others("").includes(name))!);
    const owner = await cluster.owner(ROOM);
    for (const edge of cluster.others(owner)) await cluster.kill(edge);
    const sinceMs = Date.now();
    for (const visitor of [ada, ben]) await movesAfter(visitor, sinceMs);
    await seeEachOther();
    await takePictures("edges-killed");
    await expectNoReload();
  });
});
