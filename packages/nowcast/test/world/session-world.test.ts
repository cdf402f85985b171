import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type JoinOptions, joinWorld, type World, type WorldEvents } from "../../src/world/index.js";
import { ServerProcess } from "../server-process.js";
import { waitFor } from "../wait-for.js";

const STILL = { forward: 0, right: 0, yaw: 0, run: false, jump: false };

let server: ServerProcess;
const worlds: World[] = [];
beforeAll(async () => {
  server = await ServerProcess.start();
});
afterAll(() => server?.stop());
afterEach(() => {
  for (const world of worlds.splice(0)) world.close();
});

function join(room: string, options: JoinOptions = {}): World {
  const world = joinWorld(`nowcast://localhost:${server.port}/${room}`, options);
  worlds.push(world);
  return world;
}

async function joined(room: string, options: JoinOptions = {}): Promise<World> {
  const world = join(room, options);
  await waitFor("the avatar", () => world.entities.has(world.avatarId!));
  return world;
}

function collect<K extends keyof WorldEvents>(world: World, type: K): WorldEvents[K][] {
  const events: WorldEvents[K][] = [];
  world.on(type, (event) => events.push(event));
  return events;
}

describe("a world on a session", () => {
  it("is the same world that plain clients see", async () => {
    const ada = await joined("same", { name: "Ada", networkHz: 60 });
    const ben = joinWorld(`ws://localhost:${server.port}/ws/same`, { name: "Ben", networkHz: 60 });
    worlds.push(ben);
    await waitFor("Ben in Ada's world", () => ada.entities.get(ben.avatarId!)?.name === "Ben");
    await waitFor("Ada in Ben's world", () => ben.entities.get(ada.avatarId!)?.name === "Ada");
    await waitFor("all blocks", () => ada.entities.size === ben.entities.size);
    for (const [id, entity] of ada.entities) {
      const other = ben.entities.get(id)!;
      expect([entity.kind, entity.color, entity.size?.map((v) => v.toFixed(4))], `thing ${id}`).toEqual([
        other.kind,
        other.color,
        other.size?.map((v) => v.toFixed(4)),
      ]);
    }
    ada.input({ ...STILL, forward: 1, run: true });
    const start = [...ben.entities.get(ada.avatarId!)!.position];
    await waitFor("Ada's steps in Ben's world", () => {
      const [x, , z] = ben.entities.get(ada.avatarId!)!.position;
      return Math.hypot(x - start[0]!, z - start[2]!) > 1;
    });
    ada.input(STILL);
    await waitFor("both to know the same place", () => {
      const [a, b] = [ada, ben].map((world) => world.entities.get(ada.avatarId!)!.position);
      return a!.every((coordinate, axis) => Math.abs(coordinate - b![axis]!) < 0.001);
    });
  });

  it("tells of names, chat, leaving, and how it travels", async () => {
    const ada = await joined("talk", { name: "Ada" });
    const ben = await joined("talk", { name: "Ben" });
    await waitFor("Ben in Ada's world", () => ada.entities.has(ben.avatarId!));
    const [chats, renames, gone] = [collect(ada, "chat"), collect(ada, "rename"), collect(ada, "despawn")];
    ben.chat("<b>hello</b>");
    ben.rename("Benjamin");
    await waitFor("the line", () => chats.length === 1);
    expect(chats[0]).toEqual({ from: ben.avatarId, name: "Ben", text: "<b>hello</b>" });
    await waitFor("the name", () => renames.some(({ name }) => name === "Benjamin"));
    ben.close();
    await waitFor("Ben to be gone", () => gone.some(({ entities }) => entities[0]?.id === ben.avatarId));
    const { link, pingMs, snapshots } = ada.stats;
    expect(link).toMatchObject({ carrier: "WebSocket", loss: 0, resumed: 0 });
    expect(pingMs).toBeGreaterThan(0);
    expect(snapshots).toBeGreaterThan(0);
  });

  it("hears rounds even where nothing moves, at the rate it asks for", async () => {
    const world = await joined("quiet", { networkHz: 5 });
    const rates = collect(world, "rate");
    world.setRate(60);
    await waitFor("the new rate", () => rates.at(-1)?.networkHz === 60);
    const { snapshots } = world.stats;
    await waitFor("rounds", () => world.stats.snapshots > snapshots + 20);
  });

  it("takes a block in its hands", async () => {
    const world = await joined("hands", { name: "Ada", networkHz: 60 });
    const holds = collect(world, "hold");
    const me = world.entities.get(world.avatarId!)!;
    const near = [...world.entities.values()]
      .filter(({ kind }) => kind === "block")
      .map((block) => ({ block, away: distance(block.position, me.position) }))
      .sort((a, b) => a.away - b.away)[0]!.block;
    // The server takes only so many actions a second from one client.
    let actedMs = Number.NEGATIVE_INFINITY;
    const nowAndThen = (act: () => void): void => {
      if (performance.now() - actedMs < 250) return;
      actedMs = performance.now();
      act();
    };
    await waitFor("the block in hand", () => {
      const [dx, , dz] = near.position.map((coordinate, axis) => coordinate - me.position[axis]!);
      world.input({ ...STILL, forward: 1, yaw: Math.atan2(-dx!, -dz!) });
      nowAndThen(() => world.grab());
      return me.heldBlock !== undefined;
    });
    expect(holds[0]!.avatar.id).toBe(me.id);
    world.input(STILL);
    await waitFor("empty hands", () => {
      nowAndThen(() => world.throw(1, 0.3));
      return me.heldBlock === undefined;
    });
  });

  it("says why it cannot join", async () => {
    const errors = collect(join("Not A Room".replaceAll(" ", "."), { reconnect: false }), "error");
    await waitFor("the refusal", () => errors.length > 0);
    expect(errors[0]!.error).toMatchObject({
      fault: "refused",
      code: "no_such_name",
      cause: expect.stringContaining("is not 1 to 32 of a-z 0-9 - _"),
    });
    expect(() => joinWorld("ftp://localhost/plaza")).toThrow();
  });
});

function distance(a: readonly number[], b: readonly number[]): number {
  return Math.hypot(a[0]! - b[0]!, a[2]! - b[2]!);
}
