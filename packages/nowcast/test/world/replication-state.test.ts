/** A client's state from a world's messages, checked against a plain model: random messages in a random order. */
import { describe, expect, it } from "vitest";
import { types } from "../../src/codec/index.js";
import { Emitter } from "../../src/events/emitter.js";
import { NowcastError } from "../../src/index.js";
import type { EntityId, PlayerId, WorldEvents } from "../../src/world/index.js";
import { type Definition, fromWorldCodec, type Place } from "../../src/world/session/generated/messages.js";
import { ReplicationState } from "../../src/world/session/replication-state.js";
import type { WorldRecord } from "../../src/world/world.js";
import { WorldState } from "../../src/world/world-state.js";
import { mulberry32 } from "./random.js";
import { entity, type Fields, kind, payload, player, screen, values } from "./server-words.js";

const SEEDS = Array.from({ length: 60 }, (_, seed) => seed);
const STEPS = 250;
const IDS = 10;
const GROUPS = 3;
const PLAYERS = 4;
const SCREEN_KEYS = 4;
const PLAYERS_KEY = 2 ** 32;
const SCREENS_KEY = 2 ** 33;

type Vec3 = [number, number, number];

const FIELDS: readonly Fields[] = [
  {},
  { hot: types.bool },
  { hot: types.u32, label: types.text },
  { at: types.option(types.array(3, types.f32)), label: types.text },
];

interface ModelKind {
  readonly name: string;
  readonly fields: number;
  readonly look: number;
}

interface ModelDescription {
  kind: ModelKind;
  readonly scale: Vec3;
  readonly parent: number | undefined;
  readonly place: Vec3 | undefined;
  readonly attributes: WorldRecord;
}

/** Messages about a world, and their consequences. */
class Model {
  kinds: ModelKind[] = [];
  readonly said = new Map<number, ModelDescription>();
  readonly frames = new Map<number, { readonly tick: number; readonly rows: ReadonlyMap<number, Vec3> }>();
  readonly world = new Map<number, ModelDescription & { readonly position: Vec3 }>();
  readonly players = new Map<number, { readonly name: string; readonly avatar: number | undefined }>();
  /** The values of screens' keys, the newest last. */
  readonly screens = new Map<
    number,
    { readonly place: string; readonly personal: boolean; readonly value: number }
  >();

  /** An entity is in the world if its description and a position are known. */
  settle(): void {
    for (const id of this.world.keys()) if (!this.said.has(id)) this.world.delete(id);
    for (const [id, description] of this.said) {
      const row = this.frames.get(id % GROUPS)?.rows.get(id);
      const position = description.place ?? row ?? this.world.get(id)?.position;
      if (position !== undefined) this.world.set(id, { ...description, position });
    }
  }

  define(kinds: ModelKind[]): void {
    this.kinds = kinds;
    for (const description of this.said.values()) {
      const same = kinds.find(({ name }) => name === description.kind.name);
      if (same?.fields === description.kind.fields) description.kind = same;
    }
  }

  get screen(): Map<string, number> {
    const screens = [...this.screens.values()];
    const inOrder = [false, true].flatMap((own) => screens.filter(({ personal }) => personal === own));
    return new Map(inOrder.map(({ place, value }) => [place, value]));
  }
}

class Play {
  readonly random: () => number;
  readonly model = new Model();
  readonly emitter = new Emitter<WorldEvents>();
  readonly state = new WorldState(this.emitter);
  readonly scene = new ReplicationState(this.state);
  /** The state that a listener builds from events alone. */
  readonly heard = {
    entities: new Map<EntityId, unknown>(),
    players: new Map<PlayerId, unknown>(),
    screen: new Map<string, unknown>(),
  };
  tick = 100;
  version = 0;

  constructor(seed: number) {
    this.random = mulberry32(seed);
    const { entities, players, screen: shown } = this.heard;
    this.emitter.on("spawn", (event) => {
      const { id, attributes } = event.entity;
      expect(entities.has(id), `${id} spawned twice`).toBe(false);
      entities.set(id, attributes);
    });
    this.emitter.on("despawn", ({ entity: { id } }) =>
      expect(entities.delete(id), `${id} gone twice`).toBe(true),
    );
    this.emitter.on("change", (event) => {
      const before = entities.get(event.entity.id) as WorldRecord;
      const after = event.entity.attributes;
      const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
      const differing = names.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
      expect([...event.names].sort()).toEqual(differing.sort());
      entities.set(event.entity.id, after);
    });
    for (const type of ["joined", "renamed"] as const) {
      this.emitter.on(type, ({ player }) => players.set(player.id, player.name));
    }
    this.emitter.on("left", (event) => expect(players.delete(event.player.id)).toBe(true));
    this.emitter.on("screen", ({ place, value }) => {
      if (value === null) shown.delete(place);
      else shown.set(place, value);
    });
    this.scene.restart(this.tick);
    this.define();
  }

