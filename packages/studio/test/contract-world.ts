import type {
  Command,
  CommandResult,
  Diagnostic,
  Differences,
  Entity,
  LogLine,
  Moment,
  Row,
  SourceFile,
  Value,
} from "../src/api/types.js";

export interface TestEntity {
  readonly id: number;
  readonly kind: string;
  position: [number, number, number];
  tags: string[];
  attributes: Record<string, Value>;
  private: Value;
}

/** A request that the interface refuses. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly revision?: string,
  ) {
    super(message);
  }
}

const KINDS = [
  { name: "block", body: "dynamic", attributes: ["color", "hp"] },
  { name: "goal", body: "sensor", attributes: ["name", "score"] },
  { name: "floor", body: "fixed", attributes: [] },
] as const;

const RULES = `-- The rules of the test world.
local GOAL = 3

kind("block", { shape = { box = { 1, 1, 1 } }, attributes = { hp = 10 } })

function step(world)
	local scored = world.state.score or 0
	if scored >= GOAL then
		world.state.winner = "red"
	end
end
`;

/** A small world in memory whose answers follow `docs/reference/studio.md`. */
export class ContractWorld {
  readonly entities = new Map<number, TestEntity>();
  readonly files = new Map<string, SourceFile>();
  readonly tests: string[] = [];
  readonly moments = new Map<string, { moment: Moment; entities: TestEntity[] }>();
  readonly commands: Command[] = [];
  readonly clients = [client(1, "<b>Ada</b>", "session", 42.5, 12), client(2, "Ben", "plain", null, null)];
  state: Record<string, Value> = { score: 2, phase: "play", bounds: [20, 4, 20] };
  lines: LogLine[] = [];
  tick = 36_000;
  #revision = 1;
  #nextId = 0;

