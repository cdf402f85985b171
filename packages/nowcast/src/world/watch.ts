/** Listeners for one kind's entities, for one entity, and for one attribute. */
import type { WaitOptions } from "../events/cancellable-waits.js";
import type { Entity, EntityId, EntityListener, World } from "./world.js";

/** Implements {@link World.onEntity}. */
export function watchEntities(
  world: World,
  of: string | EntityId,
  listener: EntityListener,
  { signal }: WaitOptions = {},
): () => void {
  if (signal?.aborted) return () => {};
  const leaves = new Map<Entity, unknown>();
  const fits = ({ id, kind }: Entity): boolean => (typeof of === "number" ? id === of : kind.name === of);
  const enter = (entity: Entity): void => {
    if (fits(entity) && !leaves.has(entity)) leaves.set(entity, listener(entity));
  };
  const leave = (entity: Entity): void => {
    const left = leaves.get(entity);
    leaves.delete(entity);
    if (typeof left === "function") left();
  };
  let stopped = false;
  const releases = [
    world.on("status", ({ status }) => status === "closed" && stop()),
    world.on("spawn", ({ entity }) => enter(entity)),
    world.on("despawn", ({ entity }) => leave(entity)),
    world.on("change", ({ entity, parts }) => {
      if (!parts.includes("kind")) return;
      if (!fits(entity)) leave(entity);
      else enter(entity);
    }),
  ];
  const stop = (): void => {
    stopped = true;
    for (const release of releases.splice(0)) release();
    for (const entity of [...leaves.keys()]) leave(entity);
    signal?.removeEventListener("abort", stop);
  };
  signal?.addEventListener("abort", stop);
  for (const entity of world.entities.values()) if (!stopped) enter(entity);
  return stop;
}

/** Implements {@link World.onAttribute}. */
export function watchAttribute(
  world: World,
  of: string | EntityId,
  attribute: string,
  listener: (value: unknown, entity: Entity) => void,
  options?: WaitOptions,
): () => void {
  const present = new Set<Entity>();
  const stopChanges = world.on(
    "change",
    ({ entity, names }) => {
      if (present.has(entity) && names.includes(attribute)) listener(entity.attributes[attribute], entity);
    },
    options,
  );
  const stopEntities = watchEntities(
    world,
    of,
    (entity) => {
      present.add(entity);
      listener(entity.attributes[attribute], entity);
      return () => {
        present.delete(entity);
      };
    },
    options,
  );
  return () => {
    stopChanges();
    stopEntities();
  };
}
