import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { WireError } from "../../src/errors/nowcast-error.js";
import { Grain } from "../../src/world/session/grain.js";
import { MotionState, type MotionUnits } from "../../src/world/session/motion-state.js";
import { type Movement, Replica } from "../../src/world/session/replica.js";

interface State {
  readonly steps: number;
  readonly position: readonly string[];
  readonly rotation: readonly string[];
  readonly row: readonly number[];
}

interface Frame {
  readonly tick: number;
  readonly id: number;
  readonly row: readonly number[];
}

interface Rows {
  readonly integrated: readonly {
    readonly grain: number;
    readonly row: readonly number[];
    readonly after: readonly State[];
  }[];
  readonly encoded: readonly {
    readonly grain: number;
    readonly baseline: Frame | null;
    readonly frame: Frame;
    readonly bytes: string;
  }[];
}

interface Payloads {
  readonly steps: readonly { readonly fate: "arrives" | "lost" | "late"; readonly bytes: string }[];
  readonly poses: readonly {
    readonly id: number;
    readonly is_motion: boolean;
    readonly pose: readonly string[];
  }[];
}

function vectors(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../../../../spec/vectors/world/${name}`, import.meta.url), "utf8"));
}

const { integrated, encoded } = vectors("motion.json") as Rows;
const { steps, poses } = vectors("motion-payloads.json") as Payloads;

function unitsOf(grain: number): MotionUnits {
  return Grain.of(grain)!.motionUnits!;
}

function bitsOf(values: readonly number[]): string[] {
  return values.map((value) => {
    const view = new DataView(new ArrayBuffer(8));
    view.setFloat64(0, value);
    return view.getBigUint64(0).toString(16).padStart(16, "0");
  });
}

function singleBitsOf(values: readonly number[]): string[] {
  return values.map((value) => {
    const view = new DataView(new ArrayBuffer(4));
    view.setFloat32(0, value);
    return view.getUint32(0).toString(16).padStart(8, "0");
  });
}

function* arrivals(): Generator<Uint8Array> {
  const late: Uint8Array[] = [];
  for (const { fate, bytes } of steps) {
    const payload = Buffer.from(bytes, "hex");
    if (fate === "late") late.push(payload);
    if (fate !== "arrives") continue;
    yield payload;
    yield* late.splice(0);
  }
}

describe("a motion row", () => {
  it("is integrated to the bits of the vectors", () => {
    expect(integrated.length).toBeGreaterThan(4);
    for (const { grain, row, after } of integrated) {
      const units = unitsOf(grain);
      const state = MotionState.of(Int32Array.from(row), units);
      let done = 0;
      for (const { steps: wanted, position, rotation, row: nearest } of after) {
        state.advance(wanted - done);
        done = wanted;
        expect(bitsOf(state.position), `after ${wanted} steps`).toEqual(position);
        expect(bitsOf(state.quaternion), `after ${wanted} steps`).toEqual(rotation);
        const values = new Int32Array(19);
        state.writeRow(values, units);
        expect([...values], `after ${wanted} steps`).toEqual(nearest);
      }
    }
  });

  it("is read from the bytes of the vectors, and from no shorter bytes", () => {
    expect(encoded.filter(({ baseline }) => baseline !== null).length).toBeGreaterThan(2);
    for (const { grain, baseline, frame, bytes } of encoded) {
      const past = [baseline].flatMap((known) => {
        return known === null
          ? []
          : [{ tick: known.tick, ids: Uint32Array.of(known.id), values: Int32Array.from(known.row) }];
      });
      const packet = Buffer.from(bytes, "hex");
      const read = Grain.of(grain)!.read(frame.tick, packet, past);
      expect([...read.ids]).toEqual([frame.id]);
      expect([...read.values]).toEqual(frame.row);
      for (let cut = 1; cut < packet.length; cut++) {
        expect(() => Grain.of(grain)!.read(frame.tick, packet.subarray(0, cut), past)).toThrow(WireError);
      }
    }
  });
});

describe("a replica of bodies in flight", () => {
  it("shows the poses of the vectors despite losses and late packets", () => {
    const replica = new Replica();
    let [reported, corrected] = [0, 0];
    const movement: Movement = {
      moved(_, { pose, path }) {
        if (pose !== undefined) reported++;
        if (path !== undefined) corrected++;
      },
    };
    for (const payload of arrivals()) expect(replica.apply(payload, movement).missing).toBe(0);
    expect(poses.some(({ is_motion }) => is_motion)).toBe(true);
    expect(poses.some(({ is_motion }) => !is_motion)).toBe(true);
    for (const { id, is_motion, pose } of poses) {
      const row = replica.find(id)!;
      expect(row.grain.isMotion, `entity ${id}`).toBe(is_motion);
      if (!is_motion) continue;
      const shown = row.pose!;
      expect(singleBitsOf([...shown.position, ...shown.quaternion]), `entity ${id}`).toEqual(pose);
    }
    expect(reported).toBeGreaterThan(200);
    expect(corrected, "rows that arrived late").toBeGreaterThan(0);
  });

  it("refuses damaged payloads with a WireError, or reads them", () => {
    let seed = 7;
    const random = () => {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
      return seed / 2 ** 32;
    };
    let refused = 0;
    for (let round = 0; round < 8; round++) {
      const replica = new Replica();
      for (const payload of arrivals()) {
        const bytes = Uint8Array.from(payload);
        if (random() < 0.2) bytes[Math.floor(random() * bytes.length)]! ^= 1 << Math.floor(random() * 8);
        try {
          replica.apply(bytes, {
            moved: (_, { pose }) => expect(pose?.position.every(Number.isFinite)).not.toBe(false),
          });
        } catch (error) {
          expect(error).toBeInstanceOf(WireError);
          refused++;
        }
      }
    }
    expect(refused).toBeGreaterThan(0);
  });
});
