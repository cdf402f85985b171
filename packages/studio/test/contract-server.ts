import { existsSync, readFileSync } from "node:fs";
import {
  createServer,
  request as forward,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { type AddressInfo, connect as dial } from "node:net";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "../src/api/types.js";
import { ContractWorld, Refusal } from "./contract-world.js";

const PAGE = fileURLToPath(new URL("../dist", import.meta.url));
/** The policy of the server's own pages, so that the page is tested under it. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self' https: wss: ws:; " +
  "font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
};

/** Serves the built page and the interface of `docs/reference/studio.md`. All other requests go to a real server. */
export class ContractServer {
  readonly world: ContractWorld;
  readonly requests: string[] = [];
  role: "inspector" | "editor" = "editor";
  token: string | undefined;
  readonly #room: string;
  readonly #server: Server;
  readonly #portOfWorlds: number | undefined;

  private constructor(room: string, blocks: number, portOfWorlds: number | undefined) {
    this.#room = room;
    this.world = new ContractWorld(blocks);
    this.#portOfWorlds = portOfWorlds;
    this.#server = createServer((request, response) => void this.#answer(request, response));
    this.#server.on("upgrade", (request, socket, head) => {
      if (portOfWorlds === undefined) return void socket.destroy();
      const far = dial(portOfWorlds, "127.0.0.1", () => {
        const lines = [`${request.method} ${request.url} HTTP/1.1`];
        for (let index = 0; index < request.rawHeaders.length; index += 2) {
          lines.push(`${request.rawHeaders[index]}: ${request.rawHeaders[index + 1]}`);
        }
        far.write(`${lines.join("\r\n")}\r\n\r\n`);
        far.write(head);
        far.pipe(socket);
        socket.pipe(far);
      });
      far.on("error", () => socket.destroy());
      socket.on("error", () => far.destroy());
    });
  }

  static async start(room: string, blocks: number, portOfWorlds?: number): Promise<ContractServer> {
    if (!existsSync(PAGE)) throw new Error("build the page first: npm run build --workspace @nowcast/studio");
    const server = new ContractServer(room, blocks, portOfWorlds);
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/studio/`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    if (pathname.startsWith("/studio/api/"))
      return this.#api(request, response, pathname.slice(12), searchParams);
    const file = join(PAGE, pathname === "/studio/" ? "index.html" : normalize(pathname.slice(7)));
    if (pathname.startsWith("/studio/") && existsSync(file)) {
      const type = TYPES[extname(file)] ?? "application/octet-stream";
      response.writeHead(200, { "content-type": type, "content-security-policy": POLICY });
      response.end(readFileSync(file));
      return;
    }
    if (this.#portOfWorlds === undefined) {
      response.writeHead(404).end();
      return;
    }
    const { url, method, headers } = request;
    const options = { port: this.#portOfWorlds, host: "127.0.0.1", path: url, method, headers };
    const passed = forward(options, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    passed.on("error", () => response.destroy());
    request.pipe(passed);
  }

  async #api(
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    query: URLSearchParams,
  ): Promise<void> {
    this.requests.push(`${request.method} ${path}`);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    let [status, answer] = [200, {} as unknown];
    try {
      if (this.token !== undefined && request.headers.authorization !== `Bearer ${this.token}`) {
        throw new Refusal(401, "no_token", "the server requires a token");
      }
      if (request.method !== "GET" && request.headers["content-type"] !== "application/json") {
        throw new Refusal(415, "not_json", "the body must be JSON");
      }
      const body = chunks.length === 0 ? {} : JSON.parse(Buffer.concat(chunks).toString());
      answer = this.#route(request, path.split("/").map(decodeURIComponent), query, body);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const { code, message, revision } = error;
      [status, answer] = [error.status, { error: { code, message, revision } }];
    }
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(answer));
  }

  #route(
    { method, headers }: IncomingMessage,
    [first, name = "", part = "", ...rest]: string[],
    query: URLSearchParams,
    body: Record<string, unknown>,
  ): unknown {
    const { world } = this;
    switch (first) {
      case "session":
        return { role: this.role, name: null, server: "0.1.0" };
      case "rooms":
        return name === "" ? this.#rooms() : this.#roomRoute(method, part, rest, query, body);
      case "worlds":
        return this.#worldRoute(method, part, rest.join("/"), headers, body);
      case "metrics":
        return metrics();
      case "moments":
        if (name === "") return { moments: [...world.moments.values()].map(({ moment }) => moment) };
        if (name === "compare") {
          const [a, b] = [world.moments.get(query.get("a")!)!, world.moments.get(query.get("b")!)!];
          return { a: a.moment, b: b.moment, differences: world.compare(a.entities, b.entities) };
        }
        return this.#momentRoute(name, method, part, rest, query, body);
      default:
        throw new Refusal(404, "not_found", `${first} is not a path`);
    }
  }

  #rooms(): unknown {
    const room = { name: this.#room, world: "arena", players: 2, playersMax: 32 };
    const shown = { name: "arena", version: 3, fault: null, rooms: [this.#room] };
    return { rooms: [room], worlds: [shown], roomsMax: 16 };
  }

  #roomRoute(
    method: string | undefined,
    part: string,
    rest: readonly string[],
    query: URLSearchParams,
    body: Record<string, unknown>,
  ): unknown {
    const { world } = this;
    world.tick += 1;
    switch (part) {
      case "":
        return {
          name: this.#room,
          world: "arena",
          tick: world.tick,
          version: 3,
          entities: world.entities.size,
          players: 2,
          awake: 12,
          kinds: world.kinds,
          stored: true,
        };
      case "entities":
        return rest[0] === undefined
          ? world.rows(world.entities.values(), query)
          : world.entity(world.entities.values(), Number(rest[0]));
      case "state":
        return this.#state();
      case "commands":
        return {
          tick: world.tick,
          results: (body["commands"] as Command[]).map((command) => world.apply(command)),
        };
      case "clients":
        if (method === "DELETE")
          world.clients.splice(
            world.clients.findIndex(({ player }) => player === Number(rest[0])),
            1,
          );
        return { clients: world.clients };
      case "log": {
        const after = Number(query.get("after") ?? 0);
        return { lines: world.lines.filter(({ n }) => n > after), next: world.lines.length, dropped: 0 };
      }
      case "profile":
        return profile(world.tick);
      case "history": {
        const nowMs = Date.now();
        return {
          stored: true,
          from: { tick: 0, timeMs: nowMs - 600_000 },
          to: { tick: world.tick, timeMs: nowMs },
        };
      }
      case "moments": {
        const at = body as { step?: number; secondsAgo?: number };
        return world.openMoment(this.#room, at.step ?? world.tick - 60 * (at.secondsAgo ?? 0));
      }
      default:
        throw new Refusal(404, "not_found", `${part} is not a path`);
    }
  }

  #state(): unknown {
    const player = { id: 1, name: "<b>Ada</b>", program: false, avatar: 2, tags: [], roles: ["player"] };
    const players = [
      { ...player, private: null, saved: { version: 1, value: { coins: 5 } }, account: null, behindMs: 100 },
    ];
    return { tick: this.world.tick, state: this.world.state, players, timers: 2, keptBytes: 312 };
  }

  #worldRoute(
    method: string | undefined,
    part: string,
    path: string,
    headers: IncomingMessage["headers"],
    body: Record<string, unknown>,
  ): unknown {
    const { world } = this;
    if (part === "check")
      return { diagnostics: world.check(body["files"] as Record<string, string>), kinds: 3, modules: 2 };
    if (part === "types")
      return { files: { "world.luau": "type World = { state: any, spawn: (kind: string) -> Entity }" } };
    if (part === "faults") return { fault: null, file: null, line: null, version: 3 };
    if (path === "") {
      const files = [...world.files.values()].map(({ path: name, text, revision }) => ({
        path: name,
        bytes: text.length,
        revision,
        text: true,
      }));
      return { files, writable: true, why: null, version: 3 };
    }
    const known = world.files.get(path);
    if (method === "PUT") {
      const match = headers["if-match"];
      if (match !== undefined && match !== `"${known?.revision}"`) {
        throw new Refusal(412, "changed", "the file has another revision", known?.revision);
      }
      const text = body["text"] as string;
      const revision = world.write(path, text);
      // The room reports a mistake of the rules that run.
      for (const { file, line, message } of world.check({}))
        world.log({ type: "error", file, line, text: message });
      return { path, revision, created: known === undefined };
    }
    if (!known) throw new Refusal(404, "not_found", `${path} does not exist`);
    return known;
  }

  #momentRoute(
    id: string,
    method: string | undefined,
    part: string,
    rest: readonly string[],
    query: URLSearchParams,
    body: Record<string, unknown>,
  ): unknown {
    const { world } = this;
    const kept = world.moments.get(id);
    if (!kept) throw new Refusal(404, "not_found", `the moment ${id} is closed`);
    if (method === "DELETE") return { ok: world.moments.delete(id) };
    switch (part) {
      case "entities":
        return rest[0] === undefined
          ? world.rows(kept.entities, query)
          : world.entity(kept.entities, Number(rest[0]));
      case "state":
        return this.#state();
      case "step":
        kept.moment = { ...kept.moment, tick: kept.moment.tick + Number(body["steps"]) };
        return kept.moment;
      case "replay": {
        const rules = body["rules"] as string;
        const { tick } = kept.moment;
        const errors =
          rules === "current"
            ? world.check({}).map(({ file, line, message }) => ({ tick: tick + 1, file, line, message }))
            : [];
        const until = Number(body["until"]);
        const differences = world.compare(kept.entities, [...world.entities.values()]);
        return { from: tick, until, reached: until, exact: true, errors, printed: ["goal"], differences };
      }
      case "test":
        world.tests.push(body["name"] as string);
        return { test: `tests/${body["name"]}.luau`, moment: `moments/${body["name"]}.luau` };
      default:
        return kept.moment;
    }
  }
}

function profile(tick: number): unknown {
  const step = (index: number) => {
    const world = 2_200 + 900 * Math.sin(index / 6) + (index % 37 === 0 ? 9_000 : 0);
    const phases = { world, changes: 420, store: 130, replication: 800, other: 150 };
    return { tick: tick - 120 + index, totalUs: world + 1_500, phases };
  };
  const steps = Array.from({ length: 120 }, (_, index) => step(index));
  const slowest = [...steps].sort((a, b) => b.totalUs - a.totalUs).slice(0, 16);
  const hooks = [
    { name: "step", calls: 120, us: 71_000 },
    { name: "touch", calls: 44, us: 9_100 },
  ];
  return { tick, budgetUs: 16_667, steps, slowest, hooks, work: 20_000, workMax: 1_000_000 };
}

function metrics(): unknown {
  const times = Array.from({ length: 720 }, (_, index) => Date.now() - (720 - index) * 5_000);
  const wave = (scale: number) =>
    times.map((_, index) => (index < 60 ? null : scale * (1 + Math.sin(index / 40) / 3)));
  const series = [
    { name: "players", values: wave(20) },
    { name: "step p99, µs", values: wave(4_100) },
    { name: "bytes sent a second", values: wave(190_000) },
    { name: "memory, bytes", values: wave(82_000_000) },
  ];
  return { intervalMs: 5_000, times, series };
}
