import { promptFor } from "@nowcast/page";
import { describe, expect, it } from "vitest";
import {
  type ActionSource,
  type Binding,
  readChatCommands,
  type TargetRule,
} from "../../nowcast/src/world/describe/binding.js";
import { Actions, argumentsOf, buttonOf, lookPitch, readBindings } from "../../page/src/actions.js";

const GRAB: ActionSource = {
  name: "grab",
  arguments: [{ name: "block", type: "u32?" }],
  hint: { key: "e", label: "Grab", target: "block", of: "block", reach: 1.9 },
};
const OPEN: ActionSource = {
  name: "open",
  arguments: [{ name: "door", type: "u32" }],
  hint: { key: "E", label: "Open", target: "door", of: ["door", "hatch"] },
};
const THROW: ActionSource = {
  name: "throw",
  arguments: [
    { name: "pitch", type: "range(-1.5, 1.5, 0.01)" },
    { name: "power", type: "range(0.2, 1, 0.01)" },
  ],
  hint: { key: "left", label: "Throw", charge: "power", pitch: "pitch" },
};
const BUILD: ActionSource = {
  name: "build",
  arguments: [{ name: "at", type: "vec3" }],
  hint: { key: "left", aim: "at", grid: 1, reach: 6, needs: "stone" },
};
const PUT_DOWN: ActionSource = { name: "put_down", arguments: [], hint: { key: "q" } };
const TELEPORT: ActionSource = { name: "teleport", arguments: [], hint: undefined };

/** A page with actions, and their results. */
class Bench {
  readonly sent: [string, Record<string, unknown>][] = [];
  place: readonly [number, number, number] | undefined;
  cell: readonly [number, number, number] | undefined;
  readonly actions: Actions;
  readonly held = new Set<string>();
  target: number | undefined;
  /** The rank of the hatch: it is in view if the rank is negative. */
  hatchRank = -0.5;
  hatch: number | undefined;
  charge: number | undefined;
  offers: readonly Binding[] = [];
  lit: number | undefined;

  constructor(actions: readonly ActionSource[]) {
    this.actions = new Actions({
      findTarget: ({ of }: TargetRule) => {
        const id = of?.has("hatch") ? this.hatch : this.target;
        return id === undefined ? undefined : { id, rank: of?.has("hatch") ? this.hatchRank : 1 };
      },
      has: (attribute) => this.held.has(attribute),
      send: (action, args) => this.sent.push([action, { ...args }]),
      showCharge: (share) => {
        this.charge = share;
      },
      showOffers: (offers) => {
        this.offers = offers;
      },
      highlight: (target) => {
        this.lit = target;
      },
      findPlace: () => this.place,
      showCell: (middle) => {
        this.cell = middle;
      },
    });
    this.actions.define(actions);
  }

  frames(seconds: number): void {
    for (let s = 0; s < seconds; s += 0.05) this.actions.update(0.05, 0.25, true);
  }
}

describe("hints", () => {
  it("name the key of an action, and its target", () => {
    const [grab, open, put] = readBindings([GRAB, OPEN, PUT_DOWN]);
    expect(grab).toMatchObject({
      keys: ["e"],
      label: "Grab",
      target: { argument: "block", isOptional: true, reachM: 1.9 },
    });
    expect(open?.target).toMatchObject({ isOptional: false, reachM: 2.5, of: new Set(["door", "hatch"]) });
    expect(put).toMatchObject({ keys: ["q"], label: "put down" });
  });

  it("list up to four keys, of which each triggers the action", () => {
    const keys = ["E", "left", "e", 7, "F13", "1", "2", "3"];
    const [binding] = readBindings([{ ...PUT_DOWN, hint: { key: keys } }]);
    expect(binding?.keys).toEqual(["e", "left", "1", "2"]);
    const bench = new Bench([{ ...PUT_DOWN, hint: { key: ["q", "1"] } }]);
    expect([...bench.actions.keys]).toEqual(["q", "1"]);
    for (const key of ["1", "q", "e"]) bench.actions.press(key);
    expect(bench.sent).toEqual([
      ["put_down", {}],
      ["put_down", {}],
    ]);
  });

  it("are needed: without one an action is for programs", () => {
    expect(readBindings([TELEPORT])).toEqual([]);
  });

  it("of chat commands are not bindings: a line of chat gives them", () => {
    const command = { usage: "/give who [count]", help: "Gives a player things." };
    const give = { name: "/give", arguments: [], hint: { command } };
    expect(readBindings([give])).toEqual([]);
    expect(readChatCommands([give, GRAB])).toEqual([{ name: "give", ...command }]);
    expect(readChatCommands([{ ...give, hint: { command: { usage: 3 } } }])).toEqual([
      { name: "give", usage: "/give", help: "" },
    ]);
  });

  it("that make no sense are passed over", () => {
    const hint = { key: "F13", label: 7, charge: "nothing", target: ["x"], of: 3, reach: "far" };
    const [binding] = readBindings([{ ...THROW, hint }]);
    expect(binding).toMatchObject({ keys: [], label: "throw", charge: undefined, target: undefined });
  });
});