  below(count: number): number {
    return Math.floor(this.random() * count);
  }

  happens(share: number): boolean {
    return this.random() < share;
  }

  step(): void {
    const dice = this.random();
    if (dice < 0.04) this.define();
    else if (dice < 0.4) this.describe();
    else if (dice < 0.5) this.remove();
    else if (dice < 0.85) this.replicate();
    else if (dice < 0.92) this.people();
    else this.show();
    this.model.settle();
  }

  define(): void {
    const kinds = ["sheep", "wolf", "tree"]
      .filter(() => this.happens(0.8))
      .map((name) => ({ name, fields: this.below(FIELDS.length), look: this.below(100) }));
    if (kinds.length === 0) kinds.push({ name: "stone", fields: 0, look: 0 });
    const message: Definition = {
      version: ++this.version,
      kinds: kinds.map(({ name, fields, look }) => kind(name, FIELDS[fields]!, { look: { number: look } })),
      actions: [],
      events: [],
      assets: [],
    };
    this.scene.define(message);
    this.model.define(kinds);
  }

  describe(): void {
    const id = 1 + this.below(IDS);
    const at = this.below(this.model.kinds.length);
    const known = this.model.kinds[at]!;
    const scale: Vec3 = [1 + this.below(2), 1, 1];
    const parent = this.happens(0.3) ? 1 + this.below(IDS) : undefined;
    const position = this.happens(0.3) ? this.somewhere() : undefined;
    const attributes = this.attributes(known.fields);
    const place: Place | null = position === undefined ? null : { position, rotation: [0, 0, 0, 1] };
    const body = values(FIELDS[known.fields]!, attributes);
    this.scene.put(id, entity({ kind: at, scale, parent: parent ?? null, place, attributes: body }));
    this.model.said.set(id, { kind: known, scale, parent, place: position, attributes });
  }

  attributes(of: number): WorldRecord {
    const [label, point] = [`label ${this.below(3)}`, this.happens(0.5) ? this.somewhere() : null];
    if (of === 0) return {};
    if (of === 1) return { hot: this.happens(0.5) };
    return of === 2 ? { hot: this.below(3), label } : { at: point, label };
  }

  somewhere(): Vec3 {
    return [this.below(50), this.below(50) / 4, this.below(50) - 25];
  }

  remove(): void {
    const id = 1 + this.below(IDS);
    this.scene.put(id, new Uint8Array(0));
    this.model.said.delete(id);
  }

  /** Sends some groups in their current or an earlier state, at once or late. */
  replicate(): void {
    this.tick += this.below(4);
    const groups = Array.from({ length: GROUPS }, (_, group) => group)
      .filter(() => this.happens(0.6))
      .map((group) => {
        const tick = this.tick - this.below(6);
        const before = this.model.frames.get(group)?.rows;
        const rows = new Map<number, Vec3>();
        for (let id = 1; id <= IDS; id++) {
          if (id % GROUPS !== group || this.happens(0.3)) continue;
          rows.set(id, (this.happens(0.4) ? before?.get(id) : undefined) ?? this.somewhere());
        }
        return { group, tick, rows };
      });
    // A step has only one description, so a tick that is already known is skipped.
    this.scene.apply(payload(this.tick, 0, groups));
    for (const { group, tick, rows } of groups) {
      const newest = this.model.frames.get(group);
      if (newest === undefined || tick > newest.tick) this.model.frames.set(group, { tick, rows });
      this.model.settle();
    }
  }

  people(): void {
    const number = this.below(PLAYERS);
    if (this.happens(0.3)) {
      this.scene.put(PLAYERS_KEY + number, new Uint8Array(0));
      this.model.players.delete(number);
      return;
    }
    const name = `name ${this.below(3)}`;
    const avatar = this.happens(0.5) ? 1 + this.below(IDS) : undefined;
    this.scene.put(PLAYERS_KEY + number, player({ name, avatar: avatar ?? null }));
    this.model.players.set(number, { name, avatar });
  }

