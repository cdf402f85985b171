/**
 * The world while datagrams are dropped and pass again: no player is disconnected, and no line of chat is lost or
 * duplicated.
 */
import { joinWorld, type World } from "nowcast/world";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { UdpForwarder } from "../../../nowcast/test/browser/udp-forwarder.js";
import { SeveringProxy } from "../../../nowcast/test/channel/severing.js";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { launchBrowser, Visitor } from "./browser.js";

const DROPS_MAX = 5;
/** Each player may send two lines a second. */
const LINE_MS = 600;
/** Another address of this machine: the page connects to 127.0.0.1, where this test's proxy listens. */
const HOST = "127.0.0.2";

let browser: Browser;
let server: ServerProcess;
let tcp: SeveringProxy;
let udp: UdpForwarder;

beforeAll(async () => {
  server = await ServerProcess.start(0, ["--host", HOST]);
  tcp = await SeveringProxy.before(server.port, HOST, server.port);
  udp = await UdpForwarder.open(server.port, HOST);
  udp.to(server.port);
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
  tcp?.close();
  udp?.close();
});

/** Sends numbered lines, and stores all received lines. */
function talk(world: World, lineMs: number): { readonly heard: string[]; stop(): number } {
  const heard: string[] = [];
  world.on("chat", ({ name, text }) => heard.push(`${name} ${text}`));
  let lines = 0;
  const timer = setInterval(() => world.chat(`${lines++}`), lineMs);
  return {
    heard,
    stop() {
      clearInterval(timer);
      return lines;
    },
  };
}

it("falls back to WebSocket within a second, loses and duplicates no line, and returns", async () => {
  const ben = joinWorld(`nowcast://${HOST}:${server.port}/udp`, { name: "Ben", networkHz: 60 });
  await waitFor("Ben to be in", () => ben.status === "open");
  const url = `http://127.0.0.1:${server.port}`;
  const ada = await Visitor.enter(browser, { url }, { name: "Ada", room: "udp" });
  const carrier = async (): Promise<string | undefined> => (await ada.stats()).link?.carrier;
  expect(await carrier()).toBe("WebTransport");

  // Ben walks in circles, so that there is always visible motion.
  let yaw = 0;
  const walking = setInterval(() => {
    yaw += 0.1;
    ben.input({ forward: 1, right: 0, yaw, run: false, jump: false });
  }, 50);
  await ada.page.evaluate(talkInPage, LINE_MS);
  const talking = talk(ben, LINE_MS);
  const pauses: number[] = [];
  // Uses the best of a few drops, because other load of this machine is not part of the test.
  while (pauses.length < DROPS_MAX && !(Math.min(...pauses) < 1_000)) {
    await waitFor("WebTransport", async () => (await carrier()) === "WebTransport");
    await ada.page.evaluate(forgetPauses);
    udp.isDropping = true;
    await waitFor("WebSocket", async () => (await carrier()) === "WebSocket");
    const { seen } = await ada.page.evaluate(readPauses);
    await waitFor("movement", async () => (await ada.page.evaluate(readPauses)).seen > seen);
    pauses.push((await ada.page.evaluate(readPauses)).longestMs);
    const { length } = talking.heard;
    await waitFor("lines", () => talking.heard.length > length + 2);
    udp.isDropping = false;
    await waitFor("WebTransport again", async () => (await carrier()) === "WebTransport");
  }
  console.log(
    `longest pause of movement when UDP was dropped: ${pauses.map((pause) => Math.round(pause)).join(", ")} ms`,
  );
  expect(Math.min(...pauses)).toBeLessThan(1_000);

  clearInterval(walking);
  const [linesOfBen, linesOfAda] = [talking.stop(), await ada.page.evaluate(stopInPage)];
  const numbers = (name: string, end: number) => Array.from({ length: end }, (_, n) => `${name} ${n}`);
  for (const heardBy of [() => talking.heard, () => ada.page.evaluate(readHeard)]) {
    const last = [`Ben ${linesOfBen - 1}`, `Ada ${linesOfAda - 1}`];
    const heard = await waitFor("the last lines", async () => {
      const lines = await heardBy();
      return last.every((line) => lines.includes(line)) && lines;
    });
    for (const [name, lines] of [
      ["Ben", linesOfBen],
      ["Ada", linesOfAda],
    ] as const) {
      const own = heard.filter((line) => line.startsWith(name));
      // Ben may have begun to listen after Ada's first line.
      expect(own).toEqual(numbers(name, lines).slice(-own.length));
      expect(own.length).toBeGreaterThanOrEqual(lines - 2);
    }
  }
  const { link, reconnects } = await ada.stats();
  expect(reconnects).toBe(0);
  expect(link?.resumed).toBeGreaterThanOrEqual(2);
  expect(ada.errors).toEqual([]);
  ben.close();
  await ada.leave();
});

interface Talk {
  readonly heard: string[];
  readonly timer: number;
  lines: number;
  seen: number;
  seenMs: number;
  longestMs: number;
}

type Talking = typeof globalThis & { talk: Talk };

function talkInPage(lineMs: number): void {
  const world = window.nowcast.world!;
  const say = (): void => world.chat(`${talk.lines++}`);
  const talk: Talk = {
    heard: [],
    timer: window.setInterval(say, lineMs),
    lines: 0,
    seen: 0,
    seenMs: performance.now(),
    longestMs: 0,
  };
  (globalThis as Talking).talk = talk;
  world.on("chat", ({ name, text }) => talk.heard.push(`${name} ${text}`));
  world.on("snapshot", ({ receivedAtMs }) => {
    talk.longestMs = Math.max(talk.longestMs, receivedAtMs - talk.seenMs);
    talk.seenMs = receivedAtMs;
    talk.seen += 1;
  });
}

function stopInPage(): number {
  const { talk } = globalThis as Talking;
  clearInterval(talk.timer);
  return talk.lines;
}

function forgetPauses(): void {
  Object.assign((globalThis as Talking).talk, { longestMs: 0, seenMs: performance.now() });
}

function readPauses(): { readonly longestMs: number; readonly seen: number } {
  const { longestMs, seen } = (globalThis as Talking).talk;
  return { longestMs, seen };
}

function readHeard(): string[] {
  return (globalThis as Talking).talk.heard;
}