describe("arguments", () => {
  it("grow from the least to the greatest in a second, and stay there", () => {
    const [binding] = readBindings([THROW]);
    expect(argumentsOf(binding!, 0, 0, undefined)?.["power"]).toBeCloseTo(0.2);
    expect(argumentsOf(binding!, 0.5, 0, undefined)?.["power"]).toBeCloseTo(0.6);
    expect(argumentsOf(binding!, 60, 0, undefined)?.["power"]).toBe(1);
  });

  it("keep an upward look within their bounds", () => {
    const [binding] = readBindings([THROW]);
    expect(argumentsOf(binding!, 0, 9, undefined)?.["pitch"]).toBe(1.5);
    for (const pitch of [-0.5, 0, 0.3, 1.35]) expect(Math.abs(lookPitch(pitch))).toBeLessThanOrEqual(1.5);
  });

  it("name a target, or do without where they may", () => {
    const [grab, open] = readBindings([GRAB, OPEN]);
    expect(argumentsOf(grab!, 0, 0, 7)).toEqual({ block: 7 });
    expect(argumentsOf(grab!, 0, 0, undefined)).toEqual({});
    expect(argumentsOf(open!, 0, 0, undefined)).toBeUndefined();
  });
});

describe("a player at the keys", () => {
  it("sees offered actions, and performs them on the highlighted target", () => {
    const bench = new Bench([GRAB, THROW]);
    bench.frames(0.1);
    expect(bench.offers).toEqual([]);
    bench.target = 42;
    bench.frames(0.1);
    expect(bench.lit).toBe(42);
    expect(promptFor(bench.offers)).toBe("E: Grab");
    bench.actions.press("e");
    expect(bench.sent).toEqual([["grab", { block: 42 }]]);
  });

  it("draws over each target once while the pointer moves, and ends with the release", () => {
    const bench = new Bench([OPEN]);
    bench.hatch = 1;
    bench.frames(0.1);
    expect(bench.actions.press(buttonOf("open"), true)).toBe(true);
    bench.frames(0.2);
    bench.hatch = 2;
    bench.frames(0.2);
    bench.hatch = undefined;
    bench.frames(0.1);
    bench.hatch = 3;
    bench.frames(0.1);
    bench.actions.release(buttonOf("open"));
    bench.hatch = 4;
    bench.frames(0.1);
    expect(bench.sent.map(([, args]) => Object.values(args)[0])).toEqual([1, 2, 3]);
  });

  it("looks around by dragging where a target is near but not in view", () => {
    const bench = new Bench([OPEN]);
    bench.hatch = 1;
    bench.hatchRank = 0.5;
    bench.frames(0.1);
    expect(bench.actions.press(buttonOf("open"), true)).toBe(false);
    expect(bench.actions.stroke(buttonOf("open"))).toBe(false);
    expect(bench.sent).toEqual([]);
  });

  it("looks around by dragging where no target is", () => {
    const bench = new Bench([OPEN]);
    bench.frames(0.1);
    expect(bench.actions.press(buttonOf("open"), true)).toBe(false);
  });

  it("throws when the key is let go, the harder the longer it was held", () => {
    const bench = new Bench([THROW]);
    bench.actions.press("left");
    bench.frames(0.5);
    expect(bench.charge).toBeGreaterThan(0.3);
    expect(bench.sent).toEqual([]);
    bench.actions.release("left");
    expect(bench.charge).toBeUndefined();
    const [[action, args]] = bench.sent as [[string, Record<string, number>]];
    expect(action).toBe("throw");
    expect(args["power"]).toBeCloseTo(0.6, 1);
    expect(args["pitch"]).toBeCloseTo(0.32);
    bench.actions.release("left");
    expect(bench.sent.length).toBe(1);
  });

  it("builds where the pointer is, and sees the cell only while that is possible", () => {
    const bench = new Bench([BUILD]);
    bench.place = [0.5, 0.5, -3.5];
    bench.frames(0.1);
    expect(bench.cell).toBeUndefined();
    bench.held.add("stone");
    bench.frames(0.1);
    expect(bench.cell).toEqual(bench.place);
    bench.actions.press("left");
    expect(bench.sent).toEqual([["build", { at: bench.place }]]);
    bench.place = undefined;
    bench.frames(0.1);
    expect(bench.cell).toBeUndefined();
    bench.actions.press("left");
    expect(bench.sent.length).toBe(1);
  });

  it("does nothing with a press that became a drag", () => {
    const bench = new Bench([THROW, { ...PUT_DOWN, hint: { key: "right" } }]);
    for (const button of ["left", "right"]) {
      bench.actions.press(button, true);
      bench.frames(0.3);
      bench.actions.cancel();
      bench.actions.release(button);
    }
    expect(bench.sent).toEqual([]);
    bench.actions.press("right", true);
    bench.actions.release("right");
    expect(bench.sent).toEqual([["put_down", {}]]);
  });

  it("shares a key between actions: one with a target goes first", () => {
    const bench = new Bench([{ ...PUT_DOWN, hint: { key: "e" } }, GRAB]);
    bench.frames(0.1);
    bench.actions.press("e");
    bench.target = 5;
    bench.frames(0.1);
    bench.actions.press("e");
    expect(bench.sent).toEqual([
      ["put_down", {}],
      ["grab", { block: 5 }],
    ]);
  });

  it("acts on the nearer of two targets whose actions share a key", () => {
    const bench = new Bench([GRAB, OPEN]);
    bench.target = 5;
    bench.hatch = 6;
    bench.frames(0.1);
    expect(bench.lit).toBe(6);
    expect(promptFor(bench.offers)).toBe("E: Open");
    bench.actions.press("e");
    expect(bench.sent).toEqual([["open", { door: 6 }]]);
  });

  it("sends nothing that needs a target while there is none", () => {
    const bench = new Bench([OPEN]);
    bench.frames(0.1);
    bench.actions.press("e");
    expect(bench.sent).toEqual([]);
  });

  it("may touch a button of the action instead", () => {
    const bench = new Bench([THROW, PUT_DOWN]);
    bench.actions.press(buttonOf("put_down"));
    bench.actions.press(buttonOf("throw"));
    bench.actions.release(buttonOf("throw"));
    expect(bench.sent.map(([action]) => action)).toEqual(["put_down", "throw"]);
  });

  it("forgets the current action when the rules change", () => {
    const bench = new Bench([THROW]);
    bench.actions.press("left");
    bench.frames(0.5);
    bench.actions.define([PUT_DOWN]);
    bench.actions.release("left");
    expect(bench.charge).toBeUndefined();
    expect(bench.sent).toEqual([]);
    expect([...bench.actions.keys]).toEqual(["q"]);
  });

  it("offers an action only while the own avatar meets its conditions", () => {
    const grab = { ...GRAB, hint: { ...(GRAB.hint as object), unless: "holding" } };
    const put = { ...PUT_DOWN, hint: { key: "q", needs: "holding" } };
    const bench = new Bench([grab, put]);
    bench.target = 7;
    bench.frames(0.1);
    expect(bench.offers.map(({ action }) => action)).toEqual(["grab"]);
    bench.actions.press("q");
    expect(bench.sent).toEqual([]);
    bench.held.add("holding");
    bench.frames(0.1);
    expect(bench.offers).toEqual([]);
    bench.actions.press("e");
    bench.actions.press("q");
    expect(bench.sent).toEqual([["put_down", {}]]);
  });
});
