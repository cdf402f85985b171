import { describe, expect, it, vi } from "vitest";
import { CollisionWorld } from "../../src/world/prediction/collision-world.js";
import { Solid } from "../../src/world/prediction/solid.js";
import type { EntityId, Input, World } from "../../src/world/world.js";
import {
  AHEAD,
  entityOf,
  FRAME_MS,
  kind,
  LEAP,
  PATIENCE_STEPS,
  percentile,
  Rig,
  STILL,
} from "./prediction-rig.js";
import { mulberry32 } from "./random.js";

/** Walks, turns, runs and jumps like a player. */
function wanderer(seed: number): (nowMs: number) => Input {
  const random = mulberry32(seed);
  let [input, untilMs] = [STILL, 1_000];
  return (nowMs) => {
    if (nowMs >= untilMs) {
      untilMs = nowMs + 100 + random() * 700;
      const yaw = random() * 6 - 3;
      const right = Math.floor(random() * 3) - 1;
      input = random() < 0.2 ? STILL : { forward: 1, right, yaw, run: random() < 0.5, jump: random() < 0.2 };
    }
    return input;
  };
}

/** Looks in another direction in each step, as with a mouse. */
function lookingAbout(seed: number): (nowMs: number) => Input {
  const walk = wanderer(seed);
  return (nowMs) => ({ ...walk(nowMs), yaw: Math.sin(nowMs / 700) * 3 });
}

const BLOCKS = [2, 3, 4, 5].map((id) =>
  entityOf(id, kind("block", [2, 1, 2]), [id * 4 - 14, 0.5 - 0.2 * id, -3]),
);

describe("one's own avatar whose speed the rules change", () => {
  const link = { delayMs: 100, jitterMs: 5, loss: 0, burst: 1 };

  it("is where the server has it as soon as the page knows the change, without a correction", () => {
    const rig = new Rig(link, 6);
    rig.run(3_000, () => AHEAD);
    const { corrections } = rig.predictor;
    rig.adjust(2);
    rig.run(300, () => AHEAD);
    rig.errors.length = 0;
    rig.run(2_000, () => AHEAD);
    expect(rig.mover.vz).toBeCloseTo(-6.4, 2);
    expect(rig.errors.length).toBeGreaterThan(100);
    expect(Math.max(...rig.errors)).toBeLessThan(0.003);
    expect(rig.predictor.corrections).toBe(corrections);
  });

  it("stands still while it is frozen, also in the air, and falls when it is released", () => {
    const rig = new Rig(link, 7);
    rig.run(3_000, (nowMs) => ({ ...AHEAD, jump: nowMs > 2_600 }));
    expect(rig.mover.py).toBeGreaterThan(1);
    rig.adjust(1, 1, true);
    rig.run(1_000, () => AHEAD);
    const shown = [...rig.shown];
    rig.errors.length = 0;
    rig.run(1_000, () => AHEAD);
    expect([...rig.shown]).toEqual(shown);
    expect(Math.max(...rig.errors)).toBeLessThan(0.003);
    rig.adjust(1);
    rig.run(2_000, () => AHEAD);
    expect(rig.mover.py).toBeCloseTo(0.9, 2);
    rig.errors.length = 0;
    rig.run(500, () => AHEAD);
    expect(Math.max(...rig.errors)).toBeLessThan(0.01);
  });
});

