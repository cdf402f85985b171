/**
 * A client shows the rows of its server while entities enter and leave its interest set, over links that lose, delay and
 * acknowledge late. The server is the other implementation: `crates/replication/tests/interest` plays random games and records
 * what reaches its clients. A few of these recordings are the vectors; `NOWCAST_PLAYS=FILE` names a file with more.
 */
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import { Emitter } from "../../src/events/emitter.js";
import type { EntityId, WorldEvents } from "../../src/world/index.js";
import { Grain } from "../../src/world/session/grain.js";
import { type Movement, Replica } from "../../src/world/session/replica.js";
import { ReplicationState } from "../../src/world/session/replication-state.js";
import { WorldState } from "../../src/world/world-state.js";
import { entity, kind, payload } from "./server-words.js";

interface Shown {
  readonly id: number;
  readonly row: readonly number[];
  readonly grain: number;
}

type Step =
  | { readonly payload: string }
  | { readonly lull: number; readonly tick: number; readonly every: number }
  | { readonly in_sight: number }
  | { readonly out_of_sight: number; readonly tick: number }
  | { readonly gone: number }
  | { readonly shown: readonly Shown[] };

interface Play {
  readonly seed: number;
  readonly client: number;
  readonly steps: readonly Step[];
}

const WIDTH = 7;
const nobody: Movement = { moved: () => {} };

/** Tests the replica alone, with exact rows. An entity that left its group keeps its row until another group has it. */
class Rows {
  readonly #replica = new Replica();
  readonly #inSight = new Set<number>();
  readonly #known = new Map<number, Shown>();

  apply(payload: Uint8Array): number {
    const { missing } = this.#replica.apply(payload, nobody);
    for (const id of this.#inSight) this.#learn(id);
    return missing;
  }

  inSight(id: number): void {
    this.#inSight.add(id);
    this.#learn(id);
  }

  outOfSight(id: number, tick: number): void {
    this.gone(id);
    this.#replica.hide(id, tick);
  }

  gone(id: number): void {
    this.#inSight.delete(id);
    this.#known.delete(id);
  }

  shown(): readonly Shown[] {
    return [...this.#known.values()].sort((a, b) => a.id - b.id);
  }

  #learn(id: number): void {
    const row = this.#replica.find(id);
    if (row === undefined) return;
    const { values, at, grain } = row;
    this.#known.set(id, { id, row: [...values.subarray(at, at + WIDTH)], grain: grain.number });
  }
}

/** The step at which all plays begin: just before the count of steps wraps. */
const BEGINNING = 2 ** 32 - 101;

function* plays(): Generator<Play> {
  const path = process.env["NOWCAST_PLAYS"];
  if (path !== undefined) {
    // Ten thousand plays are longer than a string can be.
    const bytes = readFileSync(path);
    for (let start = 0; start < bytes.length; ) {
      const end = bytes.indexOf("\n", start);
      yield JSON.parse(bytes.toString("utf8", start, end)) as Play;
      start = end + 1;
    }
    return;
  }
  const vectors = new URL("../../../../spec/vectors/world/sight.json", import.meta.url);
  yield* (JSON.parse(readFileSync(vectors, "utf8")) as { readonly plays: readonly Play[] }).plays;
}

/** Metres of a row, as the world has them. */
function positionOf({ row, grain }: Shown): readonly number[] {
  const position = [0, 0, 0];
  Grain.of(grain)!.readPose({ values: Int32Array.from(row), at: 0 }, { position, quaternion: [] });
  return position;
}

/** The matcher of the test runner describes differences well, and is slow, so it only sees values that differ. */
function expectEqual<T>(value: T, expected: T, where: () => string): void {
  if (!isDeepStrictEqual(value, expected)) expect(value, where()).toEqual(expected);
}

function run({ seed, client, steps }: Play): number {
  const where = () => `client ${client} of seed ${seed}`;
  const rows = new Rows();
  // The world of the public API: an entity stays in it until lane 0 reports it as gone or out of sight.
  const state = new WorldState(new Emitter<WorldEvents>());
  const scene = new ReplicationState(state);
  scene.restart(BEGINNING);
  scene.define({ version: 1, kinds: [kind("thing", {})], actions: [], events: [], assets: [] });
  let checks = 0;
  const apply = (bytes: Uint8Array): void => {
    expectEqual(rows.apply(bytes), 0, () => `${where()}: encoded against missing frames`);
    expectEqual(scene.apply(bytes).missing, 0, where);
  };
  const say = (id: number, value: Uint8Array): void => void scene.put(id, value);
  for (const step of steps) {
    if ("payload" in step) {
      apply(Buffer.from(step.payload, "hex"));
    } else if ("lull" in step) {
      for (let round = 1; round <= step.lull; round++) {
        apply(payload((step.tick + round * step.every) >>> 0, 0, []));
      }
    } else if ("in_sight" in step) {
      rows.inSight(step.in_sight);
      say(step.in_sight, entity({}));
    } else if ("out_of_sight" in step) {
      rows.outOfSight(step.out_of_sight, step.tick);
      const value = new Uint8Array(4);
      new DataView(value.buffer).setUint32(0, step.tick, true);
      say(step.out_of_sight, value);
    } else if ("gone" in step) {
      rows.gone(step.gone);
      say(step.gone, new Uint8Array(0));
    } else {
      expectEqual(rows.shown(), step.shown, where);
      const ids = [...state.entities.keys()].sort((a, b) => a - b);
      expectEqual<readonly number[]>(
        ids,
        step.shown.map(({ id }) => id),
        where,
      );
      for (const shown of step.shown) {
        const { position } = state.entities.get(shown.id as EntityId)!;
        expectEqual<readonly number[]>(position, positionOf(shown), () => `${where()}: entity ${shown.id}`);
      }
      checks++;
    }
  }
  return checks;
}

describe("a client while entities enter and leave its interest set", () => {
  it("shows exactly the entities and rows that its server recorded", async () => {
    let checks = 0;
    for (const play of plays()) {
      checks += run(play);
      // Lets the test runner report progress.
      await new Promise(setImmediate);
    }
    expect(checks).toBeGreaterThan(30);
  }, 3_600_000);
});
