import { NowcastError } from "../errors/nowcast-error.js";
import type { Entity, EntityId, EntityKind, Vec3 } from "./world.js";

/** Entities in one message, and in one world. */
export const ENTITIES_MAX = 65_536;

/** An entity as it enters the world of a client. */
export interface SpawnedEntity {
  readonly id: EntityId;
  readonly kind: EntityKind;
  readonly size: Vec3 | undefined;
  readonly color: number;
  readonly name: string | undefined;
  readonly position: Vec3;
  readonly euler: Vec3;
}

/**
 * Movement, in columns. Both arrays belong to who reads messages and are overwritten by the next one; only the first `count`
 * entities in them count.
 */
export interface MoveColumns {
  readonly tick: number;
  readonly count: number;
  readonly ids: Uint32Array;
  /** Six numbers per entity: position x, y, z and Euler angles x, y, z. */
  readonly poses: Float64Array;
}

type MutableVec3 = [number, number, number];

class LiveEntity implements Entity {
  readonly id: EntityId;
  readonly kind: Entity["kind"];
  readonly size: Vec3 | undefined;
  readonly color: number;
  readonly position: MutableVec3;
  readonly euler: MutableVec3;
  name: string | undefined;
  heldBlock: EntityId | undefined = undefined;
  tick: number;
  stillTick: number | undefined = undefined;

  constructor(spawned: SpawnedEntity, tick: number) {
    this.id = spawned.id;
    this.kind = spawned.kind;
    this.size = spawned.size;
    this.color = spawned.color;
    this.name = spawned.name;
    this.position = [...spawned.position];
    this.euler = [...spawned.euler];
    this.tick = tick;
  }
}

/** The newest known value of everything, updated in place. */
export class EntityTable {
  readonly entities = new Map<EntityId, LiveEntity>();
  /** Poses and facts about entities that were never spawned. */
  unknownEntities = 0;

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
    if (gone.some((entity) => entity.kind === "block")) this.dropHeldBlocksThatLeft();
    return gone;
  }

  /** Forgets everything and returns what there was: the next connection starts with other ids. */
  clear(): Entity[] {
    const gone = [...this.entities.values()];
    this.entities.clear();
    return gone;
  }

  move(message: MoveColumns): Entity[] {
    const moved: Entity[] = [];
    for (let i = 0; i < message.count; i++) {
      const entity = this.find(message.ids[i] as EntityId);
      if (entity === undefined) continue;
      for (let axis = 0; axis < 3; axis++) {
        entity.position[axis] = message.poses[i * 6 + axis]!;
        entity.euler[axis] = message.poses[i * 6 + 3 + axis]!;
      }
      entity.tick = message.tick;
      moved.push(entity);
    }
    return moved;
  }

  /** One entity is elsewhere; undefined for one that is not here. */
  moveOne(id: EntityId, position: Vec3, euler: Vec3, tick: number, stillTick: number): Entity | undefined {
    const entity = this.entities.get(id);
    if (entity === undefined) return undefined;
    for (let axis = 0; axis < 3; axis++) {
      entity.position[axis] = position[axis]!;
      entity.euler[axis] = euler[axis]!;
    }
    entity.tick = tick;
    entity.stillTick = stillTick;
    return entity;
  }

  hold(
    avatarId: EntityId,
    blockId: EntityId | undefined,
  ): { avatar: Entity; block: Entity | undefined } | undefined {
    const avatar = this.find(avatarId);
    const block = blockId === undefined ? undefined : this.find(blockId);
    if (avatar === undefined || (blockId !== undefined && block === undefined)) return undefined;
    avatar.heldBlock = blockId;
    return { avatar, block };
  }

  rename(id: EntityId, name: string): Entity | undefined {
    const entity = this.find(id);
    if (entity !== undefined) entity.name = name;
    return entity;
  }

  private find(id: EntityId): LiveEntity | undefined {
    const entity = this.entities.get(id);
    if (entity === undefined) this.unknownEntities++;
    return entity;
  }

  private dropHeldBlocksThatLeft(): void {
    for (const entity of this.entities.values()) {
      if (entity.heldBlock !== undefined && !this.entities.has(entity.heldBlock))
        entity.heldBlock = undefined;
    }
  }
}
