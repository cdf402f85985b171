import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { OpenCarrier } from "../../src/carrier/carrier.js";
import { clockUs, type Driver } from "../../src/carrier/driver.js";
import { CarrierMigrator } from "../../src/connect/carrier-migrator.js";

/** A session whose carrier has ended. */
const session = {
  isClosed: false,
  isDetached: true,
  isOpen: false,
  lastHeardUs: 0,
  stats: { packetsReceived: 0 },
};

const driver = { session, carrierKind: undefined } as unknown as Driver;

let migrator: CarrierMigrator | undefined;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  migrator?.stop();
  vi.useRealTimers();
});

/** Starts a migrator whose carriers never open. Returns how often a carrier was tried before any time passed. */
async function triesAtOnce(refresh: () => Promise<boolean>): Promise<() => number> {
  const open = vi.fn(() => Promise.reject(new Error("no program listens there")));
  migrator = new CarrierMigrator(driver, { kinds: ["websocket"], open, refresh });
  migrator.look();
  await vi.advanceTimersByTimeAsync(0);
  return () => open.mock.calls.length;
}

describe("a session whose carrier has ended", () => {
  it("waits before its next attempt at the same endpoint", async () => {
    const tries = await triesAtOnce(() => Promise.resolve(false));
    expect(tries()).toBe(1);
    await vi.advanceTimersByTimeAsync(200);
    expect(tries()).toBe(2);
  });

  it("waits before its next attempt if the endpoint ends each carrier at once", async () => {
    const open = vi.fn(() => Promise.resolve({} as OpenCarrier));
    const ending = { ...driver, session, resume: () => migrator!.look() } as unknown as Driver;
    const refresh = () => Promise.resolve(false);
    migrator = new CarrierMigrator(ending, { kinds: ["websocket"], open, refresh });
    migrator.look();
    await vi.advanceTimersByTimeAsync(40);
    expect(open).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(1_000);
    const tries = open.mock.calls.length;
    expect(tries).toBeGreaterThan(2);
    expect(tries).toBeLessThan(9);
  });

  it("goes to another endpoint of its cluster without a pause", async () => {
    const answers = [true, false];
    const tries = await triesAtOnce(() => Promise.resolve(answers.shift() ?? false));
    expect(tries()).toBe(2);
  });

  it("gives up an attempt without an answer when another endpoint has the service", async () => {
    let answer: (hasMoved: boolean) => void = () => {};
    const refresh = (): Promise<boolean> =>
      new Promise((resolve) => {
        answer = resolve;
      });
    let tries = 0;
    const open = (): Promise<never> => {
      tries++;
      return tries === 2 ? new Promise(() => {}) : Promise.reject(new Error("no program listens there"));
    };
    migrator = new CarrierMigrator(driver, { kinds: ["websocket"], open, refresh });
    migrator.look();
    await vi.advanceTimersByTimeAsync(200);
    expect(tries).toBe(2);
    answer(true);
    await vi.advanceTimersByTimeAsync(0);
    expect(tries).toBe(3);
  });
});

/** Starts a migrator on an open WebSocket, whose new carriers never open. */
function onOpenCarrier() {
  const open = {
    isClosed: false,
    isDetached: false,
    isOpen: true,
    probeTimeoutUs: 50_000,
    shortestRoundTripUs: 20_000,
    stats: { packetsReceived: 0 },
    lastHeardUs: clockUs(),
    silentForUs: (nowUs: number) => nowUs - open.lastHeardUs,
  };
  const opener = vi.fn(() => new Promise<never>(() => {}));
  migrator = new CarrierMigrator(
    { session: open, carrierKind: "websocket", wake: () => {} } as unknown as Driver,
    { kinds: ["websocket"], open: opener, refresh: () => Promise.resolve(false) },
  );
  const hear = (): void => {
    open.lastHeardUs = clockUs();
  };
  return { hear, tries: () => opener.mock.calls.length };
}

describe("a session whose carrier is silent", () => {
  it("opens another carrier within half a second", async () => {
    const { tries } = onOpenCarrier();
    await vi.advanceTimersByTimeAsync(500);
    expect(tries()).toBe(1);
  });

  it("opens two carriers for twelve late answers, so that an overloaded endpoint can recover", async () => {
    const { hear, tries } = onOpenCarrier();
    for (let answer = 0; answer < 12; answer++) {
      await vi.advanceTimersByTimeAsync(700);
      hear();
    }
    expect(tries()).toBe(2);
  });
});