describe("one's own avatar on a moving platform", () => {
  const link = { delayMs: 100, jitterMs: 5, loss: 0.05, burst: 1 };

  it("rides it at 5 m/s within 2 cm of the server", () => {
    const rig = new Rig(link, 3, [], (seconds) => [5 * seconds - 50, 2, 0.5 * seconds, 0]);
    rig.teleport(-50, 3.4, 0);
    rig.run(4_000, () => STILL);
    rig.errors.length = 0;
    rig.run(14_000, () => STILL);
    expect(rig.errors.length).toBeGreaterThan(700);
    expect(percentile(rig.errors, 0.99)).toBeLessThan(0.02);
    expect(Math.abs(rig.mover.px - (5 * 18 - 50))).toBeLessThan(2);
  });

  it.each([5, 21])("is displayed standing on it at %i m/s", (speed) => {
    // It gains 10 m/s in each second, so that friction holds the avatar.
    const startS = speed / 10;
    const wayM = (s: number): number => (s < startS ? 5 * s * s : speed * (s - startS / 2));
    const rig = new Rig(link, 3, [], (seconds) => [wayM(seconds), 2, 0, 0]);
    rig.run(1_000 * startS + 1_000, () => STILL);
    const places = Array.from({ length: 600 }, () => {
      rig.run(FRAME_MS, () => STILL);
      return rig.aboardM;
    });
    expect(Math.abs(rig.feetM)).toBeLessThan(0.03);
    expect(Math.max(...places) - Math.min(...places)).toBeLessThan(0.05);
  });

  it("keeps its feet on a lift that rises and descends", () => {
    const rig = new Rig(link, 4, [], (seconds) => [0, 3 + 1.5 * Math.sin(0.8 * seconds), 0, 0]);
    rig.run(4_000, () => STILL);
    const gaps: number[] = [];
    rig.errors.length = 0;
    for (let frame = 0; frame < 900; frame++) {
      rig.run(FRAME_MS, () => STILL);
      gaps.push(Math.abs(rig.feetM));
    }
    expect(percentile(rig.errors, 0.99)).toBeLessThan(0.02);
    expect(percentile(gaps, 0.99)).toBeLessThan(0.03);
  });

  it("turns with a disc, and keeps its distance from the centre", () => {
    const rig = new Rig(link, 5, [], (seconds) => [0, 2, 0, 0.8 * seconds]);
    rig.teleport(2.5, 3.4, 0);
    rig.run(4_000, () => STILL);
    const { carriedYaw } = rig.predictor;
    rig.errors.length = 0;
    rig.run(5_000, () => STILL);
    expect(rig.predictor.carriedYaw - carriedYaw).toBeCloseTo(4, 1);
    expect(Math.hypot(rig.mover.px, rig.mover.pz)).toBeCloseTo(2.5, 1);
    expect(percentile(rig.errors, 0.99)).toBeLessThan(0.02);
  });
});

