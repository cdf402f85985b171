// Prints the displayed poses as one line of JSON. `cargo xtask lab motion` runs this on a host of an emulated link.
// Arguments: `walk`, `football`, `hands` or `course`, the room's address, seconds, a seed, half the width of the ground in
// metres; to run in Chromium, also its program and one carrier. `NOWCAST_SLOWER=4` makes the page's processor four times
// slower, like that of a phone.
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { course } from "./motion-course.mjs";
import { football } from "./motion-football.mjs";
import { hands } from "./motion-hands.mjs";
import { walk, within } from "./motion-walk.mjs";

const GAMES = { walk, football, hands, course };

const [name, address, seconds, seed, extent, browser, carrier] = process.argv.slice(2);
const play = Object.entries(GAMES).find(([game]) => game === name)?.[1];
/** @type {import("nowcast/world").JoinOptions["carriers"]} */
const carriers = carrier === "webtransport" || carrier === "websocket" ? [carrier] : undefined;
const isIncomplete = browser !== undefined && carriers === undefined;
if (!name || !play || !address || extent === undefined || isIncomplete) {
  throw new Error("motion.mjs walk|football|hands|course ADDRESS SECONDS SEED EXTENT [BROWSER CARRIER]");
}
const FRAME_MS = 1000 / 60;
const SERVER_MS = 20_000;
const SPARE_MS = 60_000;
const SLOWER = Number(process.env["NOWCAST_SLOWER"] ?? 1);
if (!(SLOWER >= 1))
  throw new Error("NOWCAST_SLOWER must be a number from 1 up, such as 4: set one, or unset it");

// The server of an emulated host uses a self-signed certificate, and there are no other hosts on this link.
process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
// The server starts at the same time as this script.
const { host } = new URL(address.replace(/^nowcast:/, "http:"));
const site = `http://${host}`;
await within(SERVER_MS, async () => (await fetch(`${site}/healthz`).catch(() => undefined))?.ok);

/** @type {import("./motion-page.mjs").PlanInPage} */
const plan = { address, seconds: Number(seconds), seed: Number(seed), extent: Number(extent) };
const found = browser === undefined ? await playHere(play) : await playInChromium(name, browser);
console.log(JSON.stringify(found));

/** @param {(plan: import("./motion-page.mjs").PlanInPage & { nextFrame: () => Promise<unknown> }) => Promise<object>} run */
async function playHere(run) {
  let dueMs = performance.now();
  const nextFrame = async () => {
    dueMs += FRAME_MS;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueMs - performance.now())));
  };
  return { ...(await run({ ...plan, nextFrame })), program: `Node ${process.version}` };
}

/**
 * @param {string} game
 * @param {string} executablePath
 */
async function playInChromium(game, executablePath) {
  const { build } = await import("esbuild");
  const { launchBrowser } = await import("./launch-browser.mjs");
  const here = dirname(fileURLToPath(import.meta.url));
  const { outputFiles } = await build({
    entryPoints: [join(here, "motion-page.mjs")],
    bundle: true,
    format: "iife",
    target: "es2022",
    platform: "browser",
    logLevel: "error",
    write: false,
  });
  const chrome = await launchBrowser(executablePath, site);
  try {
    // A page of the server itself, so that it is admitted. The code in it is not the server's.
    const page = await chrome.newPage({ bypassCSP: true });
    page.on("console", (message) => console.error(`the page: ${message.text()}`));
    page.on("pageerror", (error) => console.error(`the page: ${error.message}`));
    page.setDefaultTimeout(plan.seconds * 1000 + SPARE_MS);
    await page.goto(`${site}/healthz`);
    const devTools = await page.context().newCDPSession(page);
    await devTools.send("Emulation.setCPUThrottlingRate", { rate: SLOWER });
    await page.addScriptTag({ content: outputFiles[0]?.text ?? "" });
    const played = await page.evaluate(
      ({ game, playing }) => {
        const { games } = /** @type {{ games: import("./motion-page.mjs").Games }} */ (
          /** @type {unknown} */ (globalThis)
        );
        return games[game]?.(playing);
      },
      { game, playing: { ...plan, carriers } },
    );
    return { ...played, program: `Chromium ${chrome.version()}` };
  } finally {
    await chrome.close();
  }
}
