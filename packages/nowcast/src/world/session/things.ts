import type { Emitter } from "../../events/emitter.js";
import type { EntityTable, SpawnedEntity } from "../entity-table.js";
import { quaternionToEuler } from "../interpolation/rotation.js";
import type { Entity, EntityId, EntityKind, Vec3, WorldEvents } from "../world.js";
import type { Thing } from "./generated/messages.js";
import { type Movement, Replica, readPosition, readRotation } from "./replica.js";

/** Things described before a row of them came, or the other way round; more are no server's. */
export const THINGS_MAX = 65_536;

const KINDS: Record<Thing["kind"], EntityKind> = { Static: "static", Block: "block", Avatar: "avatar" };

/**
 * Puts together what lane 0 says of things (what they are) and what replication says (where they are), and tells the
 * world's listeners what that changes. A thing is in the world when both are known.
 */
export class Things implements Movement {
  #replica = new Replica();
  readonly #described = new Map<number, Thing>();
  /** Avatars whose block is not in the world yet. */
  readonly #reaching = new Map<EntityId, EntityId>();
  #moved: Entity[] = [];
  #tick = 0;
  readonly #position: [number, number, number] = [0, 0, 0];
  readonly #quaternion = [0, 0, 0, 1];
  readonly #euler: [number, number, number] = [0, 0, 0];

  constructor(
    private readonly table: EntityTable,
    private readonly emitter: Emitter<WorldEvents>,
  ) {}

  /** The newest world step that was heard of. */
  get tick(): number {
    return this.#tick;
  }

  /** Another session: nothing is known any more. The table is its owner's to clear. */
  restart(tick: number): void {
    this.#replica = new Replica();
    this.#described.clear();
    this.#reaching.clear();
    this.#tick = tick;
  }

  /** What a thing is from now on; undefined when it is gone. False if there are too many. */
  describe(id: EntityId, thing: Thing | undefined): boolean {
    if (thing === undefined) {
      this.#described.delete(id);
      this.#reaching.delete(id);
      if (!this.table.entities.has(id)) return true;
      this.emitter.emit("despawn", { entities: this.table.despawn([id]) });
      return true;
    }
    if (this.#described.size >= THINGS_MAX && !this.#described.has(id)) return false;
    this.#described.set(id, thing);
    const entity = this.table.entities.get(id);
    if (entity === undefined) {
      this.#enter(id, thing);
      return true;
    }
    if (entity.kind === "avatar" && entity.name !== thing.name) {
      this.table.rename(id, thing.name);
      this.emitter.emit("rename", { entity, name: thing.name });
    }
    this.#hold(id, thing.held);
    return true;
  }

  /** Takes in a replication payload; returns what moved, and whether some of it cannot be understood any more. */
  apply(payload: Uint8Array): {
    readonly moved: readonly Entity[];
    readonly isNewer: boolean;
    readonly missing: number;
  } {
    this.#moved = [];
    const applied = this.#replica.apply(payload, this);
    const tick = this.#unfold(applied.tick);
    const isNewer = tick > this.#tick;
    if (isNewer) this.#tick = tick;
    return { moved: this.#moved, isNewer, missing: applied.missing };
  }

  moved(id: number, values: Int32Array, at: number, tick: number, stillTick: number): void {
    const known = this.table.entities.get(id as EntityId);
    if (known !== undefined) {
      this.#readPose(values, at);
      const [from, to] = [this.#unfold(stillTick), this.#unfold(tick)];
      const entity = this.table.moveOne(known.id, this.#position, this.#euler, to, from);
      if (entity !== undefined) this.#moved.push(entity);
      return;
    }
    const thing = this.#described.get(id);
    if (thing !== undefined) this.#enter(id as EntityId, thing, { values, at, tick });
  }

  #enter(
    id: EntityId,
    thing: Thing,
    row: { readonly values: Int32Array; readonly at: number; readonly tick: number } | undefined = undefined,
  ): void {
    let tick = this.#tick;
    if (thing.place !== null) {
      for (let axis = 0; axis < 3; axis++) this.#position[axis] = thing.place.position[axis]!;
      quaternionToEuler(thing.place.rotation, this.#euler);
    } else {
      const known = row ?? this.#replica.find(id);
      if (known === undefined) return;
      this.#readPose(known.values, known.at);
      tick = this.#unfold(known.tick);
    }
    const entities = this.table.spawn([spawned(id, thing, this.#position, this.#euler)], tick);
    this.emitter.emit("spawn", { entities });
    this.#hold(id, thing.held);
    for (const [avatar, block] of this.#reaching) if (block === id) this.#hold(avatar, block);
  }

  #hold(avatar: EntityId, held: number | null): void {
    const block = held === null ? undefined : (held as EntityId);
    this.#reaching.delete(avatar);
    if (this.table.entities.get(avatar)?.heldBlock === block) return;
    if (block !== undefined && !this.table.entities.has(block)) {
      this.#reaching.set(avatar, block);
      return;
    }
    const change = this.table.hold(avatar, block);
    if (change !== undefined) this.emitter.emit("hold", change);
  }

  #readPose(values: Int32Array, at: number): void {
    readPosition(values, at, this.#position);
    readRotation(values, at, this.#quaternion);
    quaternionToEuler(this.#quaternion, this.#euler);
  }

  /** The step that a 32-bit step stands for: the nearest to the newest one. */
  #unfold(tick: number): number {
    return this.#tick + ((tick - this.#tick) | 0);
  }
}

function spawned(id: EntityId, thing: Thing, position: Vec3, euler: Vec3): SpawnedEntity {
  const kind = KINDS[thing.kind];
  return {
    id,
    kind,
    size: kind === "avatar" ? undefined : thing.size,
    color: thing.color,
    name: kind === "avatar" ? thing.name : undefined,
    position,
    euler,
  };
}
