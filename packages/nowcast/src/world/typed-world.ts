/** Worlds whose kinds, actions and events have generated types. */
import type { WaitOptions } from "../events/cancellable-waits.js";
import type { Entity, EntityId, EntityListener, SpawnOptions, World, WorldEvents } from "./world.js";

/** The types that one world declares. `nowcast gen DIR` writes them from the world's folder. */
export interface WorldTypes {
  /** Kinds by name, with the types of their attributes. */
  readonly kinds: object;
  /** Actions by name, with the types of their arguments. */
  readonly actions: object;
  /** Events by name, with the types of their payloads. */
  readonly events: object;
}

/** An entity whose kind's attributes have known types. */
export type EntityOf<T extends WorldTypes, K extends keyof T["kinds"]> = Omit<Entity, "attributes"> & {
  readonly attributes: Readonly<T["kinds"][K]>;
};

/**
 * A world with known types: the same object as {@link World}, without checks at run time. If the world's rules are
 * replaced, the types stay until they are generated again.
 */
export interface WorldOf<T extends WorldTypes>
  extends Omit<World, "act" | "on" | "once" | "entitiesOf" | "spawn" | "onEntity" | "onAttribute"> {
  onEntity<K extends keyof T["kinds"] & string>(
    kind: K,
    listener: (entity: EntityOf<T, K>) => unknown,
    options?: WaitOptions,
  ): () => void;
  onEntity(entity: EntityId, listener: EntityListener, options?: WaitOptions): () => void;
  onAttribute<K extends keyof T["kinds"] & string, A extends keyof T["kinds"][K] & string>(
    kind: K,
    attribute: A,
    listener: (value: T["kinds"][K][A], entity: EntityOf<T, K>) => void,
    options?: WaitOptions,
  ): () => void;
  onAttribute(
    entity: EntityId,
    attribute: string,
    listener: (value: unknown, entity: Entity) => void,
    options?: WaitOptions,
  ): () => void;
  entitiesOf<K extends keyof T["kinds"] & string>(kind: K): Iterable<EntityOf<T, K>>;
  spawn<K extends keyof T["kinds"] & string>(
    kind: K,
    options: Omit<SpawnOptions, "attributes"> & { readonly attributes?: Readonly<Partial<T["kinds"][K]>> },
  ): Promise<EntityId>;
  act<A extends keyof T["actions"] & string>(
    action: A,
    args?: Readonly<Partial<T["actions"][A]>>,
  ): Promise<void>;
  on<N extends keyof T["events"] & string>(
    type: `event:${N}`,
    listener: (event: { readonly payload: Readonly<T["events"][N]> }) => void,
    options?: WaitOptions,
  ): () => void;
  on<K extends OwnEvent>(
    type: K,
    listener: (event: WorldEvents[K]) => void,
    options?: WaitOptions,
  ): () => void;
  once<N extends keyof T["events"] & string>(
    type: `event:${N}`,
    options?: WaitOptions,
  ): Promise<{ readonly payload: Readonly<T["events"][N]> }>;
  once<K extends OwnEvent>(type: K, options?: WaitOptions): Promise<WorldEvents[K]>;
}

/** The events that every world has, unlike those of a world's rules. */
type OwnEvent = Exclude<keyof WorldEvents, `event:${string}`>;