  constructor(blocks: number) {
    for (let index = 0; index < blocks; index += 1) {
      const attributes = { color: index % 3 === 0 ? "red" : "blue", hp: 10 };
      this.#add(
        "block",
        [(index % 40) - 20, 0.5, Math.floor(index / 40) - 8],
        attributes,
        index % 50 === 0 ? ["heavy"] : [],
      );
    }
    this.#add("goal", [0, 1, -9], { name: "<img src=x onerror=alert(1)>", score: 0 }, ["red"]);
    this.#add("floor", [0, -0.5, 0], {}, []);
    this.write("world.luau", RULES);
    this.write("lib/score.luau", "return { max = 3 }\n");
    this.log({ type: "print", text: "the match begins", file: "world.luau", line: 7 });
    this.log({ type: "chat", name: "<b>Ada</b>", text: "hello & welcome" });
    this.log({ type: "event", name: "goal", data: { team: "red", by: 1 } });
    this.log({ type: "rules", text: "version 3 runs" });
  }

  log(line: Omit<LogLine, "n" | "tick">): void {
    this.lines.push({ n: this.lines.length + 1, tick: this.tick, ...line });
  }

  write(path: string, text: string): string {
    const revision = `r${this.#revision++}`;
    this.files.set(path, { path, text, revision });
    return revision;
  }

  get kinds() {
    return KINDS.map(({ name, body, attributes }, id) => ({
      id,
      name,
      body,
      count: [...this.entities.values()].filter(({ kind }) => kind === name).length,
      attributes: attributes.map((attribute) => ({ name: attribute, type: "any", default: null })),
    }));
  }

  rows(entities: Iterable<TestEntity>, query: URLSearchParams) {
    const search = query.get("search")?.toLowerCase();
    const [attribute, value] = (query.get("attribute") ?? "").split("=");
    const limit = Number(query.get("limit") ?? 200);
    const after = Number(query.get("after") ?? -1);
    const found = [...entities]
      .filter(({ kind }) => query.get("kind") === null || kind === query.get("kind"))
      .filter(({ tags }) => query.get("tag") === null || tags.includes(query.get("tag")!))
      .filter(({ attributes }) => !attribute || String(attributes[attribute]) === value)
      .filter(
        ({ id, kind, tags }) => !search || `#${id}` === search || [kind, ...tags].join(" ").includes(search),
      );
    const rest = found.filter(({ id }) => id > after);
    const rows = rest.slice(0, limit).map(rowOf);
    return { tick: this.tick, total: found.length, rows, next: rest.length > limit ? rows.at(-1)!.id : null };
  }

  entity(entities: Iterable<TestEntity>, id: number): Entity {
    const found = [...entities].find((entity) => entity.id === id);
    if (!found) throw new Refusal(404, "not_found", `entity ${id} does not exist`);
    const { kind, position, tags, attributes } = found;
    return {
      tick: this.tick,
      id,
      kind,
      pose: { position, rotation: [0, 0, 0, 1] },
      scale: 1,
      velocity: { linear: [0, 0, 0], angular: [0, 0, 0] },
      parent: null,
      owner: null,
      tags,
      attributes,
      private: found.private,
      changedTick: this.tick - 5,
      body: { motion: "dynamic", asleep: false, mass: 12, parts: 1, onGround: true },
      contacts: [this.#nextId],
      joints: [],
      children: [],
      player: null,
    };
  }

  apply(command: Command): CommandResult {
    this.commands.push(command);
    if (command.type === "set_state") {
      this.state = { ...this.state, [command.key]: command.value };
      return { ok: true };
    }
    if (command.type === "spawn")
      return { ok: true, id: this.#add(command.kind, [...command.pose.position], { hp: 10 }, []) };
    if (command.type === "set_saved")
      return { ok: false, message: "players without an account save nothing" };
    const entity = this.entities.get(command.entity);
    if (!entity) return { ok: false, message: `entity ${command.entity} does not exist` };
    if (command.type === "despawn") this.entities.delete(entity.id);
    else if (command.type === "move") entity.position = [...command.pose.position];
    else if (command.type === "set_private") entity.private = command.value;
    else {
      const isText = typeof entity.attributes[command.name] === "string";
      if (isText !== (typeof command.value === "string"))
        return { ok: false, message: `${command.name} has another type` };
      entity.attributes = { ...entity.attributes, [command.name]: command.value };
    }
    return { ok: true };
  }

  /** The word `oops` is the mistake that the check of this world knows. */
  check(changed: Readonly<Record<string, string>>): Diagnostic[] {
    const texts = new Map([...this.files.values()].map(({ path, text }) => [path, text]));
    for (const [path, text] of Object.entries(changed)) texts.set(path, text);
    return [...texts].flatMap(([file, text]) =>
      text.split("\n").flatMap((line, index) =>
        line.includes("oops")
          ? [
              {
                file,
                line: index + 1,
                column: line.indexOf("oops") + 1,
                severity: "error" as const,
                message: "unknown global oops",
              },
            ]
          : [],
      ),
    );
  }

  openMoment(room: string, step: number): Moment {
    const tick = Math.max(0, Math.min(step, this.tick));
    const moment: Moment = {
      id: `m${this.moments.size + 1}`,
      room,
      world: "arena",
      tick,
      exact: true,
      expiresInS: 600,
      through: this.tick,
    };
    this.moments.set(moment.id, { moment, entities: structuredClone([...this.entities.values()]) });
    return moment;
  }

  compare(a: readonly TestEntity[], b: readonly TestEntity[]): Differences {
    const before = new Map(a.map((entity) => [entity.id, entity]));
    const changed = b.flatMap(({ id, kind, attributes }) => {
      const old = before.get(id)?.attributes ?? {};
      const members = Object.entries(attributes)
        .filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(old[name]))
        .map(([name, value]) => ({ name: `attributes.${name}`, a: old[name] ?? null, b: value }));
      return members.length === 0 ? [] : [{ id, kind, members }];
    });
    return { spawned: [], despawned: [], changed, state: [], players: [], total: changed.length };
  }

  #add(
    kind: string,
    position: [number, number, number],
    attributes: Record<string, Value>,
    tags: string[],
  ): number {
    this.#nextId += 1;
    this.entities.set(this.#nextId, { id: this.#nextId, kind, position, tags, attributes, private: null });
    return this.#nextId;
  }
}

function rowOf({ id, kind, position, tags, attributes }: TestEntity): Row {
  const label = typeof attributes["name"] === "string" ? attributes["name"] : null;
  return { id, kind, position, tags, owner: null, parent: null, label };
}

function client(
  player: number,
  name: string,
  carrier: "session" | "plain",
  rttMs: number | null,
  lossPerMille: number | null,
) {
  return {
    player,
    name,
    carrier,
    role: ["player"],
    networkHz: 20,
    behindMs: 100,
    rttMs,
    lossPerMille,
    rateBytes: rttMs === null ? null : 14_200,
    queuedBytes: rttMs === null ? null : 800,
    queued: rttMs === null ? null : 3,
    superseded: rttMs === null ? null : 1_204,
  };
}
