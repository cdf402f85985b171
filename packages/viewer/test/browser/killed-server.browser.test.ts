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
let ben: Visitor;

beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), "nowcast-data-"));
  server = await ServerProcess.start(0, ["--data", data]);
  browser = await launchBrowser();
  ada = await Visitor.enter(browser, server, { name: "Ada", room: "playground" });
  ben = await Visitor.enter(browser, server, { name: "Ben", room: "playground", carrier: "websocket" });
});

afterAll(async () => {
  await browser?.close();
  await server?.kill();
  await rm(data, { recursive: true, force: true });
});

interface Self {
  readonly player: number;
  readonly avatar: number;
  readonly name: string;
  readonly color: unknown;
  readonly holding: unknown;
  readonly position: readonly number[];
  readonly players: number;
}

/** The player of a page in its world. */
function selfOf({ page }: Visitor): Promise<Self> {
  return page.evaluate(() => {
    const world = window.nowcast.world!;
    const avatar = world.entities.get(world.avatarId!)!;
    const { color, holding } = avatar.attributes;
    return {
      player: world.playerId as number,
      avatar: avatar.id as number,
      name: world.players.get(world.playerId!)!.name,
      color,
      holding,
      position: [...avatar.position],
      players: world.players.size,
    };
  });
}

/** Positions of free blocks, by their ids. */
async function pile(visitor: Visitor): Promise<Map<number, readonly number[]>> {
  const places = await visitor.page.evaluate(() =>
    [...window.nowcast.world!.entities.values()]
      .filter(({ kind, attributes }) => kind.name === "block" && attributes["holder"] === null)
      .map(({ id, position }) => [id as number, [...position]] as const),
  );
  return new Map(places);
}

function mostApart(
  one: ReadonlyMap<number, readonly number[]>,
  other: ReadonlyMap<number, readonly number[]>,
): number {
  const apart = [...one].map(([id, place]) => {
    const now = other.get(id);
    return now === undefined ? Number.POSITIVE_INFINITY : Math.hypot(...place.map((at, i) => at - now[i]!));
  });
  return Math.max(...apart);
}

/** Walks ahead until there is a block to take, and takes it. */
async function grab(visitor: Visitor): Promise<number> {
  const { keyboard } = visitor.page;
  return waitFor(
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
}

/** Runs in a page: records when the connection is lost and restored, and that the page was not reloaded. */
function watchConnection(): void {
  const notes = document.documentElement.dataset;
  Object.assign(notes, { lost: "", back: "", marked: "yes" });
  const nowMs = (): string => String(performance.timeOrigin + performance.now());
  window.nowcast.world!.on("status", ({ status }) => {
    if (status === "reconnecting") notes["lost"] ||= nowMs();
    else if (status === "open") notes["back"] = nowMs();
  });
}

function note({ page }: Visitor, name: string): Promise<string | undefined> {
  return page.evaluate((key) => document.documentElement.dataset[key], name);
}

async function walks(visitor: Visitor, key: string): Promise<void> {
  const { avatar, position } = await selfOf(visitor);
  await visitor.page.keyboard.down(key);
  await waitFor("steps", async () => {
    const [x, , z] = (await visitor.position(avatar))!;
    return Math.hypot(x - position[0]!, z - position[2]!) > 0.5;
  });
  await visitor.page.keyboard.up(key);
}

describe("two players whose server is killed and restarted", () => {
  it("move a block, hold another, and find both and themselves unchanged, without a reload", async () => {
    await grab(ada);
    await walks(ada, "KeyS");
    await waitFor("empty hands", async () => {
      await ada.page.keyboard.press("KeyQ", { delay: 60 });
      return typeof (await ada.ownAttribute("holding")) !== "number";
    });
    const held = await grab(ben);
    // A block that has rested for a while has the same pose at the moment of the kill.
    let before = await pile(ada);
    await waitFor("the pile to lie still", async () => {
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      const now = await pile(ada);
      const isStill = mostApart(before, now) < 0.001;
      before = now;
      return isStill;
    });
    const [adaBefore, benBefore] = [await selfOf(ada), await selfOf(ben)];
    expect(benBefore.holding).toBe(held);
    for (const { page } of [ada, ben]) await page.evaluate(watchConnection);

    const { port } = server;
    const killedMs = Date.now();
    await server.kill();
    server = await ServerProcess.start(port, ["--data", data]);
    const startedMs = Date.now();
    const words: string[] = [];
    for (const visitor of [ada, ben]) {
      const backMs = Number(
        await waitFor("the page to be back", async () => (await note(visitor, "back")) || false),
      );
      words.push(`${(backMs - killedMs).toFixed(0)} (${(backMs - startedMs).toFixed(0)} after the start)`);
    }
    console.log(`from the kill until the page is back: ${words.join(", ")} ms`);

    for (const [visitor, was] of [
      [ada, adaBefore],
      [ben, benBefore],
    ] as const) {
      await visitor.isIn();
      const is = await selfOf(visitor);
      expect({ ...is, position: [] }).toEqual({ ...was, position: [] });
      expect(Math.hypot(...is.position.map((at, i) => at - was.position[i]!))).toBeLessThan(0.3);
      expect(await note(visitor, "marked"), "the page was not reloaded").toBe("yes");
      expect((await visitor.stats()).reconnects).toBe(1);
      expect(mostApart(before, await pile(visitor))).toBeLessThan(0.01);
    }
    expect((await pile(ada)).has(held)).toBe(false);

    await walks(ada, "KeyS");
    await walks(ben, "KeyS");
    expect((await selfOf(ben)).holding).toBe(held);
    expect([...ada.errors, ...ben.errors]).toEqual([]);
  });
});
