import type { Connection, Entity, EntityId, Player, World, WorldEvents, WorldStatus } from "nowcast/world";
import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { useWorld } from "./provider.js";

/** Polling interval for `World.connection`, which can change by the passage of time, without an event. */
const CONNECTION_MS = 500;

type EventName = keyof WorldEvents;

/** A value of the world that is read again after some events. The component renders again only if the value differs. */
function useWorldValue<T>(events: readonly EventName[], read: (world: World) => T): T {
  const world = useWorld();
  const key = events.join(" ");
  const subscribe = useCallback(
    (changed: () => void) => {
      const releases = key.split(" ").map((event) => world.on(event as EventName, changed));
      return () => {
        for (const release of releases) release();
      };
    },
    [world, key],
  );
  const snapshot = useCallback(() => read(world), [world, read]);
  return useSyncExternalStore(subscribe, snapshot, snapshot);
}

/**
 * A list or record that is computed again after some events, of which `concerns` selects some. Between these events it stays
 * the same object.
 */
function useWorldList<T, K extends EventName>(
  events: readonly K[],
  read: (world: World) => T,
  concerns: (event: WorldEvents[K]) => boolean = always,
): T {
  const world = useWorld();
  const kept = useRef<{ world: World; read: unknown; value: T; isStale: boolean } | undefined>(undefined);
  const key = events.join(" ");
  const subscribe = useCallback(
    (changed: () => void) => {
      const note = (): void => {
        if (kept.current) kept.current.isStale = true;
        changed();
      };
      const heard = (event: WorldEvents[K]): void => {
        if (concerns(event)) note();
      };
      const releases = key.split(" ").map((event) => world.on(event as K, heard));
      // The world may have changed between the render and this effect.
      note();
      return () => {
        for (const release of releases) release();
      };
    },
    [world, key, concerns],
  );
  const snapshot = (): T => {
    const { current } = kept;
    if (current !== undefined && current.world === world && current.read === read && !current.isStale) {
      return current.value;
    }
    const value = read(world);
    kept.current = { world, read, value, isStale: false };
    return value;
  };
  return useSyncExternalStore(subscribe, snapshot, snapshot);
}

const always = (): boolean => true;

const statusOf = ({ status }: World): WorldStatus => status;

/** The status of the world. */
export function useStatus(): WorldStatus {
  return useWorldValue(["status"], statusOf);
}

/** Whether the server can be reached now. */
export function useConnection(): Connection {
  const world = useWorld();
  const subscribe = useCallback(
    (changed: () => void) => {
      const timer = setInterval(changed, CONNECTION_MS);
      const release = world.on("status", changed);
      return () => {
        clearInterval(timer);
        release();
      };
    },
    [world],
  );
  const snapshot = (): Connection => world.connection;
  return useSyncExternalStore(subscribe, snapshot, snapshot);
}

const playersOf = ({ players }: World): readonly Player[] =>
  [...players.values()].map((player) => ({ ...player }));

/** All players, people and programs, in the order of their arrival. */
export function usePlayers(): readonly Player[] {
  return useWorldList(["joined", "renamed", "avatar", "left", "welcome"], playersOf);
}

/**
 * The value at a place of the screen, such as `score`; `undefined` while there is none. The type `T` is not checked at
 * run time.
 *
 * ```tsx
 * const score = useScreen<{ red: number; blue: number }>("score");
 * ```
 */
export function useScreen<T = unknown>(place: string): T | undefined {
  const read = useCallback(({ screen }: World) => screen.get(place) as T | undefined, [place]);
  return useWorldValue(["screen"], read);
}

const avatarOf = ({ avatar }: World): Entity | undefined => avatar;

/** The local avatar; `undefined` while it is not in the world. The object changes in place: {@link useAttribute}. */
export function useAvatar(): Entity | undefined {
  return useWorldValue(["spawn", "despawn", "joined", "avatar"], avatarOf);
}

/** One entity; `undefined` while it is not in the world. */
export function useEntity(id: EntityId | undefined): Entity | undefined {
  const read = useCallback(({ entities }: World) => (id === undefined ? undefined : entities.get(id)), [id]);
  return useWorldValue(["spawn", "despawn"], read);
}

/**
 * The entities of a kind. The component renders again only when an entity of this kind enters or leaves. Show attributes by
 * {@link useAttribute}.
 */
export function useEntities(kind: string): readonly Entity[] {
  const read = useCallback((world: World) => [...world.entitiesOf(kind)], [kind]);
  const concerns = useCallback(
    // An entity may have become another kind, or have been of this kind before.
    (event: WorldEvents["spawn" | "despawn" | "change"]) =>
      "parts" in event ? event.parts.includes("kind") : event.entity.kind.name === kind,
    [kind],
  );
  return useWorldList(["spawn", "despawn", "change"], read, concerns);
}

/** An attribute of an entity. The component renders again when the attribute changes. */
export function useAttribute<T = unknown>(
  of: Entity | EntityId | undefined,
  attribute: string,
): T | undefined {
  const id = typeof of === "object" ? of.id : of;
  const read = useCallback(
    ({ entities }: World) =>
      (id === undefined ? undefined : entities.get(id)?.attributes[attribute]) as T | undefined,
    [id, attribute],
  );
  return useWorldValue(["spawn", "despawn", "change"], read);
}

/** Returns the newest event of this type; `undefined` before the first. Also calls a listener for each event. */
export function useWorldEvent<K extends EventName>(
  type: K,
  listener?: (event: WorldEvents[K]) => void,
): WorldEvents[K] | undefined {
  const world = useWorld();
  const [event, setEvent] = useState<WorldEvents[K] | undefined>(undefined);
  const newest = useRef(listener);
  useEffect(() => {
    newest.current = listener;
  });
  useEffect(
    () =>
      world.on(type, (arrived) => {
        newest.current?.(arrived);
        setEvent(arrived);
      }),
    [world, type],
  );
  return event;
}
