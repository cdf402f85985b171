/**
 * Node's `connect` and the Rust endpoint: the laws over connections that are cut, and a process that is paused.
 * `NOWCAST_CARRIER_SCENARIOS` sets the number of random lives.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { connect } from "../../src/index.js";
import { EchoProcess } from "../echo-process.js";
import { waitFor } from "../wait-for.js";
import { connectPatiently, End, live } from "./life.js";
import { SeveringProxy } from "./severing.js";

const SCENARIOS = Number(process.env["NOWCAST_CARRIER_SCENARIOS"] ?? 10);
const AT_ONCE = 2;
/** The maximum size of messages. Larger ones take a long time at the low rate of a busy machine. */
const BYTES_MAX = 1_500;

let echo: EchoProcess;
beforeAll(async () => {
  echo = await EchoProcess.start();
});
afterAll(() => echo?.stop());

it(
  `obeys the laws over ${SCENARIOS} random lives with killed connections`,
  { timeout: 3_600_000 },
  async () => {
    const totals = { kills: 0, resumed: 0 };
    const seeds = Array.from({ length: SCENARIOS }, (_, seed) => seed);
    const liveSome = async (): Promise<void> => {
      for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
        const proxy = await SeveringProxy.before(echo.port);
        const channel = await connectPatiently(`nowcast://127.0.0.1:${proxy.port}/echo`);
        const fates = { kill: () => proxy.sever(), stall: (isStalled: boolean) => proxy.stall(isStalled) };
        const turn = () => new Promise((resolve) => setImmediate(resolve));
        totals.kills += (await live(seed, [new End(channel, BYTES_MAX)], fates, 60, turn)).kills;
        totals.resumed += channel.status.resumed;
        channel.close();
        proxy.close();
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, liveSome));
    console.log(`${SCENARIOS} lives: ${totals.kills} kills, ${totals.resumed} resumptions`);
    expect(totals.resumed).toBeGreaterThan(0);
  },
);

it("continues after the other process was paused, with the newest value and every event", async () => {
  const own = await EchoProcess.start();
  const channel = await connect(`nowcast://127.0.0.1:${own.port}/echo`);
  const got: number[] = [];
  const states: number[] = [];
  channel.on("message", ({ type, value }) =>
    (type === "state" ? states : got).push(new DataView(value.buffer).getUint32(0)),
  );
  const number = (n: number) => {
    const value = new Uint8Array(4);
    new DataView(value.buffer).setUint32(0, n);
    return value;
  };
  let put = 0;
  const timer = setInterval(() => {
    channel.lane(1).state(1, number(put));
    channel.event(number(put));
    put += 1;
  }, 5);
  await waitFor("the first echoes", () => got.length > 20);
  own.pause(true);
  const before = put;
  await waitFor("the time of a stop", () => put > before + 200);
  expect(channel.status.closed).toBeUndefined();
  own.pause(false);
  await waitFor("the values put in the meantime", () => got.length > before + 200);
  clearInterval(timer);
  const last = put;
  await waitFor("the rest", () => got.length === last && states.at(-1) === last - 1);
  expect(got).toEqual(Array.from({ length: last }, (_, n) => n));
  expect(states).toEqual([...states].sort((a, b) => a - b));
  channel.close();
  await own.stop();
});

it("gets the answers to its commands", async () => {
  const channel = await connect(`nowcast://127.0.0.1:${echo.port}/echo`);
  const values = Array.from({ length: 50 }, (_, n) => Uint8Array.of(n));
  const replies = await Promise.all(values.map((value) => channel.lane(2).command(value)));
  expect(replies).toEqual(values);
  await expect(connect(`nowcast://127.0.0.1:${echo.port}/nobody`)).rejects.toThrow(/no_such_name/);
  channel.close();
});
