import { NowcastError } from "../errors/nowcast-error.js";
import type { Emitter } from "../events/emitter.js";
import { type EntityDescription, type EntityPose, EntityTable, type SpawnedEntity } from "./entity-table.js";
import { ScreenTable, type ScreenValue } from "./screen.js";
import type {
  Definition,
  DespawnReason,
  Entity,
  EntityId,
  Field,
  Kind,
  Player,
  PlayerId,
  WorldEvents,
} from "./world.js";

/** Players in one world: people and programs (`spec/WORLD.md`, section 6). */
const PLAYERS_MAX = 8_192;

/**
 * The state of a world. This class makes every change, and reports each completed change to the
 * world's listeners. A change without effect is not reported.
 */
export class WorldState {
  definition: Definition | undefined;
  playerId: PlayerId | undefined;
  readonly players = new Map<PlayerId, Player>();
  readonly screen = new ScreenTable();
  readonly table = new EntityTable();
  /** Kinds of the definition, by name. */
  #kinds: ReadonlyMap<string, Kind> = new Map();
  readonly #emitter: Emitter<WorldEvents>;

  constructor(emitter: Emitter<WorldEvents>) {
    this.#emitter = emitter;
  }

  get entities(): ReadonlyMap<EntityId, Entity> {
    return this.table.entities;
  }

  get avatarId(): EntityId | undefined {
    return this.playerId === undefined ? undefined : this.players.get(this.playerId)?.avatarId;
  }

  get unknownEntities(): number {
    return this.table.unknownEntities;
  }

  /** Drops the known state for a new connection. The definition stays until it arrives again. */
  restart(playerId: PlayerId): void {
    const entities = this.table.clear();
    const players = [...this.players.values()];
    this.players.clear();
    const places = this.screen.clear();
    this.playerId = playerId;
    for (const entity of entities) this.#emitter.emit("despawn", { entity, reason: "gone" });
    for (const player of players) this.#emitter.emit("left", { player });
    for (const place of places) this.#emitter.emit("screen", { place, value: null });
  }

  /** Sets the definition. */
  define(definition: Definition): void {
    this.definition = definition;
    this.#kinds = new Map(definition.kinds.map((kind) => [kind.name, kind]));
    this.table.redefine((kind) => this.kindNow(kind));
    this.#emitter.emit("define", { definition });
  }

  /**
   * Returns the current kind for a kind of an earlier definition. If the form of its entities has
   * changed, returns the earlier kind itself.
   */
  kindNow(known: Kind): Kind {
    const kind = this.#kinds.get(known.name);
    return kind !== undefined && isSameFields(kind.attributes, known.attributes) ? kind : known;
  }

  /** Sets the descriptions and poses of entities. Entities that exist already are changed. */
  spawn(spawned: readonly SpawnedEntity[], tick: number): void {
    const unknown = new Map<EntityId, SpawnedEntity>();
    for (const entity of spawned) {
      const known = this.table.entities.get(entity.id);
      if (known === undefined) unknown.set(entity.id, entity);
      else this.change(known, entity, entity, tick);
    }
    for (const entity of this.table.spawn([...unknown.values()], tick))
      this.#emitter.emit("spawn", { entity });
  }

  /** Sets the description of an entity, and its pose if there is one. */
  change(entity: Entity, description: EntityDescription, pose: EntityPose | undefined, tick: number): void {
    const before = entity.owner;
    const { names, parts } = this.table.describe(entity, description);
    if (pose !== undefined && this.table.place(entity, pose, tick)) parts.push("place");
    if (names.length > 0 || parts.length > 0) this.#emitter.emit("change", { entity, names, parts });
    if (before !== entity.owner) this.#emitter.emit("owner", { entity, before });
  }

  despawn(ids: Iterable<EntityId>, reason: DespawnReason = "gone"): void {
    for (const entity of this.table.despawn(ids)) this.#emitter.emit("despawn", { entity, reason });
  }

  setPlayer(player: Player): void {
    const known = this.players.get(player.id);
    if (known === undefined) {
      if (this.players.size >= PLAYERS_MAX) {
        throw new NowcastError("peer-misbehaved", `a world of more than ${PLAYERS_MAX} players`, {
          code: "limit_exceeded",
        });
      }
      this.players.set(player.id, player);
      return this.#emitter.emit("joined", { player });
    }
    const { name, avatarId } = known;
    Object.assign(known, player);
    if (known.name !== name) this.#emitter.emit("renamed", { player: known, before: name });
    if (known.avatarId !== avatarId) this.#emitter.emit("avatar", { player: known });
  }

  removePlayer(id: PlayerId): void {
    const player = this.players.get(id);
    if (player === undefined) return;
    this.players.delete(id);
    this.#emitter.emit("left", { player });
  }

  /** Sets the value of a server's key on the screen. */
  show(key: number | string, screen: ScreenValue): void {
    for (const place of this.screen.put(key, screen)) {
      this.#emitter.emit("screen", { place, value: this.screen.shown.get(place) ?? null });
    }
  }

  dispatchEvent(name: string, payload: unknown): void {
    this.#emitter.emit("event", { name, payload });
    this.#emitter.emit(`event:${name}`, { payload });
  }
}

function isSameFields(a: readonly Field[], b: readonly Field[]): boolean {
  return (
    a.length === b.length && a.every(({ name, type }, at) => name === b[at]!.name && type === b[at]!.type)
  );
}
