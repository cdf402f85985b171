import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { NowcastError } from "../../src/index.js";
import { DurableActions } from "../../src/world/durable-actions.js";
import { mulberry32 } from "./random.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function collecting(): { readonly actions: DurableActions; readonly sent: number[]; isFull: boolean } {
  const link = {
    sent: [] as number[],
    isFull: false,
    actions: new DurableActions((_action, _args, number) => {
      if (link.isFull) return false;
      link.sent.push(number);
      return true;
    }),
  };
  return link;
}

/** The outcome of a promise, for later inspection. */
function fate(promise: Promise<void>): { state: string } {
  const fate = { state: "waits" };
  promise.then(
    () => {
      fate.state = "done";
    },
    (error: NowcastError) => {
      fate.state = error.code;
    },
  );
  return fate;
}

describe("durable actions", () => {
  it("are numbered after those of the client's earlier page", () => {
    const numbers: number[] = [];
    const actions = new DurableActions((_action, _args, number) => numbers.push(number) > 0, 7);
    actions.connected();
    void actions.act("buy", {});
    expect(numbers).toEqual([8]);
    expect(actions.lastNumber).toBe(8);
  });

  it("are sent in order, no faster than a server takes them, and no further apart than it remembers", async () => {
    const { actions, sent } = collecting();
    actions.connected();
    const fates = Array.from({ length: 100 }, () => fate(actions.act("buy", {})));
    expect(sent.length).toBe(10);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(sent.length).toBeGreaterThanOrEqual(24);
    expect(sent.length).toBeLessThanOrEqual(26);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(sent).toEqual(Array.from({ length: 64 }, (_, at) => at + 1));
    actions.done(2);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(sent.length).toBe(64);
    actions.done(1);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(sent.at(-1)).toBe(66);
    expect(fates.slice(0, 3).map(({ state }) => state)).toEqual(["done", "done", "waits"]);
  });

  it("wait while there is no room, and continue", async () => {
    const link = collecting();
    link.actions.connected();
    link.isFull = true;
    const buy = fate(link.actions.act("buy", {}));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(link.sent).toEqual([]);
    link.isFull = false;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(link.sent).toEqual([1]);
    link.actions.done(1);
    await vi.advanceTimersByTimeAsync(0);
    expect(buy.state).toBe("done");
  });

  it("are given up if they are older than a server's memory, or too many", async () => {
    const { actions, sent } = collecting();
    const old = fate(actions.act("buy", {}));
    vi.setSystemTime(Date.now() + 13 * 3_600_000);
    const young = fate(actions.act("buy", {}));
    actions.connected();
    await vi.advanceTimersByTimeAsync(0);
    expect([old.state, young.state, sent]).toEqual(["unanswered", "waits", [2]]);
    const many = Array.from({ length: 1_024 }, () => fate(actions.act("buy", {})));
    await vi.advanceTimersByTimeAsync(0);
    expect(many.at(-1)!.state).toBe("full");
    actions.end(new NowcastError("refused", "it is over"));
    await vi.advanceTimersByTimeAsync(0);
    expect(new Set(many.slice(0, -1).map(({ state }) => state))).toEqual(new Set(["unanswered"]));
  });

  it.each([
    1, 2, 3, 4, 5, 6, 7, 8,
  ])("are each done exactly once by a server that loses connections and unsaved state (seed %d)", async (seed) => {
    const random = mulberry32(seed);
    const below = (end: number): number => Math.floor(random() * end);
    let live = new Once();
    let kept = new Once();
    let waiting: number[] = [];
    const actions = new DurableActions((_action, _args, number) => {
      if (below(10) === 0) return false;
      live.insert(number);
      waiting.push(number);
      return true;
    });
    const keep = (): void => {
      kept = live.clone();
      for (const number of waiting.splice(0)) actions.done(number);
    };
    const fates: { state: string }[] = [];
    for (let turn = 0; turn < 300; turn++) {
      const dice = below(20);
      if (dice === 0) {
        // The process ends: unsaved actions did not happen.
        actions.disconnected();
        live = kept.clone();
        waiting = [];
        actions.connected();
      } else if (dice < 8) fates.push(fate(actions.act("buy", {})));
      else if (dice < 12) keep();
      await vi.advanceTimersByTimeAsync(below(200));
      for (const [at, { state }] of fates.entries()) {
        if (state === "done") expect(kept.done.has(at + 1), `number ${at + 1} of seed ${seed}`).toBe(true);
      }
    }
    for (let turn = 0; turn < 1_000 && fates.some(({ state }) => state !== "done"); turn++) {
      actions.disconnected();
      actions.connected();
      await vi.advanceTimersByTimeAsync(5_000);
      keep();
      await vi.advanceTimersByTimeAsync(0);
    }
    expect(fates.every(({ state }) => state === "done")).toBe(true);
    expect(kept.done.size).toBe(fates.length);
  });
});

/**
 * A server's memory of one client: `crates/store/src/once.rs`. An action that it regards as done must have been done.
 */
class Once {
  readonly done = new Set<number>();
  #floor = 0;
  #above = new Set<number>();

  insert(number: number): void {
    if (number <= this.#floor || this.#above.has(number)) {
      expect(this.done.has(number), `${number} is taken for done`).toBe(true);
      return;
    }
    this.done.add(number);
    this.#above.add(number);
    while (this.#above.size > 64 || this.#above.has(this.#floor + 1)) {
      this.#floor = Math.min(...this.#above);
      this.#above.delete(this.#floor);
    }
  }

  clone(): Once {
    const clone = new Once();
    for (const number of this.done) clone.done.add(number);
    clone.#floor = this.#floor;
    clone.#above = new Set(this.#above);
    return clone;
  }
}
