import { describe, expect, it } from "vitest";
import { createPoseBuffer } from "../../src/world/poses/layer.js";
import { type Actor, HeldItemPrediction } from "../../src/world/prediction/held-item-prediction.js";
import { Solid } from "../../src/world/prediction/solid.js";
import type { Action, Entity, EntityId, Kind, World, WorldEvents } from "../../src/world/world.js";

const FRAME_S = 1 / 60;
const AVATAR = 1 as EntityId;
const BLOCK = 2 as EntityId;
const GAIT = {
  height: 1.8,
  radius: 0.35,
  walkSpeed: 3.2,
  runSpeed: 6.4,
  groundAcceleration: 42,
  airAcceleration: 10,
  jumpSpeed: 4.95,
  gravity: 9.81,
};
const ADA: Actor = { position: [0, 0.9, 0], velocity: [0, 0, 0], yaw: 0, gait: GAIT };

const kind = (name: string): Kind => ({
  name,
  body: { shape: "box", size: [1, 1, 1] },
  walker: undefined,
  look: undefined,
  attributes: [],
  owner: undefined,
});

const ARGUMENTS = [
  { name: "block", type: "entity" },
  { name: "power", type: "range(0, 1, 0.01)" },
  { name: "pitch", type: "f32" },
];
const action = (name: string, hint: Action["hint"]): Action => ({
  name,
  arguments: ARGUMENTS,
  durable: false,
  hint,
});
const ACTIONS = [
  action("grab", { target: "block", predict: "grab" }),
  action("throw", { charge: "power", pitch: "pitch", predict: "throw", speed: 10 }),
  action("wave", { key: "v" }),
];

/** A player with a block two metres ahead, and a server controlled by the test. */
class Rig {
  nowMs = 0;
  readonly hands: HeldItemPrediction;
  readonly block = [0, 0.5, -2];
  /** The entity to which the rules attached the block. */
  parent: EntityId | undefined;
  #attributes: Record<string, unknown> = {};
  #refused: (event: WorldEvents["refused"]) => void = () => undefined;

  constructor() {
    const rig = this;
    const entity = (id: EntityId, position: readonly number[]) => ({
      id,
      kind: kind("block"),
      scale: [1, 1, 1],
      position,
      get parent() {
        return id === BLOCK ? rig.parent : undefined;
      },
      get attributes() {
        return id === AVATAR ? rig.#attributes : {};
      },
    });
    const source = {
      on: (type: string, listener: (event: WorldEvents["refused"]) => void) => {
        if (type === "refused") this.#refused = listener;
        return () => undefined;
      },
      entities: new Map([
        [AVATAR, entity(AVATAR, ADA.position as number[]) as unknown as Entity],
        [BLOCK, entity(BLOCK, this.block) as unknown as Entity],
      ]),
      avatarId: AVATAR,
      definition: { version: 1, kinds: [], actions: ACTIONS, events: [], assets: [] },
      stats: { pingMs: 100 },
    };
    this.hands = new HeldItemPrediction(source as unknown as World);
  }

  act(name: string, args: Record<string, unknown> = {}): void {
    this.hands.act(name, args, ADA, this.nowMs);
  }

  told(holding: EntityId | null): void {
    this.#attributes = { holding };
  }

  refuse(name: string): void {
    this.#refused({ action: name, reason: "no" });
  }

  /** Draws the block, which the server has at `told`, and returns whether it was placed. */
  place(told: readonly number[]): { position: number[]; isPlaced: boolean } {
    const pose = createPoseBuffer();
    pose.position.set(told);
    const isPlaced = this.hands.place(BLOCK, pose);
    return { position: [...pose.position], isPlaced };
  }

  /** Runs `count` frames, and returns the drawn positions of the block. The server has it at `told`. */
  frames(count: number, told: readonly number[] = this.block, solids: readonly Solid[] = []): number[][] {
    return Array.from({ length: count }, () => {
      this.nowMs += FRAME_S * 1000;
      this.hands.acknowledge();
      this.hands.advance({ frameMs: this.nowMs, frameS: FRAME_S }, ADA, solids, solids.length);
      return this.place(told).position;
    });
  }
}

/** The longest distance that the block moves between two frames, in metres. */
function jump(frames: readonly number[][]): number {
  const ways = frames
    .slice(1)
    .map((to, at) => Math.hypot(...to.map((value, axis) => value - frames[at]![axis]!)));
  return Math.max(...ways);
}

