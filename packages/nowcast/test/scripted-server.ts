import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";

/**
 * A server that violates its protocol on demand: it sends invalid messages, breaks connections, and sends any message
 * that a test passes.
 */
export class ScriptedServer {
  readonly requests: string[] = [];
  readonly received: (string | Uint8Array)[] = [];
  readonly clients: WebSocket[] = [];
  readonly #server: WebSocketServer;

  private constructor(server: WebSocketServer, greet: (client: WebSocket) => void) {
    this.#server = server;
    server.on("connection", (client, request) => {
      this.requests.push(request.url ?? "");
      this.clients.push(client);
      client.on("message", (data: Buffer, isBinary) => {
        this.received.push(isBinary ? new Uint8Array(data) : data.toString());
      });
      client.on("error", () => {});
      greet(client);
    });
  }

  static async start(greet: (client: WebSocket) => void = greetPlainly): Promise<ScriptedServer> {
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    await new Promise((resolve) => server.once("listening", resolve));
    return new ScriptedServer(server, greet);
  }

  get url(): string {
    return `ws://127.0.0.1:${(this.#server.address() as AddressInfo).port}/ws/test`;
  }

  /** The JSON messages of one type that have arrived. */
  messages(type: string): Record<string, unknown>[] {
    return this.received
      .filter((data) => typeof data === "string")
      .map((data) => JSON.parse(data) as Record<string, unknown>)
      .filter((message) => message["type"] === type);
  }

  say(message: object): void {
    for (const client of this.clients) client.send(JSON.stringify(message));
  }

  async stop(): Promise<void> {
    for (const client of this.clients) client.terminate();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

export const WELCOME = {
  type: "welcome",
  protocol: 2,
  player: 5,
  room: "test",
  world: "sheep",
  stepHz: 60,
  networkHz: 10,
  tick: 100,
};
export const DEFINE = {
  type: "define",
  version: 3,
  kinds: [
    {
      name: "sheep",
      body: { shape: "box" },
      look: { color: "#ffffff" },
      attributes: { wool: "f32", owner: "u32?" },
    },
    { name: "person", walker: {}, attributes: {} },
  ],
  actions: [{ name: "shear", arguments: { sheep: "u32?", power: "range(0, 1, 0.01)" }, hint: { key: "e" } }],
  events: [{ name: "shorn", payload: { sheep: "u32" } }],
  assets: [{ name: "assets/sheep.glb", hash: "0f".repeat(32), bytes: 2_048, type: "model/gltf-binary" }],
};
export const PLAYER = { type: "player", id: 5, name: "Ada", avatar: 301 };
export const SHEEP = {
  id: 7,
  kind: "sheep",
  p: [0, 0.5, 0],
  r: [0, 0, 0],
  attributes: { wool: 1, owner: null },
};
export const AVATAR = {
  id: 301,
  kind: "person",
  scale: [1, 2, 1],
  p: [0, 0.9, 6],
  r: [0, 0, 0],
  attributes: {},
};

export function greetPlainly(client: WebSocket): void {
  const spawn = { type: "spawn", entities: [SHEEP, AVATAR] };
  for (const message of [WELCOME, DEFINE, PLAYER, spawn]) client.send(JSON.stringify(message));
}
