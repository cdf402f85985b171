/** A page whose own long tasks delay its reads, and a worker without such tasks, in one world over one network. */
import type { Server } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitFor } from "../wait-for.js";
import { serveWorld, type WorldFolder } from "../world-folder.js";
import { Chromium, originOf, servePage, Tab } from "./tab.js";

const RULES = `--!strict
local world = require("@nowcast/world")
local Moon = world.kind("moon", { body = { motion = "kinematic", shape = "sphere", radius = 1 } })
local angle = 0
Moon:on("step", function(moon, dt)
	angle += dt
	moon.position = vector.create(5 * math.cos(angle), 2, 5 * math.sin(angle))
end)
world.on("start", function()
	Moon:spawn { at = vector.create(5, 2, 0) }
end)
`;

/** Number of snapshots for the measurement of the view delay. */
const SNAPSHOTS = 64;
const STALL_MS = 200;
/** Number of snapshots between two stalls. */
const PAUSE = 12;

let pages: Server;
let folder: WorldFolder;
let browser: Chromium;
beforeAll(async () => {
  pages = await servePage();
  folder = await serveWorld("moon", RULES, ["--allow-origin", originOf(pages)]);
  browser = await Chromium.launch();
});
afterAll(async () => {
  await browser?.close();
  await folder?.stop();
  pages?.close();
});

describe.each([
  "webtransport",
  "websocket",
] as const)("a page that is stalled now and then, over %s", (carrier) => {
  it("keeps the view delay of a worker that is not", async () => {
    const [page, worker] = await Promise.all([
      Tab.open(browser, pages, "page"),
      Tab.open(browser, pages, "worker"),
    ]);
    const url = `nowcast://127.0.0.1:${folder.server.port}/moon`;
    await Promise.all([page.call("watch", url, carrier), worker.call("watch", url, carrier)]);
    const heard = async (count: number): Promise<void> => {
      const { snapshots } = await page.call("viewDelay");
      await waitFor("snapshots", async () => (await page.call("viewDelay")).snapshots >= snapshots + count);
    };
    await heard(SNAPSHOTS);
    let stalls = 0;
    for (let snapshots = 0; snapshots < 2 * SNAPSHOTS; snapshots += PAUSE) {
      await heard(PAUSE);
      await page.call("stall", STALL_MS);
      stalls += 1;
    }
    const [stalled, calm] = [await page.call("viewDelay"), await worker.call("viewDelay")];
    console.log(
      `view delay over ${carrier}: ${stalled.delayMs.toFixed(0)} ms after ${stalls} stalls, ${calm.delayMs.toFixed(0)} ms without`,
    );
    expect(calm.snapshots).toBeGreaterThan(2 * SNAPSHOTS);
    expect(stalled.delayMs).toBeLessThan(calm.delayMs + STALL_MS / 4);
    expect([...page.errors, ...worker.errors]).toEqual([]);
    await Promise.all([page.close(), worker.close()]);
  });
});
