/** Worlds on sessions against a server controlled by the test. */
import { afterEach } from "vitest";
import { types } from "../../src/codec/index.js";
import {
  type EntityId,
  type JoinOptions,
  joinWorld,
  type World,
  type WorldEvents,
} from "../../src/world/index.js";
import type { Definition } from "../../src/world/session/generated/messages.js";
import { greeting, ScriptedSession } from "./scripted-session.js";
import { entity, type Fields, fields, kind, values } from "./server-words.js";

export const STILL = { forward: 0, right: 0, yaw: 0, run: false, jump: false };
export const PLAYERS_KEY = 2 ** 32;
export const SCREENS_KEY = 2 ** 33;
export const SHEEP = 7 as EntityId;

export const WOOL: Fields = { wool: types.range(0, 1, 0.01), owner: types.option(types.u32) };
export const DEFINITION: Definition = {
  version: 3,
  kinds: [
    kind("sheep", WOOL, { body: { shape: "sphere", radius: 0.5 }, look: { color: "#ffffff" } }),
    kind("person", {}, { walker: {} }),
  ],
  actions: [
    {
      name: "shear",
      arguments: fields({ sheep: types.option(types.u32) }),
      hint: { key: "e" },
      durable: false,
    },
    { name: "buy", arguments: fields({ what: types.text }), hint: null, durable: true },
  ],
  events: [{ name: "shorn", payload: fields({ sheep: types.u32 }) }],
  assets: [{ name: "assets/sheep.glb", hash: "0f".repeat(32), bytes: 2_048, type: "model/gltf-binary" }],
};
export const AT_EASE = { position: [1, 2, 3], rotation: [0, 0, 0, 1] } as const;

export const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

export async function serve(greet = greeting(DEFINITION)): Promise<ScriptedSession> {
  const server = await ScriptedSession.start(greet);
  cleanups.push(() => server.stop());
  return server;
}

export function join(server: ScriptedSession, options: JoinOptions = {}): World {
  const world = joinWorld(server.url, options);
  cleanups.push(() => world.close());
  return world;
}

export function collect<K extends keyof WorldEvents>(world: World, type: K): WorldEvents[K][] {
  const events: WorldEvents[K][] = [];
  world.on(type, (event) => events.push(event));
  return events;
}

export function sheep(wool: number, rest: Parameters<typeof entity>[0] = {}): Uint8Array {
  return entity({ attributes: values(WOOL, { wool, owner: null }), ...rest });
}
