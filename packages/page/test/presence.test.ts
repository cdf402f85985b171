import type { EntityId, OwnedPose, SpawnOptions } from "nowcast/world";
import { describe, expect, it } from "vitest";
import { HAND_JOINTS, HAND_POSE_BYTES } from "../../three/src/people/tracked/hand-pose.js";
import { curlHand } from "../../three/src/people/tracked/hand-shape.js";
import { createPose } from "../../three/src/pose.js";
import { type PartState, Presence, type PresenceWorld } from "../src/xr/presence.js";

const OWNER = { by: "player", spawns: 2 };

/** A world that grants its requests, and records them. */
class Bench {
  readonly entities = new Map<
    number,
    { id: number; kind: { name: string }; owner: number; attributes: object }
  >();
  readonly moves: [number, OwnedPose][] = [];
  readonly sets: [number, Record<string, unknown>][] = [];
  readonly despawned: number[] = [];
  spawns = 0;
  refuses = false;
  status = "open";
  playerId = 3;
  definition = {
    kinds: [
      { name: "head", owner: OWNER },
      { name: "hand", owner: OWNER },
    ],
  };
  readonly presence = new Presence(this as unknown as PresenceWorld);
  nowMs = 0;

  async spawn(kind: string, { attributes = {} }: SpawnOptions): Promise<EntityId> {
    this.spawns++;
    if (this.refuses) throw new Error("no");
    const id = 100 + this.spawns;
    this.entities.set(id, { id, kind: { name: kind }, owner: 3, attributes });
    return id as EntityId;
  }

  move(id: number, pose: OwnedPose): void {
    this.moves.push([id, pose]);
  }

  set(id: number, attributes: Record<string, unknown>): void {
    this.sets.push([id, attributes]);
  }

  despawn(id: number): void {
    this.despawned.push(id);
    this.entities.delete(id);
  }

  /** Frames of a headset, 72 a second, with these parts tracked. */
  async frames(seconds: number, head?: PartState, left?: PartState, right?: PartState): Promise<void> {
    for (const endMs = this.nowMs + seconds * 1000; this.nowMs < endMs; this.nowMs += 1000 / 72) {
      this.presence.update(this.nowMs, head, left, right);
      await Promise.resolve();
      await Promise.resolve();
    }
  }
}

function part(changes: Partial<PartState> = {}): PartState {
  return { pose: createPose(), velocity: [0, 0, 0], grip: 0, rotations: undefined, size: 1, ...changes };
}

function joints(grip: number): Float32Array {
  const rotations = new Float32Array(HAND_JOINTS * 4);
  curlHand(grip, false, rotations);
  return rotations;
}

