import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { type JoinOptions, joinWorld, type World, type WorldEvents } from "../../src/world/index.js";
import { ServerProcess } from "../server-process.js";
import { waitFor } from "../wait-for.js";

const STILL = { forward: 0, right: 0, yaw: 0, run: false, jump: false };

/** The parts of messages of `spec/PLAIN.md` that the test compares. */
interface PlainDefinition {
  readonly kinds: readonly { readonly name: string; readonly attributes: object }[];
  readonly actions: readonly { readonly name: string }[];
}
interface PlainEntity {
  readonly kind: string;
  readonly scale?: readonly number[];
  readonly attributes: object;
}

let server: ServerProcess;
const cleanups: (() => void)[] = [];
beforeAll(async () => {
  server = await ServerProcess.start();
});
afterAll(() => server?.stop());
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

function join(room: string, options: JoinOptions = {}): World {
  const world = joinWorld(`nowcast://localhost:${server.port}/${room}`, options);
  cleanups.push(() => world.close());
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
    const definitions: PlainDefinition[] = [];
    const described = new Map<number, PlainEntity>();
    const positions = new Map<number, readonly number[]>();
    const ben = new WebSocket(`ws://localhost:${server.port}/ws/same?encoding=json&name=Ben&hz=60`);
    cleanups.push(() => ben.close());
    ben.on("message", (data) => {
      const message = JSON.parse(String(data));
      if (message.type === "define") definitions.push(message);
      for (const entity of message.type === "spawn" ? message.entities : []) {
        described.set(entity.id, entity);
        positions.set(entity.id, entity.p);
      }
      for (const { id, positionX, positionY, positionZ } of message.type === "move" ? message.entities : []) {
        positions.set(id, [positionX, positionY, positionZ]);
      }
    });
    await waitFor("Ben in Ada's world", () => [...ada.players.values()].some(({ name }) => name === "Ben"));
    await waitFor("everything", () => ada.entities.size === described.size);
    const { kinds, actions } = ada.definition!;
    const [plain] = definitions;
    expect(kinds.map(({ name }) => name)).toEqual(plain!.kinds.map(({ name }) => name));
    expect(kinds.map(({ attributes }) => attributes.map(({ name, type }) => [name, type]))).toEqual(
      plain!.kinds.map(({ attributes }) => Object.entries(attributes)),
    );
    expect(actions.map(({ name }) => name)).toEqual(plain!.actions.map(({ name }) => name));
    for (const [id, { kind, scale, attributes }] of ada.entities) {
      const other = described.get(id)!;
      expect([kind.name, attributes], `entity ${id}`).toEqual([other.kind, other.attributes]);
      expect(Math.hypot(...scale)).toBeCloseTo(Math.hypot(...(other.scale ?? [1, 1, 1])), 4);
    }
    ada.input({ ...STILL, forward: 1, run: true });
    const start = positions.get(ada.avatarId!)!;
    await waitFor("Ada's steps in Ben's world", () => {
      const [x, , z] = positions.get(ada.avatarId!)!;
      return Math.hypot(x! - start[0]!, z! - start[2]!) > 1;
    });
    ada.input(STILL);
    await waitFor("both to know the same place", () => {
      const [a, b] = [ada.entities.get(ada.avatarId!)!.position, positions.get(ada.avatarId!)!];
      return a.every((coordinate, axis) => Math.abs(coordinate - b[axis]!) < 0.001);
    });
  });

  it("reports names, chat, leaves, and its connection", async () => {
    const ada = await joined("talk", { name: "Ada" });
    const ben = await joined("talk", { name: "Ben" });
    await waitFor("Ben in Ada's world", () => ada.entities.has(ben.avatarId!));
    const [chats, players, gone] = [collect(ada, "chat"), collect(ada, "renamed"), collect(ada, "despawn")];
    ben.chat("<b>hello</b>");
    ben.rename("Benjamin");
    await waitFor("the line", () => chats.length === 1);
    expect(chats[0]).toEqual({ from: ben.playerId, name: "Ben", text: "<b>hello</b>" });
    await waitFor("the name", () => players.some(({ player }) => player.name === "Benjamin"));
    ben.close();
    await waitFor("Ben to be gone", () => gone.some(({ entity }) => entity.id === ben.avatarId));
    const { link, pingMs, snapshots } = ada.stats;
    expect(link).toMatchObject({ carrier: "WebSocket", loss: 0, resumed: 0 });
    expect(pingMs).toBeGreaterThan(0);
    expect(snapshots).toBeGreaterThan(0);
  });

  it("receives rounds at the requested rate even if nothing moves", async () => {
    const world = await joined("quiet", { networkHz: 5 });
    const rates = collect(world, "rate");
    world.setRate(60);
    await waitFor("the new rate", () => rates.at(-1)?.networkHz === 60);
    const { snapshots } = world.stats;
    await waitFor("rounds", () => world.stats.snapshots > snapshots + 20);
  });

  it("has its avatar once joined is fulfilled, and no avatar of a world that ended before", async () => {
    const world = await joined("avatar");
    const avatar = await world.joined;
    expect(avatar.id).toBe(world.avatarId);
    expect(world.avatar).toBe(avatar);
    // It stands upright, to the precision of its kind.
    expect(Math.hypot(avatar.quaternion[0], avatar.quaternion[2])).toBeLessThan(0.002);
    expect(Math.hypot(...avatar.quaternion)).toBeCloseTo(1, 9);
    const gone = joinWorld(`nowcast://localhost:${server.port}/avatar-gone`);
    gone.close();
    await expect(gone.joined).rejects.toMatchObject({ code: "closed_here" });
    expect(gone.avatar).toBeUndefined();
  });

  it("receives which of its inputs were applied", async () => {
    const world = await joined("controls", { networkHz: 60 });
    const snapshots = collect(world, "snapshot");
    for (const [at, forward] of [1, 0.5, 0].entries()) {
      world.input({ ...STILL, forward });
      await waitFor("it to be applied", () => snapshots.at(-1)?.ackedInputSequence === at + 1);
    }
    // Late data does not report it.
    const told = snapshots
      .map(({ ackedInputSequence: sequence }) => sequence)
      .filter((sequence) => sequence > 0);
    expect(told).toEqual([...told].sort((one, other) => one - other));
  });

  it("reports why it cannot join", async () => {
    const errors = collect(join("Not A Room".replaceAll(" ", "."), { reconnect: false }), "error");
    await waitFor("the refusal", () => errors.length > 0);
    expect(errors[0]!.error).toMatchObject({
      fault: "refused",
      code: "no_such_name",
      reason: expect.stringContaining("is not 1 to 32 of a-z 0-9 - _"),
    });
    expect(() => joinWorld("ftp://localhost/plaza")).toThrow();
  });
});