  show(): void {
    const key = this.below(SCREEN_KEYS);
    const [place, personal] = [`place ${this.below(2)}`, this.happens(0.4)];
    const value = this.happens(0.3) ? null : this.below(5);
    this.scene.put(SCREENS_KEY + key, screen({ place, personal, value }));
    this.model.screens.delete(key);
    if (value !== null) this.model.screens.set(key, { place, personal, value });
  }

  check(): void {
    const { state, model, heard } = this;
    const known = [...state.entities.values()].map((live) => ({
      id: live.id,
      kind: [live.kind.name, live.kind.look?.number],
      scale: live.scale,
      parent: live.parent,
      position: live.position,
      attributes: live.attributes,
    }));
    const wanted = [...model.world].map(
      ([
        id,
        {
          kind: { name, look },
          scale,
          parent,
          position,
          attributes,
        },
      ]) => {
        return { id, kind: [name, look], scale, parent, position, attributes };
      },
    );
    const byId = (a: { readonly id: number }, b: { readonly id: number }): number => a.id - b.id;
    expect(known.sort(byId)).toEqual(wanted.sort(byId));
    expect(new Map([...state.players].map(([id, { name, avatarId }]) => [id, [name, avatarId]]))).toEqual(
      new Map([...model.players].map(([id, { name, avatar }]) => [id, [name, avatar]])),
    );
    expect(state.screen.shown).toEqual(model.screen);
    expect(heard.entities).toEqual(
      new Map([...state.entities.values()].map(({ id, attributes }) => [id, attributes])),
    );
    expect(new Set(heard.players.keys())).toEqual(new Set(state.players.keys()));
    expect(heard.screen).toEqual(state.screen.shown);
  }
}

