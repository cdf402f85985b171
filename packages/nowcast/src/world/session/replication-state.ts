import { NowcastError } from "../../errors/nowcast-error.js";
import { ENTITIES_MAX, type EntityDescription, type EntityPose } from "../entity-table.js";
import { normalise } from "../interpolation/rotation.js";
import type { DespawnReason, Entity, EntityId, Kind, PlayerId } from "../world.js";
import type { WorldState } from "../world-state.js";
import { WorldReader } from "./definition.js";
import { type Definition, entityCodec, type Place, playerCodec, screenCodec } from "./generated/messages.js";
import { type Movement, Replica, type Row } from "./replica.js";

/** The first keys of players and screens (`spec/WORLD.md`, section 2). */
const PLAYERS_KEY = 2 ** 32;
const SCREENS_KEY = 2 ** 33;
/**
 * The size in bytes of a value with the step at which an entity went out of sight. The encoding of an entity is always
 * longer.
 */
const OUT_OF_SIGHT_BYTES = 4;

interface Schema extends EntityDescription {
  kind: Kind;
  readonly place: Place | null;
}

export interface AppliedMovement {
  readonly moved: readonly Entity[];
  /** Whether this step is newer than all earlier ones. */
  readonly isNewest: boolean;
  /** Groups encoded against missing frames, which must be requested as a whole. */
  readonly missing: number;
}

/**
 * Combines the values of lane 0 (definition, entities, players) with the poses from replication. An entity enters the
 * world when it has a description and a place or a row. It stays until it is removed or leaves the interest set, even
 * if it leaves its group.
 */
