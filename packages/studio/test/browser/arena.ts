import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { joinWorld, type World } from "nowcast/world";
import { ServerProcess } from "../../../nowcast/test/server-process.js";
import { waitFor } from "../../../nowcast/test/wait-for.js";
import { StudioApi } from "../../src/api/studio-api.js";
import type { Row } from "../../src/api/types.js";

/** The number of entities of the kind `block`. */
export const BLOCKS = 30;
/** The line of {@link RULES} that holds the points of a second. */
export const POINTS_LINE = 7;

/** The line of {@link RULES} at which the function of the timer begins. */
export const SECOND_LINE = 9;

/** A world with a score that grows by 2 each second, although a second is worth 1 point. */
const RULES = `--!strict
local world = require("@nowcast/world")
local rules = require("./score")

world.state { score = 0, lead = 0 }

local POINTS = 2

world.timer("second", function()
	world.state.score += POINTS
	world.state.lead = math.min(world.state.score, rules.max)
end)

local Floor = world.kind("floor", {
	body = { motion = "fixed", shape = "box", size = vector.create(40, 1, 40) },
	look = { color = "#7f8c8d" },
})
local Block = world.kind("block", {
	body = { shape = "box", size = vector.one },
	attributes = { color = "text", hp = { "u32", default = 10 } },
})
local Goal = world.kind("goal", {
	body = { motion = "sensor", shape = "box", size = vector.create(4, 2, 1) },
	attributes = { title = "text" },
})
local Person = world.kind("person", { walker = {} })

world.on("start", function()
	Floor:spawn { at = vector.create(0, -0.5, 0) }
	for index = 1, ${BLOCKS} do
		local block = Block:spawn { at = vector.create(index % 10 * 2 - 9, 0.5, -index // 10 * 3), color = "#2e86ab" }
		if index % 10 == 1 then
			block:tag("heavy")
		end
	end
	Goal:spawn { at = vector.create(0, 1, -15), title = "<img src=x onerror=alert(1)>" }
	world.every(1, "second")
	print("the match begins")
end)

world.on("join", function(player)
	player:spawn_avatar(Person, { at = vector.create(player.id % 8 * 2 - 7, 1, 8) })
end)
`;

const SCORE = `return { max = 3 }
`;

/** Between two inputs of a player that walks in circles. */
const WALK_MS = 200;

/** A real server with a stored world of its own, and a player in it. */
export class Arena {
  readonly server: ServerProcess;
  /** The folder of the world, whose files the studio edits. */
  readonly folder: string;
  readonly api: StudioApi;
  readonly #data: string;
  readonly #players: World[] = [];
  readonly #walks: ReturnType<typeof setInterval>[] = [];

  private constructor(server: ServerProcess, folder: string, data: string) {
    this.server = server;
    this.folder = folder;
    this.#data = data;
    this.api = new StudioApi(`${server.url}/studio/api`, (url, init) => fetch(url, init));
  }

  static async start(options: readonly string[] = []): Promise<Arena> {
    const folder = await mkdtemp(join(tmpdir(), "nowcast-arena-"));
    const data = await mkdtemp(join(tmpdir(), "nowcast-arena-data-"));
    await writeFile(join(folder, "world.luau"), RULES);
    await writeFile(join(folder, "score.luau"), SCORE);
    const server = await ServerProcess.start(0, ["--world", `arena=${folder}`, "--data", data, ...options]);
    return new Arena(server, folder, data);
  }

  /** The address of the studio. */
  get url(): string {
    return `${this.server.url}/studio/`;
  }

  /** Joins a room as a player of this process, who walks in circles. A room is open while somebody is in it. */
  async join(name: string, room = "arena", token?: string): Promise<World> {
    const world = joinWorld(`${this.server.url}/r/${room}`, { name, token });
    this.#players.push(world);
    await world.ready;
    let yaw = 0;
    const walk = setInterval(() => {
      yaw += 0.3;
      world.input({ forward: 1, right: 0, yaw, run: false, jump: false });
    }, WALK_MS);
    this.#walks.push(walk);
    return world;
  }

  async stop(): Promise<void> {
    for (const walk of this.#walks.splice(0)) clearInterval(walk);
    for (const player of this.#players.splice(0)) player.close();
    await this.server.stop();
    await Promise.all([this.folder, this.#data].map((path) => rm(path, { recursive: true, force: true })));
  }

  /** The text of a file of the world's folder. */
  read(path: string): Promise<string> {
    return readFile(join(this.folder, path), "utf8");
  }

  write(path: string, text: string): Promise<void> {
    return writeFile(join(this.folder, path), text);
  }

  async rowsOf(kind: string): Promise<readonly Row[]> {
    return (await this.api.entities({ type: "room", room: "arena" }, { kind })).rows;
  }

  async score(): Promise<number> {
    return Number((await this.api.state({ type: "room", room: "arena" })).state["score"]);
  }

  /** Waits until the journal has this many further steps of the room. */
  async history(steps: number): Promise<void> {
    let begin: number | undefined;
    await waitFor(`${steps} stored steps`, async () => {
      // The server limits the requests of an address.
      await setTimeout(200);
      const { to } = await this.api.history("arena");
      if (to === null) return false;
      begin ??= to.tick;
      return to.tick - begin >= steps;
    });
  }
}