describe("one's own avatar", () => {
  it("moves in the first frame after a key, and jumps in the first frame after the button", () => {
    const rig = new Rig({ delayMs: 150, jitterMs: 0, loss: 0, burst: 1 }, 1);
    rig.run(1_000, () => STILL);
    const [, y, z] = rig.shown;
    rig.run(FRAME_MS + 1, () => AHEAD);
    expect(rig.shown[2]!).toBeLessThan(z!);
    rig.run(FRAME_MS + 1, () => ({ ...AHEAD, jump: true }));
    expect(rig.shown[1]!).toBeGreaterThan(y! + 0.001);
  });

  it("leaves the ground in the first frame after an action that launches it, and flies as on the server", () => {
    const rig = new Rig({ delayMs: 100, jitterMs: 0, loss: 0, burst: 1 }, 1);
    rig.run(500, () => STILL);
    rig.run(500, () => AHEAD);
    const [, y] = rig.shown;
    const { corrections } = rig.predictor;
    rig.errors.length = 0;
    rig.act(LEAP.name);
    rig.run(FRAME_MS + 1, () => AHEAD);
    expect(rig.shown[1]! - y!).toBeGreaterThan(0.05);
    rig.run(2_500, () => AHEAD);
    expect(rig.errors.length).toBeGreaterThan(100);
    expect(Math.max(...rig.errors)).toBeLessThan(0.001);
    expect(rig.predictor.corrections).toBe(corrections);
  });

  it("takes its first step with ground under its feet when it begins on the ground", () => {
    const rig = new Rig({ delayMs: 150, jitterMs: 0, loss: 0, burst: 1 }, 1);
    rig.run(5 * FRAME_MS, () => AHEAD);
    const place = [0, 0, 0];
    expect(rig.predictor.predicted(2, place)).toBe(true);
    // A walker accelerates by 42 m/s² on the ground and by 10 m/s² in the air.
    expect(place[2]!).toBeCloseTo(-42 / 60 / 60, 5);
  });

  for (const delayMs of [50, 100, 150]) {
    for (const [loss, burst] of [
      [0, 1],
      [0.01, 1],
      [0.05, 1],
      [0.05, 3],
    ] as const) {
      it(`equals the server's position, at ${delayMs} ms and ${100 * loss} % lost, ${burst} at a time`, () => {
        const rig = new Rig({ delayMs, jitterMs: 10, loss, burst }, 5);
        rig.run(30_000, wanderer(7));
        expect(rig.errors.length).toBeGreaterThan(1_000);
        expect(percentile(rig.errors, 0.999)).toBeLessThan(0.001);
        expect(percentile(rig.jumps, 0.999)).toBeLessThan(0.001);
      });
    }
  }

  it("equals the server's position over a stream that stalls, because the server waits for input", () => {
    const link = { delayMs: 100, jitterMs: 2, loss: 0.05, burst: 1, againMs: 300 };
    const rig = new Rig(link, 5);
    rig.run(60_000, wanderer(7));
    expect(rig.waits).toBeGreaterThan(20);
    expect(rig.strides).toBeGreaterThan(0);
    expect(rig.strides).toBeLessThanOrEqual(rig.waits + 2 * PATIENCE_STEPS);
    expect(percentile(rig.errors, 0.99)).toBeLessThan(0.02);
    expect(percentile(rig.jumps, 0.99)).toBeLessThan(0.011);
  });

  for (const [who, controls] of [
    ["a walking player", wanderer],
    ["a walking player who looks about", lookingAbout],
  ] as const) {
    it(`equals the server's position over a stream that stalls for nearly a second, of ${who}`, () => {
      const stall = { forMs: 900, everyMs: 4_000 };
      const rig = new Rig({ delayMs: 100, jitterMs: 0, loss: 0, burst: 1, stall }, 5);
      rig.run(60_000, controls(7));
      expect(rig.waits).toBeGreaterThan(40);
      expect(rig.strides).toBeGreaterThan(0);
      expect(rig.errors.length).toBeGreaterThan(3_300);
      expect(Math.max(...rig.errors)).toBeLessThan(0.001);
      expect(Math.max(...rig.jumps)).toBeLessThan(0.001);
    });
  }

  it("sends every step until it has rested for long, and then only that it is present", () => {
    const rig = new Rig({ delayMs: 20, jitterMs: 0, loss: 0, burst: 1 }, 1);
    rig.run(500, () => AHEAD);
    rig.sent = 0;
    rig.run(1_000, () => AHEAD);
    expect(rig.sent).toBeGreaterThan(25);
    rig.run(2_000, () => STILL);
    rig.sent = 0;
    rig.run(2_000, () => STILL);
    expect(rig.sent).toBeLessThan(6);
  });

  it("equals the server's position among blocks", () => {
    const rig = new Rig({ delayMs: 100, jitterMs: 5, loss: 0.01, burst: 1 }, 3, BLOCKS);
    rig.run(30_000, wanderer(2));
    expect(percentile(rig.errors, 0.99)).toBeLessThan(0.02);
  });

  it("is put elsewhere at once, and pushed aside by a centimetre a frame", () => {
    const rig = new Rig({ delayMs: 100, jitterMs: 0, loss: 0, burst: 1 }, 1);
    rig.run(1_000, () => STILL);
    rig.teleport(20, 0.9, 0);
    rig.run(300, () => STILL);
    expect(rig.shown[0]!).toBeCloseTo(20, 2);
    rig.teleport(20.2, 0.9, 0);
    const before = rig.jumps.length;
    rig.run(1_500, () => STILL);
    expect(rig.shown[0]!).toBeCloseTo(20.2, 2);
    expect(Math.max(...rig.jumps.slice(before))).toBeLessThan(0.0101);
  });

  it("stands at the server's resting position, on a body that the client does not know", () => {
    const rig = new Rig({ delayMs: 100, jitterMs: 0, loss: 0, burst: 1 }, 1);
    rig.run(1_000, () => STILL);
    const ledge = new Solid();
    ledge.half.set([2, 0.5, 2]);
    ledge.place([20, 1.5, 0], [0, 0, 0, 1]);
    rig.hidden.push(ledge);
    rig.teleport(20, 2.9, 0);
    rig.run(2_000, () => STILL);
    const { corrections } = rig.predictor;
    let lowest = Number.POSITIVE_INFINITY;
    rig.run(3_000, () => {
      lowest = Math.min(lowest, rig.shown[1]!);
      return STILL;
    });
    expect(rig.mover.py).toBeCloseTo(2.9, 2);
    expect(lowest).toBeGreaterThan(2.88);
    expect(rig.predictor.corrections - corrections).toBeLessThan(3);
  });

  it("stops while its input cannot reach the server, and continues afterwards", () => {
    const rig = new Rig({ delayMs: 100, jitterMs: 0, loss: 0, burst: 1 }, 1);
    rig.run(1_000, () => AHEAD);
    const source = rig.source as { connection?: string };
    source.connection = "unstable";
    rig.run(500, () => AHEAD);
    const stood = rig.shown[2]!;
    rig.run(5_000, () => AHEAD);
    expect(rig.shown[2]!).toBeCloseTo(stood, 2);
    source.connection = "steady";
    rig.run(1_000, () => AHEAD);
    expect(rig.shown[2]!).toBeLessThan(stood - 1);
  });

  it("glides to the server's position after a cut in which it walked on", () => {
    const rig = new Rig({ delayMs: 60, jitterMs: 0, loss: 0, burst: 1 }, 1);
    rig.run(2_000, () => AHEAD);
    rig.cut();
    const places = rig.path(1_000, () => AHEAD);
    rig.noticeCut();
    places.push(...rig.path(1_000, () => AHEAD));
    const apart = (a: number[], b: number[]) => Math.hypot(a[0]! - b[0]!, a[1]! - b[1]!, a[2]! - b[2]!);
    const { px, py, pz } = rig.mover;
    expect(apart(rig.shown, [px, py, pz])).toBeGreaterThan(2);
    rig.rejoin();
    places.push(...rig.path(3_000, () => STILL));
    const jumps = places.slice(1).map((place, at) => apart(place, places[at]!));
    expect(Math.max(...jumps)).toBeLessThan(0.25);
    expect(apart(rig.shown, [rig.mover.px, rig.mover.py, rig.mover.pz])).toBeLessThan(0.01);
  });

  it("sorts the bodies around it once, however many arrive", () => {
    const crowd = Array.from({ length: 3_000 }, (_, at) =>
      entityOf(9_000 - at, kind("block", [1, 1, 1]), [at, 90, 0]),
    );
    const sort = vi.spyOn(Array.prototype, "sort");
    const surroundings = new CollisionWorld(
      {
        on: () => () => undefined,
        entities: new Map(crowd.map((body) => [body.id, body])),
      } as unknown as World,
      70,
    );
    surroundings.gather({ px: 0, py: 90, pz: 0 }, 6, 1 as EntityId, undefined);
    expect(surroundings.count).toBeGreaterThan(3);
    expect(sort).toHaveBeenCalledTimes(1);
    sort.mockRestore();
  });

  it("continues from the server's position after a page was suspended", () => {
    const rig = new Rig({ delayMs: 100, jitterMs: 0, loss: 0, burst: 1 }, 1);
    rig.run(1_000, () => AHEAD);
    rig.nowMs += 10_000;
    rig.run(2_000, () => STILL);
    expect(rig.predictor.skippedSteps).toBeGreaterThan(500);
    expect(Math.hypot(rig.shown[0]! - rig.mover.px, rig.shown[2]! - rig.mover.pz)).toBeLessThan(0.01);
  });
});
