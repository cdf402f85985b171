import { NowcastError } from "../errors/nowcast-error.js";
import { isSameValue } from "./same-value.js";
import type {
  Entity,
  EntityId,
  EntityPart,
  EntityPath,
  Kind,
  PlayerId,
  Quaternion,
  Vec3,
  WorldRecord,
} from "./world.js";

/** Maximum number of entities in one message, and in a client's interest set (`spec/WORLD.md`, section 6). */
export const ENTITIES_MAX = 65_536;

/** The description of an entity, as opposed to its pose. */
export interface EntityDescription {
  readonly kind: Kind;
  readonly scale: Vec3;
  readonly parent: EntityId | undefined;
  readonly attributes: WorldRecord;
  readonly owner: PlayerId | undefined;
}

export interface EntityPose {
  readonly position: Vec3;
  readonly quaternion: Quaternion;
}

/** The changes that a description made; both lists are empty if the description changed nothing. */
export interface EntityChange {
  readonly names: string[];
  readonly parts: EntityPart[];
}

/** An entity that enters the client's world. */
export interface SpawnedEntity extends EntityDescription, EntityPose {
  readonly id: EntityId;
}

type MutableVec3 = [number, number, number];

class LiveEntity implements Entity {
  readonly id: EntityId;
  kind: Kind;
  scale: Vec3;
  parent: EntityId | undefined;
  attributes: WorldRecord;
  owner: PlayerId | undefined;
  readonly position: MutableVec3;
  readonly quaternion: [number, number, number, number];
  tick: number;
  stillTick: number | undefined = undefined;
  hasJumped = false;
  /** The number of the newest jump (`spec/WORLD.md`, section 4). */
  jump = 0;
  path: EntityPath | undefined = undefined;

  constructor(spawned: SpawnedEntity, tick: number) {
    this.id = spawned.id;
    this.kind = spawned.kind;
    this.scale = spawned.scale;
    this.parent = spawned.parent;
    this.attributes = spawned.attributes;
    this.owner = spawned.owner;
    this.position = [...spawned.position];
    this.quaternion = [...spawned.quaternion];
    this.tick = tick;
  }
}

/** The newest known values of all entities, updated in place. */
export class EntityTable {
  readonly entities = new Map<EntityId, LiveEntity>();
  /** How many poses and descriptions concerned entities that were never spawned. */
  unknownEntities = 0;

  /** Adds entities that are not in the table yet. Throws if there would be too many. */
  spawn(spawned: readonly SpawnedEntity[], tick: number): Entity[] {
    if (this.entities.size + spawned.length > ENTITIES_MAX) {
      throw new NowcastError("peer-misbehaved", `a world of more than ${ENTITIES_MAX} entities`, {
        code: "limit_exceeded",
      });
    }
    return spawned.map((entity) => {
      const live = new LiveEntity(entity, tick);
      this.entities.set(live.id, live);
      return live;
    });
  }

  despawn(ids: Iterable<EntityId>): Entity[] {
    const gone: Entity[] = [];
    for (const id of ids) {
      const entity = this.find(id);
      if (entity === undefined) continue;
      this.entities.delete(id);
      gone.push(entity);
    }
    return gone;
  }

  /** Removes and returns all entities, because the next connection uses other ids. */
  clear(): Entity[] {
    const gone = [...this.entities.values()];
    this.entities.clear();
    return gone;
  }

  /** Applies a description and returns what it changed. */
  describe(entity: Entity, { kind, scale, parent, attributes, owner }: EntityDescription): EntityChange {
    const live = entity as LiveEntity;
    const names = differingNames(live.attributes, attributes);
    const parts: EntityPart[] = [];
    if (live.kind !== kind) parts.push("kind");
    if (!isSameVector(live.scale, scale)) parts.push("scale");
    if (live.parent !== parent) parts.push("parent");
    if (live.owner !== owner) parts.push("owner");
    live.kind = kind;
    live.scale = scale;
    live.parent = parent;
    live.owner = owner;
    if (names.length > 0) live.attributes = attributes;
    return { names, parts };
  }

  /** Moves an entity to a pose. Returns false if it has this pose already. */
  place(entity: Entity, { position, quaternion }: EntityPose, tick: number): boolean {
    if (isSameVector(entity.position, position) && isSameVector(entity.quaternion, quaternion)) return false;
    const live = entity as LiveEntity;
    put(live, position, quaternion);
    live.tick = tick;
    live.stillTick = undefined;
    live.hasJumped = false;
    live.path = undefined;
    return true;
  }

  /** Replaces the kinds of entities by their current versions. */
  redefine(kindOf: (kind: Kind) => Kind): void {
    for (const entity of this.entities.values()) entity.kind = kindOf(entity.kind);
  }

  /** Returns the entity. If the entity is unknown, increments `unknownEntities` and returns `undefined`. */
  find(id: EntityId): LiveEntity | undefined {
    const entity = this.entities.get(id);
    if (entity === undefined) this.unknownEntities++;
    return entity;
  }
}

function put(entity: LiveEntity, position: Vec3, rotation: Quaternion): void {
  for (let axis = 0; axis < 3; axis++) entity.position[axis] = position[axis]!;
  for (let part = 0; part < 4; part++) entity.quaternion[part] = rotation[part]!;
}

function isSameVector(a: readonly number[], b: readonly number[]): boolean {
  return a.every((part, at) => part === b[at]);
}

function differingNames(before: WorldRecord, now: WorldRecord): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...names].filter((name) => {
    return Object.hasOwn(before, name) !== Object.hasOwn(now, name) || !isSameValue(before[name], now[name]);
  });
}
