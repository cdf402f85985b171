import { joinWorld } from "nowcast/world";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser, Visitor } from "./browser.js";

let browser: Browser;
let server: ServerProcess;

beforeAll(async () => {
  // Each test has a room of its own.
  server = await ServerProcess.start(0, ["--rooms-per-address-max", "32"]);
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

async function walks(visitor: Visitor): Promise<void> {
  const id = await visitor.avatarId();
  const start = (await visitor.position(id))!;
  await visitor.page.keyboard.down("KeyW");
  await waitFor("steps", async () => {
    const [x, , z] = (await visitor.position(id))!;
    return Math.hypot(x - start[0], z - start[2]) > 1;
  });
  await visitor.page.keyboard.up("KeyW");
}

describe.each(["webtransport", "websocket"] as const)("a page on a session over %s", (carrier) => {
  it("enters the world and walks, and prints nothing", async () => {
    const visitor = await Visitor.enter(browser, server, { name: "Ada", room: carrier, carrier });
    expect((await visitor.stats()).link?.carrier?.toLowerCase()).toBe(carrier);
    expect(visitor.sockets.length).toBe(carrier === "websocket" ? 1 : 0);
    await walks(visitor);
    expect([...visitor.errors, ...visitor.printed]).toEqual([]);
    await visitor.leave();
  });
});

describe.each(["webtransport", "websocket"] as const)("a room that is full, over %s", (carrier) => {
  it("shows the reason and the cure, and admits a waiting client when a seat is free", async () => {
    const small = await ServerProcess.start(0, ["--players-max", "1"]);
    const inside = joinWorld(`${small.url}/r/small`, { name: "Ada" });
    await waitFor("the seat to be taken", () => inside.status === "open");
    const outside = await Visitor.knock(browser, small, { name: "Bob", room: "small", carrier });
    const banner = outside.page.locator("#banner");
    const said = await waitFor("the reason", async () => {
      const text = (await banner.isVisible()) ? await banner.textContent() : null;
      return text !== null && /full/.test(text) ? text : undefined;
    });
    expect(said).toMatch(/room 'small' is full.*Try again later, or enter another room\. Trying again…$/);
    inside.close();
    await outside.isIn();
    expect(outside.errors).toEqual([]);
    await outside.leave();
    await small.stop();
  });
});

describe("a page that is loaded again", () => {
  it("is the same player at the same place, and a copy of its tab is another player", async () => {
    const visitor = await Visitor.enter(browser, server, { name: "Ada", room: "again" });
    const { page } = visitor;
    const self = () =>
      page.evaluate(() => {
        const { playerId, avatarId, players } = window.nowcast.world!;
        return { playerId, avatarId, players: [...players.values()].map(({ name }) => name) };
      });
    const place = async () => (await visitor.position(await visitor.avatarId()))!;
    await walks(visitor);
    const before = await self();
    const [x, , z] = await waitFor("the avatar to stop", async () => {
      const from = await place();
      await page.waitForTimeout(300);
      const to = await place();
      return Math.hypot(to[0] - from[0], to[2] - from[2]) < 0.001 && to;
    });
    const copied = page.waitForEvent("popup");
    await page.evaluate(() => void window.open(location.href));
    const copy = await copied;
    const playerOfCopy = await waitFor("the copy to be in the world", () =>
      copy.evaluate(() => (window as Partial<Window>).nowcast?.world?.playerId),
    );
    expect(playerOfCopy).not.toBe(before.playerId);
    await copy.close();

    const returns = [
      () => page.reload(),
      async () => {
        await page.goto(`${server.url}/docs/`);
        await page.goBack();
      },
    ];
    for (const comeBack of returns) {
      await comeBack();
      await visitor.isIn();
      const { playerId, avatarId } = await self();
      expect({ playerId, avatarId }).toEqual({ playerId: before.playerId, avatarId: before.avatarId });
      const [nowX, , nowZ] = await place();
      expect(Math.hypot(nowX - x, nowZ - z)).toBeLessThan(0.1);
    }
    await visitor.leave();
  });
});

describe("a server that restarts", () => {
  it.each([
    { end: "stop", carrier: "webtransport" },
    { end: "kill", carrier: "webtransport" },
    { end: "kill", carrier: "websocket" },
  ] as const)("is rejoined after a $end over $carrier, and the page says that it is lost", async (how) => {
    const { end, carrier } = how;
    const visitor = await Visitor.enter(browser, server, { name: "Ada", room: "restart", carrier });
    const banner = visitor.page.locator("#banner");
    await banner.evaluate((line) => {
      const said: string[] = [];
      Object.assign(line, { said });
      new MutationObserver(() => said.push(line.textContent)).observe(line, { childList: true });
    });
    const { port } = server;
    await server[end]();
    await waitFor("the page to show that it is reconnecting", async () => {
      return (
        (await banner.isVisible()) &&
        /reconnect|lost|restart|again|back/i.test((await banner.textContent()) ?? "")
      );
    });
    server = await ServerProcess.start(port);
    await visitor.isIn();
    expect(await visitor.page.evaluate(() => window.nowcast.world!.stats.reconnects)).toBe(1);
    await walks(visitor);
    await waitFor("the banner to go", async () => !(await banner.isVisible()));
    const said = await banner.evaluate((line: HTMLElement & { said?: string[] }) => line.said ?? []);
    expect(said.length).toBeGreaterThan(0);
    expect(said.join()).not.toContain("unstable");
    expect(visitor.errors).toEqual([]);
    await visitor.leave();
  });
});
