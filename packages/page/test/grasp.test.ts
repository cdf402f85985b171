import { describe, expect, it } from "vitest";
import type { ActionSource } from "../../nowcast/src/world/describe/binding.js";
import { Actions } from "../src/actions.js";
import { Grasp } from "../src/xr/grasp.js";
import type { Side } from "../src/xr/tracked-input.js";

const STILL = { x: 0, y: 0, z: 0 };
const FAST = { x: 0, y: 2, z: -4 };

const GRAB: ActionSource = {
  name: "grab",
  arguments: [
    { name: "block", type: "u32?" },
    { name: "hand", type: "u32?" },
  ],
  hint: { key: "e", target: "block", of: "block", unless: "holding" },
};
const THROW: ActionSource = {
  name: "throw",
  arguments: [
    { name: "power", type: "range(0, 1, 0.01)" },
    { name: "pitch", type: "range(-1.5, 1.5, 0.01)" },
  ],
  hint: { key: "left", charge: "power", pitch: "pitch", needs: "holding" },
};
const HAND_THROW: ActionSource = {
  ...THROW,
  arguments: [...THROW.arguments, { name: "hand", type: "u32?" }],
};
const PUT_DOWN: ActionSource = { name: "put_down", arguments: [], hint: { key: "q", needs: "holding" } };
const KICK: ActionSource = {
  name: "kick",
  arguments: [{ name: "power", type: "range(0, 1, 0.01)" }],
  hint: { key: "left", charge: "power" },
};

/** A player with two hands: 71 is the left and 72 the right one. */
class Bench {
  readonly sent: [string, Record<string, unknown>][] = [];
  readonly held = new Set<string>();
  target: number | undefined = 9;
  readonly actions: Actions;
  readonly grasp: Grasp;
  side: Side | undefined;

  constructor(actions: readonly ActionSource[]) {
    this.actions = new Actions({
      findTarget: () => (this.target === undefined ? undefined : { id: this.target, rank: 0 }),
      has: (attribute) => this.held.has(attribute),
      send: (action, args) => this.sent.push([action, { ...args }]),
      showCharge: () => undefined,
      showOffers: () => undefined,
      highlight: () => undefined,
      findPlace: () => undefined,
      showCell: () => undefined,
    });
    this.actions.define(actions);
    this.grasp = new Grasp({
      actions: this.actions,
      use: (side) => {
        this.side = side;
        this.actions.hand = side === "left" ? 71 : 72;
        this.actions.update(0, 0, true);
      },
    });
  }
}

describe("a hand that closes and opens", () => {
  it("grabs the touched entity, and throws it at the hand's speed if the world does not know hands", () => {
    const bench = new Bench([GRAB, THROW, PUT_DOWN]);
    bench.grasp.close("left", false);
    expect(bench.sent).toEqual([["grab", { block: 9, hand: 71 }]]);
    bench.held.add("holding");
    bench.grasp.open("left", FAST, 0);
    const [, thrown] = bench.sent[1]!;
    expect(bench.sent[1]![0]).toBe("throw");
    expect(thrown["power"]).toBeCloseTo(Math.hypot(2, 4) / 6);
    expect(thrown["pitch"]).toBeCloseTo(Math.atan2(2, 4));
  });

  it("puts down its item when it opens at rest", () => {
    const bench = new Bench([GRAB, THROW, PUT_DOWN]);
    bench.grasp.close("right", true);
    bench.held.add("holding");
    bench.grasp.open("right", STILL, 0);
    expect(bench.sent[1]).toEqual(["put_down", {}]);
  });

  it("leaves the speed to a world that receives the hand", () => {
    const bench = new Bench([GRAB, HAND_THROW, PUT_DOWN]);
    bench.grasp.close("right", false);
    bench.held.add("holding");
    bench.grasp.open("right", STILL, 0);
    expect(bench.sent[1]).toEqual(["throw", { power: 0, pitch: 0, hand: 72 }]);
  });

  it("releases even if it opens before the world has reported the held item", () => {
    const bench = new Bench([GRAB, THROW, PUT_DOWN]);
    bench.grasp.close("right", false);
    bench.grasp.open("right", STILL, 0);
    bench.grasp.update(100);
    expect(bench.sent.length).toBe(1);
    bench.held.add("holding");
    bench.grasp.update(200);
    bench.grasp.update(300);
    expect(bench.sent.slice(1)).toEqual([["put_down", {}]]);
  });

  it("releases neither the other hand's item nor a refused one", () => {
    const bench = new Bench([GRAB, THROW, PUT_DOWN]);
    bench.grasp.close("left", false);
    bench.held.add("holding");
    bench.target = undefined;
    bench.grasp.close("right", false);
    bench.grasp.open("right", STILL, 0);
    expect(bench.sent.length).toBe(1);
    bench.held.clear();
    bench.grasp.open("left", STILL, 0);
    bench.grasp.update(2000);
    bench.held.add("holding");
    bench.grasp.update(2100);
    expect(bench.sent.length).toBe(1);
  });

  it("acts as the left mouse button by its trigger if no action is offered", () => {
    const bench = new Bench([KICK]);
    bench.target = undefined;
    bench.grasp.close("right", false);
    bench.grasp.open("right", STILL, 0);
    expect(bench.sent).toEqual([]);
    bench.grasp.close("right", true);
    bench.actions.update(0.5, 0, true);
    bench.grasp.open("right", STILL, 0);
    expect(bench.sent).toEqual([["kick", { power: 0.5 }]]);
  });
});
