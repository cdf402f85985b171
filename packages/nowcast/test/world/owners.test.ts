import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Entity, joinWorld, type World } from "../../src/world/index.js";
import { ServerProcess } from "../server-process.js";
import { waitFor } from "../wait-for.js";

const ROBOTS = fileURLToPath(new URL("../../../../worlds/robots", import.meta.url));

let server: ServerProcess;
beforeAll(async () => {
  server = await ServerProcess.start(0, [ROBOTS]);
}, 60_000);
afterAll(() => server?.stop());

async function target(world: World, nth: number): Promise<Entity> {
  await waitFor("two targets", () => [...world.entitiesOf("target")].length === 2);
  return [...world.entitiesOf("target")].sort((a, b) => a.id - b.id)[nth]!;
}

describe("owners", () => {
  function join(room: string, name: string, role: "player" | "program"): World {
    return joinWorld(`nowcast://127.0.0.1:${server.port}/${room}`, { name, role, networkHz: 30 });
  }

  it("grant a program its requests, move its entities, and take them back", async () => {
    using program = join("robots", "tracker", "program");
    using ada = join("robots", "Ada", "player");
    const mine = await target(program, 0);
    // A client that joins later finds the owner in the entity, and receives no `change` event.
    await target(ada, 0);
    expect(mine.kind.owner).toMatchObject({ by: "program", speed: 6 });
    const owners: unknown[] = [];
    ada.on("owner", ({ entity, before }) => owners.push([entity.id, before, entity.owner]));
    await program.own(mine.id);
    await program.own(mine.id);
    expect(program.avatarId).toBeUndefined();
    for (const { players } of [program, ada]) {
      const programs = [...players.values()].filter(({ isProgram }) => isProgram);
      expect(programs.map(({ id, name }) => ({ id, name }))).toEqual([
        { id: program.playerId, name: "tracker" },
      ]);
      expect(players.size).toBe(2);
    }
    for (let step = 0; step <= 100; step++) {
      program.move(mine.id, { position: [-3.4, 1.5, step / 50], velocity: [0, 0, 0] });
    }
    const seen = await target(ada, 0);
    await waitFor("the newest place", () => Math.abs(seen.position[2] - 2) < 0.01);
    expect(seen.owner).toBe(program.playerId);
    program.release(mine.id);
    await waitFor("its end", () => seen.owner === undefined && mine.owner === undefined);
    const { playerId } = program;
    expect(owners).toEqual([
      [mine.id, undefined, playerId],
      [mine.id, playerId, undefined],
    ]);
    const unsent = program.stats.unsentActions;
    program.move(mine.id, { position: [0, 1, 0] });
    expect(program.stats.unsentActions).toBe(unsent + 1);
  });

  it("send the reasons of denied requests", async () => {
    using ada = join("robots-2", "Ada", "player");
    using program = join("robots-2", "tracker", "program");
    const one = await target(program, 1);
    const refused: unknown[] = [];
    program.on("refused", ({ action, request }) => refused.push([action, request?.entity]));
    await target(ada, 1);
    await expect(ada.own(one.id)).rejects.toMatchObject({ fault: "refused", message: /for programs/ });
    await expect(program.spawn("target", { position: [0, 1, 0] })).rejects.toThrow(/no player may ask/);
    await program.own(one.id);
    program.set(one.id, { base: [0, 0, 0] });
    program.despawn(one.id);
    await waitFor("the refusals", () => refused.length === 3);
    expect(refused).toEqual([
      ["spawn", undefined],
      ["set", one.id],
      ["despawn", one.id],
    ]);
    expect(() => program.move(one.id, { position: [Number.NaN, 0, 0] })).toThrow(/finite/);
    const lost = program.own(one.id);
    await lost;
    program.close();
    await expect(program.spawn("target", { position: [0, 1, 0] })).rejects.toThrow(/closed|not sent/);
  });
});