describe("a grabbed block", () => {
  it("moves in the next frame, is in the hands after a tenth of a second, and stays there when the server confirms", () => {
    const rig = new Rig();
    rig.act("grab", { block: BLOCK });
    expect(rig.hands.holding).toBe(BLOCK);
    const coming = rig.frames(8);
    expect(coming[0]![2]!).toBeGreaterThan(-2);
    expect(coming[7]![2]!).toBeCloseTo(-1.05, 5);
    rig.told(BLOCK);
    // The server shows the block a little farther away than the prediction.
    const going = rig.frames(30, [0, 1, -1.2]);
    expect(jump(going)).toBeLessThan(0.03);
    expect(going.at(-1)!).toEqual([0, 1, -1.2]);
    expect(rig.hands.holding).toBe(BLOCK);
    expect(rig.place([0, 0, 0]).position).toEqual([0, 0, 0]);
  });

  it("moves with the shown avatar once, whether the rules attach it or move it", () => {
    const rig = new Rig();
    rig.told(BLOCK);
    rig.frames(1);
    rig.hands.shift.set([1, 0, 0]);
    expect(rig.place([0, 1, -1]).position, "moved by the rules").toEqual([1, 1, -1]);
    rig.parent = AVATAR;
    expect(rig.place([0, 1, -1]).position, "attached to the avatar").toEqual([0, 1, -1]);
  });

  it("glides back when the server refuses, and when it does nothing in time", () => {
    for (const end of ["refused", "late"]) {
      const rig = new Rig();
      rig.act("grab", { block: BLOCK });
      rig.frames(10);
      if (end === "refused") rig.refuse("grab");
      else rig.frames(66);
      const back = rig.frames(30);
      expect(rig.hands.holding, end).toBeUndefined();
      expect(jump(back), end).toBeLessThan(0.1);
      expect(back.at(-1)!, end).toEqual(rig.block);
    }
  });

  it("is nothing where no target is named, hands are full, or the world does not say how", () => {
    const rig = new Rig();
    rig.act("wave", { block: BLOCK });
    rig.act("grab", {});
    rig.act("fly", {});
    expect(rig.hands.holding).toBeUndefined();
    rig.told(AVATAR);
    rig.act("grab", { block: BLOCK });
    expect(rig.hands.holding).toBe(AVATAR);
  });
});

describe("a thrown block", () => {
  it("flies from its shown position, and changes over to the server's motion", () => {
    const rig = new Rig();
    rig.told(BLOCK);
    rig.frames(2, [0, 1, -1]);
    rig.act("throw", { power: 0.5, pitch: 0 });
    expect(rig.hands.holding).toBeUndefined();
    const flight = rig.frames(12, [0, 1, -1]);
    expect(flight[0]![2]!).toBeCloseTo(-1 - 5 * FRAME_S, 5);
    expect(flight[11]![2]!).toBeCloseTo(-2, 5);
    expect(flight[11]![1]!).toBeLessThan(1);
    rig.told(null);
    const landing = rig.frames(30, [0, 0.8, -1.7]);
    expect(landing.at(-1)!).toEqual([0, 0.8, -1.7]);
  });

  it("stays where it meets something", () => {
    const wall = new Solid();
    wall.place([0, 1, -3], [0, 0, 0, 1]);
    wall.half.set([2, 2, 0.5]);
    const rig = new Rig();
    rig.told(BLOCK);
    rig.frames(2, [0, 1, -1]);
    rig.act("throw", { power: 1, pitch: 0 });
    const flight = rig.frames(40, [0, 1, -1], [wall]);
    expect(flight.at(-1)![2]!).toBeGreaterThan(-2.3);
  });

  it("can follow a grab before the server knows of either", () => {
    const rig = new Rig();
    rig.act("grab", { block: BLOCK });
    const coming = rig.frames(8);
    rig.act("throw", { power: 1, pitch: 0.5 });
    expect(rig.hands.holding).toBeUndefined();
    const flight = rig.frames(10);
    expect(jump([coming.at(-1)!, ...flight])).toBeLessThan(0.25);
    // The server applied both at once, so it never reported a held item.
    expect(rig.frames(120).at(-1)!).toEqual(rig.block);
  });

  it("leaves no state behind after many repetitions", () => {
    const rig = new Rig();
    for (let turn = 0; turn < 50; turn++) {
      rig.act("grab", { block: BLOCK });
      rig.act("throw", { power: 1 });
    }
    rig.frames(200);
    expect(rig.place([0, 0, 0]).position).toEqual([0, 0, 0]);
  });
});