describe("a scene", () => {
  it.each(SEEDS)("equals the last sent state in any order of arrival (seed %i)", (seed) => {
    const play = new Play(seed);
    for (let step = 0; step < STEPS; step++) {
      play.step();
      play.check();
    }
    expect(play.model.world.size).toBeGreaterThan(0);
    play.state.restart(1 as PlayerId);
    expect([play.heard.entities.size, play.heard.players.size, play.heard.screen.size]).toEqual([0, 0, 0]);
  });

  it("reports only the input of the newest payload", () => {
    const { scene } = new Play(1);
    expect(scene.apply(payload(110, 7, []))).toMatchObject({ isNewest: true });
    expect(scene.apply(payload(105, 3, []))).toMatchObject({ isNewest: false });
    expect([scene.tick, scene.ackedInputSequence]).toEqual([110, 7]);
    scene.restart(0);
    expect(scene.ackedInputSequence).toBe(0);
  });

  it("distinguishes entities out of sight from removed ones, and shows their position when they return", () => {
    const { scene, state, emitter } = new Play(1);
    const told: unknown[] = [];
    emitter.on("spawn", ({ entity }) => told.push(["spawn", entity.id, entity.position[0]]));
    emitter.on("despawn", ({ entity, reason }) => told.push([reason, entity.id]));
    scene.define({ version: 9, kinds: [kind("sheep", {})], actions: [], events: [], assets: [] });
    const at = (tick: number, group: number, x: number): Uint8Array => {
      return payload(tick, 0, [{ group, tick, rows: new Map([[5, [x, 0, 0]]]) }]);
    };
    scene.put(5, entity({}));
    scene.apply(at(110, 1, 1));
    scene.put(5, Uint8Array.of(120, 0, 0, 0));
    expect(state.entities.size).toBe(0);
    scene.apply(at(119, 1, 2));
    scene.put(5, entity({}));
    expect(state.entities.size, "its current position is unknown").toBe(0);
    scene.apply(at(130, 2, 30));
    scene.apply(at(118, 1, 2));
    expect(state.entities.get(5 as EntityId)?.position[0]).toBe(30);
    scene.put(5, new Uint8Array(0));
    expect(told).toEqual([
      ["spawn", 5, 1],
      ["out_of_sight", 5],
      ["spawn", 5, 30],
      ["gone", 5],
    ]);
  });

  it("shows an entity that changes its group at the position in the newer group", () => {
    const { scene, state } = new Play(1);
    scene.define({ version: 9, kinds: [kind("sheep", {})], actions: [], events: [], assets: [] });
    const x = (): number | undefined => state.entities.get(5 as EntityId)?.position[0];
    const at = (tick: number, group: number, here: number | undefined): void => {
      const rows = new Map<number, Vec3>(here === undefined ? [] : [[5, [here, 0, 0]]]);
      scene.apply(payload(tick, 0, [{ group, tick, rows }]));
    };
    scene.put(5, entity({}));
    at(110, 1, 1);
    at(125, 2, 5);
    at(120, 1, 4);
    expect(x()).toBe(5);
    at(124, 1, undefined);
    expect(x()).toBe(5);
    at(130, 2, undefined);
    expect(x(), "it stays until more is received").toBe(5);
    at(131, 1, 7);
    expect(x()).toBe(7);
  });

  it("reports each jump of an entity once, whatever the order of groups and lost payloads", () => {
    const { scene, state } = new Play(1);
    scene.define({ version: 9, kinds: [kind("sheep", {})], actions: [], events: [], assets: [] });
    scene.put(5, entity({}));
    const at = (tick: number, group: number, jump: number, x: number): boolean | undefined => {
      scene.apply(payload(tick, 0, [{ group, tick, jump, rows: new Map([[5, [x, 0, 0]]]) }]));
      return state.entities.get(5 as EntityId)?.hasJumped;
    };
    expect(at(110, 1, 3, 1), "it jumped before it was known").toBe(false);
    expect(at(116, 1, 3, 2)).toBe(false);
    expect(at(122, 2, 4, 9)).toBe(true);
    expect(at(128, 2, 4, 10)).toBe(false);
    expect(at(134, 3, 0, 11), "the jump is over").toBe(false);
    expect(at(140, 4, 6, 20), "the rows of a jump were lost").toBe(true);
    expect(() => at(146, 5, 8, 0)).toThrow(/quantization|grain/);
  });

  it("holds at most 65,536 entities, placed or only described", () => {
    for (const place of [null, { position: [0, 0, 0], rotation: [0, 0, 0, 1] } as Place]) {
      const { scene, state } = new Play(1);
      const empty: Definition = {
        version: 1,
        kinds: [kind("stone", {})],
        actions: [],
        events: [],
        assets: [],
      };
      scene.define(empty);
      const stone = entity({ place });
      for (let id = 1; id <= 65_536; id++) scene.put(id, stone);
      expect(() => scene.put(65_537, stone)).toThrow("more than 65536 entities");
      scene.put(1, new Uint8Array(0));
      scene.put(65_537, stone);
      expect(state.entities.size).toBe(place === null ? 0 : 65_536);
    }
  });

  it.each([1, 2, 3])("decodes or rejects any bytes by name, and reports its state (seed %i)", (seed) => {
    const play = new Play(seed);
    const spoiled = (bytes: Uint8Array): Uint8Array => {
      const other = Uint8Array.from(bytes);
      if (other.length > 0) other[play.below(other.length)]! ^= 1 << play.below(8);
      return play.happens(0.3) ? other.subarray(0, play.below(other.length)) : other;
    };
    let refused = 0;
    const attempt = (act: () => unknown): void => {
      try {
        act();
      } catch (error) {
        refused++;
        expect(error).toBeInstanceOf(NowcastError);
        expect(error).toMatchObject({ fault: "peer-misbehaved" });
      }
    };
    const { scene } = play;
    const put = scene.put.bind(scene);
    scene.put = (key, value) => {
      attempt(() => put(key, spoiled(value)));
      return true;
    };
    const apply = scene.apply.bind(scene);
    scene.apply = (bytes) => {
      attempt(() => apply(spoiled(bytes)));
      return { moved: [], isNewest: false, missing: 0 };
    };
    const define = scene.define.bind(scene);
    scene.define = (message) => {
      attempt(() => {
        const event = fromWorldCodec.decode(
          spoiled(fromWorldCodec.encode({ Define: { definition: message } })),
        );
        if (typeof event === "object" && "Define" in event) define(event.Define.definition);
      });
      define(message);
    };
    for (let step = 0; step < 3_000; step++) play.step();
    expect(refused).toBeGreaterThan(300);
  });
});
