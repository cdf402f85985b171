/**
 * The laws over real sockets whose connections are cut and stalled, Node to Node. `NOWCAST_CARRIER_SCENARIOS=2000` runs
 * as many random lives; by default a few run.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Channel } from "../../src/index.js";
import { type Listener, listen } from "../../src/node/index.js";
import { waitFor } from "../wait-for.js";
import { connectPatiently, facing, live } from "./life.js";
import { SeveringProxy } from "./severing.js";

const SCENARIOS = Number(process.env["NOWCAST_CARRIER_SCENARIOS"] ?? 20);
const AT_ONCE = 10;

let listener: Listener;
beforeAll(async () => {
  const limits = { lanesMax: 4, windowBytes: 65_536, messageBytesMax: 16_384, packetBytesMax: 16_384 };
  const times = { idleTimeoutMs: 10_000, resumeTimeoutMs: 600_000 };
  listener = await listen({
    port: 0,
    sessionsPerAddressMax: 1_024,
    session: { limits: { ...limits, ...times } },
  });
});
afterAll(() => listener.close());

async function scenario(seed: number): Promise<{ readonly kills: number; readonly resumed: number }> {
  const proxy = await SeveringProxy.before(listener.port);
  const service = listener.advertise(`laws-${seed}`);
  const open: Channel[] = [];
  try {
    const [ours, theirs] = await Promise.all([
      connectPatiently(`nowcast://127.0.0.1:${proxy.port}/laws-${seed}`),
      service.accept(),
    ]);
    open.push(ours, theirs!);
    const fates = { kill: () => proxy.sever(), stall: (isStalled: boolean) => proxy.stall(isStalled) };
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    const { kills } = await live(seed, facing(ours, theirs!), fates, 60, turn);
    const { resumed } = ours.status;
    ours.close();
    // The peer is informed, unless the connection was cut at the end.
    await waitFor("the peer to receive the end", () => !theirs!.status.isOpen);
    return { kills, resumed };
  } finally {
    for (const channel of open) channel.close();
    service.close();
    proxy.close();
  }
}

it(
  `obeys the laws over ${SCENARIOS} random lives with killed connections`,
  { timeout: 3_600_000 },
  async () => {
    const totals = { kills: 0, resumed: 0 };
    const seeds = Array.from({ length: SCENARIOS }, (_, seed) => seed);
    const liveSome = async (): Promise<void> => {
      for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
        const { kills, resumed } = await scenario(seed);
        totals.kills += kills;
        totals.resumed += resumed;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, liveSome));
    console.log(`${SCENARIOS} lives: ${totals.kills} kills, ${totals.resumed} resumptions`);
    expect(totals.resumed).toBeGreaterThan(0);
  },
);
