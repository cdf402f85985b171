/**
 * Real browsers and the Rust endpoint, in a page and in a worker. A channel opens over WebTransport, continues over
 * WebSocket while datagrams are dropped, and returns to WebTransport afterwards. Meanwhile the laws of the queue must
 * hold.
 */
import type { Server } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SeveringProxy } from "../channel/severing.js";
import { EchoProcess } from "../echo-process.js";
import { waitFor } from "../wait-for.js";
import { FIREFOX_CURE, Firefox, firefoxPath } from "./firefox.js";
import { Chromium, type LabBrowser, originOf, type Place, servePage, Tab } from "./tab.js";
import { UdpForwarder } from "./udp-forwarder.js";

/** Number of random lives. The default is low for Chromium and lower for Firefox, so that the tests are quick. */
const SCENARIOS = Number(process.env["NOWCAST_BROWSER_SCENARIOS"] ?? 0);
/** Concurrent lives, which share their kills. */
const AT_ONCE_MAX = 16;
const DROPS_MAX = 5;

let pages: Server;
let udp: UdpForwarder;
let echo: EchoProcess;
beforeAll(async () => {
  udp = await UdpForwarder.open();
  pages = await servePage();
  echo = await EchoProcess.start(udp.port, originOf(pages));
  udp.to(echo.port);
});
afterAll(async () => {
  await echo?.stop();
  udp?.close();
  pages?.close();
});

const numbers = (end: number) => Array.from({ length: end }, (_, n) => n);

interface Kind {
  readonly name: string;
  readonly isThere: boolean;
  readonly lives: number;
  launch(): Promise<LabBrowser>;
}

// Chromium tests are never left out: without Chromium they fail, and the message says how to install it.
const CHROMIUM: Kind = {
  name: "Chromium",
  isThere: true,
  lives: SCENARIOS || 8,
  launch: () => Chromium.launch(),
};
const FIREFOX: Kind = {
  name: "Firefox",
  isThere: firefoxPath() !== undefined,
  lives: SCENARIOS || 2,
  launch: () => Firefox.launch(),
};
if (!FIREFOX.isThere) console.warn(`Firefox is not tested, because it is not installed: ${FIREFOX_CURE}`);

describe.each([CHROMIUM, FIREFOX].filter(({ isThere }) => isThere))("$name", ({ launch, lives: count }) => {
  const atOnce = Math.min(AT_ONCE_MAX, count);
  let browser: LabBrowser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());

  describe.each<Place>(["page", "worker"])("a %s", (place) => {
    it("falls back to WebSocket when UDP is dropped, loses and duplicates nothing, and returns", async () => {
      const tab = await Tab.open(browser, pages, place);
      const first = await tab.call("start", `nowcast://127.0.0.1:${echo.port}/echo`);
      expect(first.carrier).toBe("webtransport");
      const isOn = async (carrier: string): Promise<boolean> => {
        const { status } = await tab.call("report");
        return status.isOpen && status.carrier === carrier;
      };
      const pauses: number[] = [];
      // Uses the best of a few drops, because other load of this machine is not part of the test.
      while (pauses.length < DROPS_MAX && !(Math.min(...pauses) < 1_000)) {
        await waitFor(
          "lines over WebTransport",
          async () => (await isOn("webtransport")) && (await hears(tab)),
        );
        await tab.call("forgetPauses");
        udp.isDropping = true;
        await waitFor("WebSocket", () => isOn("websocket"));
        await waitFor("lines over WebSocket", () => hears(tab));
        pauses.push((await tab.call("report")).pauseMs);
        udp.isDropping = false;
        await waitFor("WebTransport again", () => isOn("webtransport"), 90_000);
      }
      await hears(tab);
      console.log(
        `longest pause between two lines when UDP was dropped: ${pauses.map(Math.round).join(", ")} ms`,
      );
      expect(Math.min(...pauses)).toBeLessThan(1_000);
      const { changes, status } = await tab.call("report");
      expect(changes.map(({ phase }) => phase)).not.toContain("closed");
      expect(status.resumed).toBeGreaterThanOrEqual(2);
      const { put, got, newest } = await tab.call("stop");
      expect(put).toBeGreaterThan(50);
      expect(got).toEqual(numbers(put));
      expect(newest).toEqual([...newest].sort((a, b) => a - b));
      expect(tab.errors).toEqual([]);
      await tab.close();
    });

    it("a browser without datagrams.writable stays on WebTransport through createWritable", async () => {
      const tab = await Tab.open(browser, pages, place);
      await tab.call("hideWritable");
      const { carrier } = await tab.call("start", `nowcast://127.0.0.1:${echo.port}/echo`);
      expect(carrier).toBe("webtransport");
      await hears(tab);
      const { status } = await tab.call("report");
      expect(status.carrier).toBe("webtransport");
      await tab.call("stop");
      expect(tab.errors).toEqual([]);
      await tab.close();
    });

    it(`obeys the laws over ${count} random lives with killed carriers`, { timeout: 3_600_000 }, async () => {
      const proxy = await SeveringProxy.before(echo.port);
      const tab = await Tab.open(browser, pages, place);
      let isOver = false;
      const lives = { count, atOnce, steps: 60 };
      const living = tab.call("laws", `nowcast://127.0.0.1:${proxy.port}/echo`, lives).finally(() => {
        isOver = true;
      });
      const [{ resumed }, kills] = await Promise.all([
        living,
        killOnDemand(tab, proxy, atOnce, () => isOver),
      ]);
      console.log(`${count} lives in a ${place}: ${kills} kills, ${resumed} resumptions`);
      expect(resumed).toBeGreaterThan(0);
      expect(tab.errors).toEqual([]);
      await tab.close();
      proxy.close();
    });
  });
});

/** Waits for another line. */
async function hears(tab: Tab): Promise<boolean> {
  const { got } = await tab.call("report");
  return waitFor("another line", async () => (await tab.call("report")).got > got);
}

/**
 * Cuts carriers when a life requests it. Connections are cut at once; datagrams are dropped until some lives
 * have detected it.
 */
async function killOnDemand(
  tab: Tab,
  proxy: SeveringProxy,
  atOnce: number,
  isOver: () => boolean,
): Promise<number> {
  let [done, kills] = [await tab.call("kills"), 0];
  while (!isOver()) {
    const asked = await tab.call("kills");
    if (asked === done) continue;
    done = asked;
    kills += 1;
    proxy.sever();
    udp.isDropping = true;
    // A new connection shows that a carrier was given up. In some runs one is enough; in others most carriers
    // must be given up.
    const fallen = 1 + (kills % atOnce);
    const hasKilled = (): boolean => isOver() || proxy.connections >= fallen || proxy.opened >= 2 * atOnce;
    await waitFor("the fall to WebSocket", hasKilled);
    udp.isDropping = false;
  }
  return kills;
}