describe("the presence of a player with a headset", () => {
  it("makes a head and two hands once, and moves them 30 times a second at most", async () => {
    const bench = new Bench();
    await bench.frames(2, part(), part(), part());
    expect([...bench.entities.values()].map(({ kind, attributes }) => [kind.name, attributes])).toEqual([
      ["head", {}],
      ["hand", { left: true }],
      ["hand", { left: false }],
    ]);
    expect(bench.spawns).toBe(3);
    expect(bench.moves.length).toBeGreaterThan(3 * 2 * 20);
    expect(bench.moves.length).toBeLessThanOrEqual(3 * 2 * 31);
    expect(bench.presence.handId("right")).toBe(103);
  });

  it("takes away a hand that is not seen for half a second, and brings it back", async () => {
    const bench = new Bench();
    await bench.frames(1, part(), part(), part());
    await bench.frames(0.4, part(), part());
    expect(bench.despawned).toEqual([]);
    await bench.frames(0.3, part(), part());
    expect(bench.despawned).toEqual([103]);
    expect(bench.presence.handId("right")).toBeUndefined();
    await bench.frames(0.2, part(), part(), part());
    expect(bench.presence.handId("right")).toBe(104);
  });

  it("takes everything away when no more frames come", async () => {
    const bench = new Bench();
    await bench.frames(1, part(), part(), part());
    for (let looks = 0; looks < 5; looks++) bench.presence.idle();
    expect(bench.entities.size).toBe(3);
    // A slow frame still counts as a frame, so the parts stay.
    await bench.frames(0.02, part(), part(), part());
    for (let looks = 0; looks < 5; looks++) bench.presence.idle();
    expect(bench.entities.size).toBe(3);
    bench.presence.idle();
    expect(bench.entities.size).toBe(0);
  });

  it("sends fingers a dozen times a second while they bend, and otherwise only a beat", async () => {
    const bench = new Bench();
    const rotations = joints(0);
    for (let grip = 0; grip < 1; grip += 1 / 144) {
      curlHand(grip, false, rotations);
      await bench.frames(1 / 72, undefined, undefined, part({ rotations }));
    }
    const bending = bench.sets.filter(([, changes]) => "joints" in changes);
    expect(bending.length).toBeGreaterThan(15);
    expect(bending.length).toBeLessThanOrEqual(25);
    for (const [, changes] of bending) expect((changes["joints"] as Uint8Array).length).toBe(HAND_POSE_BYTES);
    bench.sets.length = 0;
    await bench.frames(5, undefined, undefined, part({ rotations }));
    const names = bench.sets.flatMap(([, changes]) => Object.keys(changes));
    expect(names.filter((name) => name === "beat").length).toBeGreaterThanOrEqual(4);
    expect(bench.sets.length).toBeLessThanOrEqual(6);
    await bench.frames(0.2, undefined, undefined, part());
    expect(bench.sets.at(-1)?.[1]["joints"]).toBeNull();
  });

  it("retries a refused request every three seconds at most, and never without such kinds", async () => {
    const bench = new Bench();
    bench.refuses = true;
    await bench.frames(7, part());
    expect(bench.spawns).toBe(3);
    bench.definition = { kinds: [{ name: "hand", owner: { by: "program", spawns: 2 } }] };
    await bench.frames(7, part(), part());
    expect(bench.spawns).toBe(3);
  });

  it("continues with its entities when the connection returns", async () => {
    const bench = new Bench();
    await bench.frames(1, undefined, part(), part());
    bench.status = "reconnecting";
    await bench.frames(0.3, undefined, part(), part());
    // The SDK clears the world with the welcome, and the entities arrive later.
    const hands = [...bench.entities];
    bench.entities.clear();
    bench.status = "open";
    await bench.frames(0.3, undefined, part(), part());
    expect(bench.presence.handId("left")).toBeUndefined();
    for (const [id, hand] of hands) bench.entities.set(id, hand);
    await bench.frames(0.3, undefined, part(), part());
    expect(bench.spawns).toBe(2);
    expect(bench.presence.handId("left")).toBe(101);
  });

  it("asks for new entities when the connection returns without them", async () => {
    const bench = new Bench();
    await bench.frames(1, undefined, part(), part());
    bench.status = "reconnecting";
    await bench.frames(0.3, undefined, part(), part());
    bench.entities.clear();
    bench.status = "open";
    await bench.frames(2, undefined, part(), part());
    expect(bench.spawns).toBe(4);
    expect(bench.presence.handId("left")).toBe(103);
  });

  it("leaves nothing behind that is granted after its end", async () => {
    const bench = new Bench();
    bench.presence.update(0, part(), undefined, undefined);
    bench.presence.close();
    await Promise.resolve();
    await Promise.resolve();
    expect(bench.entities.size).toBe(0);
  });

  it("sends no impossible velocity", async () => {
    const bench = new Bench();
    await bench.frames(0.2, part({ velocity: [3000, 0, 4000] }));
    const [, { velocity }] = bench.moves.at(-1)!;
    expect(Math.hypot(...velocity!)).toBeCloseTo(20);
  });
});
