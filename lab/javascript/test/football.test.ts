/** Kicks in `worlds/football` over a slow link that stalls. The server must judge a kick by the kicker's view. */
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { FarLink } from "../../../packages/nowcast/test/far-link.js";
import { ServerProcess } from "../../../packages/nowcast/test/server-process.js";
import { football, type Kick, REACH_M } from "../motion-football.mjs";

const WORLD = fileURLToPath(new URL("../../../worlds/football", import.meta.url));
const FRAME_MS = 1000 / 60;
/**
 * The maximum age of a view that is clear. A server uses views of up to 500 ms. The age that this test computes differs
 * from the server's by a frame, by steps of the world, and by changes of the view delay on the way.
 */
const REWIND_MS = 450;
/**
 * Tolerance, in metres: a kicked or bouncing ball is shown on a curve between two snapshots, and the kicker between two
 * steps.
 */
const OFF_M = 0.12;
/** A player shown farther than this from the server's place was pushed, or ran into something that moves. */
const OWN_M = 0.08;
/** Number of clear kicks that suffices; then the number of accepted and of rejected ones among them. */
const KICKS = 12;
const KICKS_OF_EACH = 3;
/** On a busy machine most kicks are not clear. */
const SECONDS_MAX = 500;

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/**
 * No server can know the kicker's view if updates of the ball were late, a walker was pushed, or the view is too old.
 */
function isClear({ behindMs, isGuessed, ownErrorM }: Kick): boolean {
  return behindMs < REWIND_MS && !isGuessed && ownErrorM !== null && ownErrorM < OWN_M;
}

function isEnough(kicks: readonly Kick[]): boolean {
  const clear = kicks.filter(isClear);
  const counted = clear.filter(({ isCounted }) => isCounted).length;
  return clear.length >= KICKS && counted >= KICKS_OF_EACH && clear.length - counted >= KICKS_OF_EACH;
}

describe("football at 100 ms and 5 % lost", () => {
  it("counts a kick that was within reach on the screen of the kicking player, and no other", async () => {
    const server = await ServerProcess.start(0, ["--world", `football=${WORLD}`]);
    cleanups.push(() => server.stop());
    const link = await FarLink.open(server.port, { oneWayMs: 50, loss: 0.05, againMs: 130, seed: 5 });
    cleanups.push(() => link.close());
    const { kicks } = await football({
      address: `nowcast://127.0.0.1:${link.port}/football`,
      seconds: SECONDS_MAX,
      isEnough,
      seed: 5,
      nextFrame: () => new Promise((resolve) => setTimeout(resolve, FRAME_MS)),
    });
    const told = kicks.map((kick) => JSON.stringify(kick)).join("\n");
    expect(isEnough(kicks), told).toBe(true);
    for (const kick of kicks.filter(isClear)) {
      expect(Math.abs(kick.judgedM - kick.shownM), JSON.stringify(kick)).toBeLessThan(OFF_M);
      if (Math.abs(kick.shownM - REACH_M) < OFF_M) continue;
      expect(kick.isCounted, JSON.stringify(kick)).toBe(kick.shownM <= REACH_M);
    }
  }, 600_000);
});
