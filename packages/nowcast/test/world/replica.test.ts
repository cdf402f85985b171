import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { WireError } from "../../src/errors/nowcast-error.js";
import { Grain } from "../../src/world/session/grain.js";
import { type Movement, Replica } from "../../src/world/session/replica.js";
import { FINEST, payload } from "./server-words.js";

interface Vector {
  readonly steps: readonly {
    readonly fate: "arrives" | "lost" | "late";
    readonly bytes: string;
    readonly controls: number;
  }[];
  readonly rows: readonly { readonly id: number; readonly row: readonly number[]; readonly grain: number }[];
}

const path = new URL("../../../../spec/vectors/world/replication.json", import.meta.url);
const { steps, rows } = JSON.parse(readFileSync(path, "utf8")) as Vector;
const nobody: Movement = { moved: () => {} };

interface Arrival {
  readonly payload: Uint8Array;
  readonly sequence: number;
}

/** The payloads in the order of their arrival. */
function* arrivals(): Generator<Arrival> {
  const late: Arrival[] = [];
  for (const { fate, bytes, controls } of steps) {
    const arrival = { payload: Buffer.from(bytes, "hex"), sequence: controls };
    if (fate === "late") late.push(arrival);
    if (fate !== "arrives") continue;
    yield arrival;
    yield* late.splice(0);
  }
}

describe("a replica", () => {
  it("equals the vectors' state despite losses and late packets", () => {
    const replica = new Replica();
    const last = new Map<number, number[]>();
    const movement: Movement = {
      moved(id, { values, at, tick }, stillTick) {
        last.set(id, [...values.subarray(at, at + 7)]);
        expect((tick - stillTick) | 0, `entity ${id}`).toBeGreaterThanOrEqual(0);
      },
    };
    for (const { payload, sequence } of arrivals()) {
      expect(replica.apply(payload, movement)).toMatchObject({ missing: 0, ackedInputSequence: sequence });
    }
    expect(rows.length).toBeGreaterThan(30);
    expect(new Set(rows.map(({ grain }) => grain)).size, "grains").toBe(2);
    for (const { id, row, grain: number } of rows) {
      const { values, at, grain } = replica.find(id)!;
      expect(grain.number, `entity ${id}`).toBe(number);
      expect([...values.subarray(at, at + 7)], `entity ${id}`).toEqual(row);
      expect(last.get(id), `the newest row of entity ${id}`).toEqual(row);
    }
  });

  it("shows an entity that comes into sight again at its current position", () => {
    const replica = new Replica();
    const moved: number[] = [];
    const movement: Movement = { moved: (id, { values, at }) => void moved.push(id, values[at]! / 1024) };
    const told = (tick: number, x: number) => {
      return payload(tick, 0, [{ group: 1, tick: tick - 2, rows: new Map([[7, [x, 0, 0]]]) }]);
    };
    replica.apply(told(100, 1), movement);
    replica.hide(7, 110);
    expect(replica.find(7)).toBeUndefined();
    replica.apply(told(108, 2), movement);
    expect(replica.find(7), "a late payload").toBeUndefined();
    replica.apply(payload(120, 0, [{ group: 1, tick: 106, rows: new Map([[7, [2, 0, 0]]]) }]), movement);
    expect(replica.find(7), "the same frame, which is still valid").toBeDefined();
    expect(moved).toEqual([7, 1, 7, 2]);
  });

  it("reports missing frames after it lost its memory, and continues", () => {
    const replica = new Replica();
    const late = [...arrivals()].slice(10);
    expect(late.some(({ payload }) => replica.apply(payload, nobody).missing > 0)).toBe(true);
  });

  it("reads or refuses any bytes, and names the field", () => {
    let seed = 1;
    const random = (): number => {
      seed = (seed * 1103515245 + 12345) & 0x7fffffff;
      return seed / 0x80000000;
    };
    const payloads = [...arrivals()].map(({ payload }) => payload);
    for (let round = 0; round < 2000; round++) {
      const replica = new Replica();
      const payload = Uint8Array.from(payloads[Math.floor(random() * payloads.length)]!);
      payload[Math.floor(random() * payload.length)]! ^= 1 << Math.floor(random() * 8);
      const cut = random() < 0.3 ? payload.subarray(0, Math.floor(random() * payload.length)) : payload;
      try {
        replica.apply(cut, nobody);
      } catch (error) {
        expect(error).toBeInstanceOf(WireError);
        expect((error as WireError).path).not.toBe("");
      }
    }
  });

  it("reports the step and the input of each payload, and rejects one without", () => {
    const replica = new Replica();
    const payload = Uint8Array.of(0x10, 0x20, 0, 0, 0x34, 0x12);
    expect(replica.apply(payload, nobody)).toEqual({ tick: 0x2010, ackedInputSequence: 0x1234, missing: 0 });
    for (const [length, field] of [
      [3, "tick"],
      [5, "controls"],
    ] as const) {
      expect(() => replica.apply(payload.subarray(0, length), nobody)).toThrow(field);
    }
  });

  it("turns rows into metres and unit quaternions", () => {
    const pose = { position: [0, 0, 0], quaternion: [0, 0, 0, 0] };
    const read = (grain: number, ...row: number[]): void =>
      Grain.of(grain)!.readPose({ values: Int32Array.of(0, ...row), at: 1 }, pose);
    read(FINEST, 1024, -512, 0, 3, 2048, 2048, 2048);
    expect(pose.position).toEqual([1, -0.5, 0]);
    expect(Math.hypot(...pose.quaternion)).toBeCloseTo(1, 10);
    expect(pose.quaternion[3]).toBeGreaterThan(0.999);
    read(7 * 16 + 10, 1024, -512, 0, 0, 512, 512, 1023);
    expect(pose.position).toEqual([8, -4, 0]);
    expect(pose.quaternion[3]).toBeCloseTo(Math.SQRT1_2, 10);
    // The three smaller components are too long together: the rotation is scaled to length 1.
    read(FINEST, 0, 0, 0, 3, 4095, 4095, 4095);
    expect(Math.hypot(...pose.quaternion)).toBeCloseTo(1, 10);
  });

  it("refuses rows of a grain that there is not", () => {
    for (const number of [11 * 16 + 12, 10 * 16 + 13, 10 * 16 + 3, 2 ** 20]) {
      expect(Grain.of(number), `${number}`).toBeUndefined();
    }
    const bytes = payload(7, 0, [{ group: 1, tick: 7, rows: new Map() }]);
    bytes[9] = 2;
    expect(() => new Replica().apply(bytes, nobody)).toThrow("grain");
  });
});
