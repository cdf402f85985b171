import { existsSync, readFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import type { Room, Row, Rows } from "../src/api/types.js";

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
const ROOM = "arena";
/** The delay of an answer while entities come. */
const ANSWER_MS = 60;

/**
 * Serves the built page and the part of `docs/reference/studio.md` that lists entities: a room with a floor and any number of
 * blocks. Everything else is tested at a real server.
 */
export class ContractServer {
  /** Adds a block with each question for the room, and answers slowly. */
  isGrowing = false;
  readonly #rows: Row[];
  readonly #server: Server;

  private constructor(blocks: number) {
    const rows = Array.from({ length: blocks }, (_, index) => rowOf(index + 1, "block"));
    this.#rows = [...rows, rowOf(blocks + 1, "floor")];
    this.#server = createServer(({ url }, response) => this.#answer(url ?? "/", response));
  }

  static async start(blocks: number): Promise<ContractServer> {
    if (!existsSync(PAGE)) throw new Error("build the page first: npm run build --workspace @nowcast/studio");
    const server = new ContractServer(blocks);
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

  #answer(address: string, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(address, "http://localhost");
    if (pathname.startsWith("/studio/api/")) {
      const answer = this.#route(pathname.slice("/studio/api/".length), searchParams);
      const text = JSON.stringify(answer ?? { error: { code: "not_found", message: "this is not served" } });
      response.writeHead(answer === undefined ? 404 : 200, { "content-type": "application/json" });
      setTimeout(() => response.end(text), this.isGrowing ? ANSWER_MS : 0);
      return;
    }
    const file = join(PAGE, pathname === "/studio/" ? "index.html" : normalize(pathname.slice(7)));
    if (!pathname.startsWith("/studio/") || !existsSync(file)) {
      response.writeHead(404).end();
      return;
    }
    const type = TYPES[extname(file)] ?? "application/octet-stream";
    response.writeHead(200, { "content-type": type, "content-security-policy": POLICY });
    response.end(readFileSync(file));
  }

  #route(path: string, query: URLSearchParams): unknown {
    switch (path) {
      case "session":
        return { role: "inspector", name: null, server: "0.1.0" };
      case "rooms":
        return {
          rooms: [{ name: ROOM, world: ROOM, players: 0, playersMax: 32 }],
          worlds: [{ name: ROOM, version: "1", fault: null, rooms: [ROOM] }],
          roomsMax: 16,
        };
      case `rooms/${ROOM}`:
        return this.#room();
      case `rooms/${ROOM}/entities`:
        return this.#page(query);
      case `rooms/${ROOM}/state`:
        return { tick: 1, state: {}, players: [], timers: 0, keptBytes: 0 };
      default:
        return undefined;
    }
  }

  #room(): Room {
    if (this.isGrowing) this.#rows.push(rowOf(this.#rows.length + 1, "block"));
    const kinds = ["block", "floor"].map((name, id) => ({
      id,
      name,
      body: name === "floor" ? "fixed" : "dynamic",
      count: this.#rows.filter(({ kind }) => kind === name).length,
      attributes: [],
    }));
    const entities = this.#rows.length;
    return {
      name: ROOM,
      world: ROOM,
      tick: 1,
      version: 1,
      entities,
      players: 0,
      awake: 0,
      kinds,
      stored: false,
    };
  }

  #page(query: URLSearchParams): Rows {
    const kind = query.get("kind");
    const limit = Number(query.get("limit") ?? 200);
    const after = Number(query.get("after") ?? 0);
    const found = kind === null ? this.#rows : this.#rows.filter((row) => row.kind === kind);
    const rest = found.filter(({ id }) => id > after);
    const rows = rest.slice(0, limit);
    return { tick: 1, total: found.length, rows, next: rest.length > limit ? rows.at(-1)!.id : null };
  }
}

function rowOf(id: number, kind: string): Row {
  const position = [id % 100, 0.5, Math.floor(id / 100)] as const;
  return { id, kind, position, tags: [], owner: null, parent: null, label: null };
}
