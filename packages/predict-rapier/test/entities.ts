/** Parts of test worlds, and a client's view of one. */
import type { Gait } from "nowcast/extend";
import type { Entity, EntityId, Input, Kind, PredictionSource, WorldEvents } from "nowcast/world";
import type { BodySource } from "../src/index.js";

export const STEP_MS = 1000 / 60;
export const AVATAR = 1 as EntityId;
export const STILL: Input = { forward: 0, right: 0, yaw: 0, run: false, jump: false };
export const GAIT: Gait = Object.fromEntries(
  Object.entries({
    height: 1.8,
    radius: 0.35,
    walkSpeed: 3.2,
    runSpeed: 6.4,
    groundAcceleration: 42,
    airAcceleration: 10,
    jumpSpeed: 4.95,
    gravity: 9.81,
  }).map(([name, value]) => [name, Math.fround(value)]),
) as unknown as Gait;

export type Mutable<T> = { -readonly [K in keyof T]: T[K] };
export type RigEntity = Mutable<Entity>;
type Listener = (event: never) => void;

export function kindOf(name: string, body: Record<string, unknown> | undefined, walker?: object): Kind {
  return { name, body, walker: walker as Kind["walker"], look: undefined, attributes: [], owner: undefined };
}

export function entityOf(id: number, kind: Kind, position: readonly number[]): RigEntity {
  return {
    id: id as EntityId,
    kind,
    scale: [1, 1, 1],
    parent: undefined,
    owner: undefined,
    attributes: {},
    position: [position[0]!, position[1]!, position[2]!],
    rotation: [0, 0, 0, 1],
    tick: 0,
  };
}

export const PERSON = kindOf("person", undefined, {});
export const GROUND = kindOf("ground", { motion: "fixed", shape: "box", size: [600, 1, 600], friction: 1 });
export const BLOCK = kindOf("block", { shape: "box", size: [1, 1, 1], density: 60, friction: 0.8 });
export const BALL = kindOf("ball", {
  shape: "sphere",
  radius: 0.3,
  mass: 8,
  friction: 0.5,
  restitution: 0.5,
});

/** A client's view of a world; the test plays the server. */
export class Source {
  readonly entities = new Map<EntityId, RigEntity>();
  readonly #listeners: [string, Listener][] = [];

  constructor(entities: readonly RigEntity[]) {
    for (const entity of entities) this.entities.set(entity.id, entity);
  }

  readonly on = (type: string, listener: Listener) => {
    const entry: [string, Listener] = [type, listener];
    this.#listeners.push(entry);
    return () => void this.#listeners.splice(this.#listeners.indexOf(entry), 1);
  };

  get listenerCount(): number {
    return this.#listeners.length;
  }

  tell<K extends "welcome" | "snapshot" | "spawn" | "despawn" | "change" | "define">(
    type: K,
    event: Partial<WorldEvents[K]>,
  ): void {
    for (const [heard, listener] of [...this.#listeners]) {
      if (heard === type) (listener as (event: unknown) => void)(event);
    }
  }
}

/** The part of a world that a predictor needs; the test plays the server. */
export function worldOf(source: Source, more: object = {}): BodySource & PredictionSource {
  const world = {
    on: source.on,
    entities: source.entities,
    avatarId: AVATAR,
    status: "open",
    input: () => undefined,
    connection: "steady",
    inputAtStep: () => true,
    countSteps: () => undefined,
    act: () => Promise.resolve(),
    definition: { version: 1, kinds: [], actions: [], events: [], assets: [] },
    stats: { pingMs: 100 },
    ...more,
  };
  return world as unknown as BodySource & PredictionSource;
}
