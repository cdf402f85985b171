import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { natsServer } from "../../../nowcast/test/nats-cluster.js";
import { ServerCluster } from "../../../nowcast/test/server-cluster.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { pageTexts } from "../../../page/src/texts.js";
import { launchBrowser, Visitor } from "./browser.js";

const ROOM = "meeting";
const SCREENSHOTS = fileURLToPath(new URL("../../../../target/screenshots", import.meta.url));

/** The folder for the films of the pages: a picture every 50 ms. Without it, there are no films. */
const FILMS = process.env["NOWCAST_FILMS"];
const PICTURE_MS = 50;

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

/** Runs in a page: records when snapshots arrive, which messages are shown, and that the page was not reloaded. */
function markPage(): void {
  const notes = document.documentElement.dataset;
  Object.assign(notes, { marked: "yes", arrived: "", gap: "0", messages: "[]" });
  for (const id of ["banner", "notice", "ended"]) {
    const element = document.getElementById(id)!;
    const record = (): void => {
      if (element.hidden) return;
      const messages: string[] = JSON.parse(notes["messages"]!);
      notes["messages"] = JSON.stringify([...messages, element.textContent]);
    };
    new MutationObserver(record).observe(element, { attributes: true, childList: true });
  }
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

/** Returns the messages that a page has shown since the last call. */
function takeMessages({ page }: Visitor): Promise<readonly string[]> {
  return page.evaluate(() => {
    const notes = document.documentElement.dataset;
    const messages: string[] = JSON.parse(notes["messages"]!);
    notes["messages"] = "[]";
    return messages;
  });
}

/** Films both pages. Returns the function that ends the films. */
async function film(when: string): Promise<() => Promise<void>> {
  if (FILMS === undefined) return async () => {};
  const folder = join(FILMS, when);
  mkdirSync(folder, { recursive: true });
  const ends = Object.entries({ ada, ben }).map(async ([name, { page }]) => {
    const session = await page.context().newCDPSession(page);
    const beganMs = performance.now();
    let picture: string | undefined;
    session.on("Page.screencastFrame", ({ data, sessionId }) => {
      picture = data;
      void session.send("Page.screencastFrameAck", { sessionId });
    });
    await session.send("Page.startScreencast", { format: "jpeg", quality: 70 });
    const timer = setInterval(() => {
      const atMs = String(Math.round(performance.now() - beganMs)).padStart(6, "0");
      if (picture !== undefined) writeFileSync(join(folder, `${name}-${atMs}.jpg`), picture, "base64");
    }, PICTURE_MS);
    return async () => {
      clearInterval(timer);
      await session.detach();
    };
  });
  const stops = await Promise.all(ends);
  return async () => void (await Promise.all(stops.map((stop) => stop())));
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
    for (const visitor of [ada, ben]) await takeMessages(visitor);
    const endFilm = await film("move");
    for (const to of [target, source]) {
      for (const visitor of [ada, ben]) await note(visitor, "gap");
      const moving = cluster.move(ROOM, to);
      if (to === target && FILMS === undefined) await takePictures("moving");
      const stoodMs = await moving;
      const sinceMs = Date.now();
      for (const visitor of [ada, ben]) await movesAfter(visitor, sinceMs);
      expect(await cluster.owner(ROOM)).toBe(to);
      const gaps = [await note(ada, "gap"), await note(ben, "gap")];
      console.log(`moved within ${stoodMs} ms; pages without movement for ${gaps.map(Math.round)} ms`);
    }
    await endFilm();
    await seeEachOther();
    expect([await takeMessages(ada), await takeMessages(ben)]).toEqual([[], []]);
    await takePictures("moved");
    expect([await ada.page.evaluate(() => window.nowcast.world!.playerId), await ben.avatarId()]).toEqual(
      ids,
    );
    await expectNoReload();
  });

  it("go on at another server when the owner is killed", async () => {
    const owner = await cluster.owner(ROOM);
    const endFilm = await film("kill");
    const killedMs = Date.now();
    await cluster.kill(owner);
    const endedMs = Date.now();
    const waits: number[] = [];
    for (const visitor of [ada, ben]) waits.push((await movesAfter(visitor, endedMs + 500)) - killedMs);
    console.log(`moving again ${waits.map(Math.round).join(" and ")} ms after the kill`);
    await endFilm();
    expect(await cluster.owner(ROOM)).not.toBe(owner);
    await seeEachOther();
    const { lost, unstable } = pageTexts.reach;
    for (const visitor of [ada, ben]) {
      const messages = await takeMessages(visitor);
      expect([lost, unstable, pageTexts.backAgain]).toEqual(expect.arrayContaining([...messages]));
    }
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