export class ReplicationState implements Movement {
  #replica = new Replica();
  #reader: WorldReader | undefined;
  readonly #described = new Map<EntityId, Schema>();
  #moved: Entity[] = [];
  #tick = 0;
  #ackedInputSequence = 0;
  readonly #pose: {
    readonly position: [number, number, number];
    readonly quaternion: [number, number, number, number];
  } = {
    position: [0, 0, 0],
    quaternion: [0, 0, 0, 1],
  };
  readonly #world: WorldState;

  constructor(world: WorldState) {
    this.#world = world;
  }

  /** The newest received step of the world. */
  get tick(): number {
    return this.#tick;
  }

  /** The number of the newest controls that were in force at that step; 0 for none. */
  get ackedInputSequence(): number {
    return this.#ackedInputSequence;
  }

  /** Drops all state, because another session begins. The caller clears the world. */
  restart(tick: number): void {
    this.#replica = new Replica();
    this.#reader = undefined;
    this.#described.clear();
    this.#tick = tick;
    this.#ackedInputSequence = 0;
  }

  /** Sets the definition. Present entities keep their old one until they are described again. */
  define(definition: Definition): void {
    this.#reader = new WorldReader(definition);
    this.#world.define(this.#reader.definition);
    for (const described of this.#described.values()) described.kind = this.#world.kindNow(described.kind);
  }

  /**
   * Applies the newest value of a key of lane 0. Returns false for a key that this version does not
   * define. Throws a {@link NowcastError} for an invalid value.
   */
  put(key: number, value: Uint8Array): boolean {
    if (key < 1 || key > Number.MAX_SAFE_INTEGER) return false;
    if (key < PLAYERS_KEY) this.#putEntity(key as EntityId, value);
    else if (key < SCREENS_KEY) this.#putPlayer((key - PLAYERS_KEY) as PlayerId, value);
    else this.#world.show(key, screenCodec.decode(value));
    return true;
  }

  /** Applies a replication payload. Throws a {@link NowcastError} for an invalid payload. */
  apply(payload: Uint8Array): AppliedMovement {
    this.#moved = [];
    const applied = this.#replica.apply(payload, this);
    const tick = this.#unfold(applied.tick);
    const isNewest = tick > this.#tick;
    if (isNewest) {
      this.#tick = tick;
      this.#ackedInputSequence = applied.ackedInputSequence;
    }
    return { moved: this.#moved, isNewest, missing: applied.missing };
  }

  moved(id: number, row: Row, stillTick: number): void {
    const described = this.#described.get(id as EntityId);
    // If the entity's description has a place, the entity's rows are older than the place, so the rows are ignored.
    if (described === undefined || described.place !== null) return;
    const entity = this.#world.table.entities.get(id as EntityId);
    if (entity === undefined) return this.#enter(id as EntityId, described, row);
    row.grain.readPose(row, entity);
    entity.tick = this.#unfold(row.tick);
    entity.stillTick = this.#unfold(stillTick);
    const { jump } = row.grain;
    entity.hasJumped = jump !== 0 && jump !== entity.jump;
    entity.jump = jump;
    const { path } = row;
    entity.path =
      path === undefined
        ? undefined
        : { startTick: this.#unfold(path.tick), after: (steps: number) => path.after(steps) };
    this.#moved.push(entity);
  }

  #putEntity(id: EntityId, value: Uint8Array): void {
    if (value.length === 0) return this.#remove(id, "gone");
    if (value.length === OUT_OF_SIGHT_BYTES) {
      this.#replica.hide(id, new DataView(value.buffer, value.byteOffset).getUint32(0, true));
      return this.#remove(id, "out_of_sight");
    }
    const before = this.#described.get(id);
    if (before === undefined && this.#described.size >= ENTITIES_MAX) throw tooMany(ENTITIES_MAX, "entities");
    const described = this.#readEntity(value);
    this.#described.set(id, described);
    const entity = this.#world.entities.get(id);
    if (entity === undefined) return this.#enter(id, described, this.#replica.find(id));
    this.#world.change(entity, described, this.#newPose(id, before, described), this.#tick);
  }

  #remove(id: EntityId, reason: DespawnReason): void {
    this.#described.delete(id);
    if (this.#world.entities.has(id)) this.#world.despawn([id], reason);
  }

  #readEntity(value: Uint8Array): Schema {
    if (this.#reader === undefined) throw malformed("an entity before the first definition");
    const { kind, scale, parent, place, attributes, owner } = entityCodec.decode(value);
    checkFinite(scale, "scale");
    if (place !== null) {
      checkFinite(place.position, "place.position");
      checkFinite(place.rotation, "place.rotation");
    }
    const id = parent === null ? undefined : (parent as EntityId);
    const by = owner === null ? undefined : (owner as PlayerId);
    return { ...this.#reader.read(kind, attributes), scale, parent: id, place, owner: by };
  }

  #enter(id: EntityId, described: Schema, row: Row | undefined): void {
    let tick = this.#tick;
    if (described.place !== null) {
      this.#readPlace(described.place);
    } else {
      if (row === undefined) return;
      row.grain.readPose(row, this.#pose);
      tick = this.#unfold(row.tick);
    }
    const { kind, scale, parent, attributes, owner } = described;
    this.#world.spawn([{ id, kind, scale, parent, attributes, owner, ...this.#pose }], tick);
    this.#world.table.entities.get(id)!.jump = row?.grain.jump ?? 0;
  }

  /** The pose that another description gives to an entity in the world; `undefined` if it gives none. */
  #newPose(id: EntityId, before: Schema | undefined, { place }: Schema): EntityPose | undefined {
    if (place !== null) {
      this.#readPlace(place);
      return this.#pose;
    }
    const hadPlace = before !== undefined && before.place !== null;
    const row = hadPlace ? this.#replica.find(id) : undefined;
    if (row === undefined) return undefined;
    row.grain.readPose(row, this.#pose);
    return this.#pose;
  }

  #putPlayer(id: PlayerId, value: Uint8Array): void {
    if (value.length === 0) return this.#world.removePlayer(id);
    const { name, avatar, program: isProgram } = playerCodec.decode(value);
    this.#world.setPlayer({ id, name, avatarId: (avatar ?? undefined) as EntityId | undefined, isProgram });
  }

  #readPlace({ position, rotation }: Place): void {
    for (let axis = 0; axis < 3; axis++) this.#pose.position[axis] = position[axis]!;
    normalise(rotation, this.#pose.quaternion);
  }

  /** Expands a 32-bit step to the step nearest to the newest one. */
  #unfold(tick: number): number {
    return this.#tick + ((tick - this.#tick) | 0);
  }
}

function checkFinite(values: readonly number[], field: string): void {
  if (!values.every(Number.isFinite)) throw malformed(`entity.${field} should be finite numbers`);
}

function tooMany(max: number, what: string): NowcastError {
  return new NowcastError("peer-misbehaved", `more than ${max} ${what}`, { code: "limit_exceeded" });
}

function malformed(cause: string): NowcastError {
  return new NowcastError("peer-misbehaved", `malformed: ${cause}`);
}
