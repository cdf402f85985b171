import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { decodeMsgpack, encodeMsgpack } from "../../src/codec/index.js";
import { ServerProcess } from "../server-process.js";
import { waitFor } from "../wait-for.js";

/**
 * An independent client: a stock WebSocket and `spec/PLAIN.md`, without our SDK except its MessagePack, which stands
 * for any MessagePack library.
 */
class StockClient {
  /** The id of its avatar, once that is known. */
  id = 0;
  #player = 0;
  readonly positions = new Map<number, readonly [number, number, number]>();
  readonly closed: Promise<{ code: number; reason: string }>;
  readonly #socket: WebSocket;
  readonly #encoding: string;

  constructor(url: string, encoding: string) {
    this.#encoding = encoding;
    this.#socket = new WebSocket(`${url.replace("http", "ws")}/ws/stock?encoding=${encoding}&name=Stock`);
    this.closed = new Promise((resolve) =>
      this.#socket.on("close", (code, reason) => resolve({ code, reason: reason.toString() })),
    );
    this.#socket.on("message", (data: Buffer, isBinary) => {
      if (!isBinary) this.#handle(JSON.parse(data.toString()));
      else this.#handle(decodeMsgpack(data) as unknown as ServerObject);
    });
  }

  walk(forward: number, yaw = 0): void {
    this.send({ type: "input", forward, right: 0, yaw, run: false, jump: false });
  }

  send(message: { [key: string]: string | number | boolean }): void {
    this.#socket.send(this.#encoding === "msgpack" ? encodeMsgpack(message) : JSON.stringify(message));
  }

  sendRaw(data: string | Buffer): void {
    this.#socket.send(data);
  }

  close(): void {
    this.#socket.close();
  }

  #handle(message: ServerObject): void {
    if (message.type === "welcome") this.#player = message.player;
    if (message.type === "player" && message.id === this.#player) this.id = message.avatar ?? 0;
    if (message.type === "spawn") for (const { id, p } of message.entities) this.positions.set(id, p);
    if (message.type === "move") {
      for (const { id, positionX, positionY, positionZ } of message.entities) {
        this.positions.set(id, [positionX, positionY, positionZ]);
      }
    }
  }
}

type ServerObject =
  | { type: "welcome"; player: number }
  | { type: "player"; id: number; avatar: number | null }
  | { type: "spawn"; entities: { id: number; p: [number, number, number] }[] }
  | { type: "move"; entities: { id: number; positionX: number; positionY: number; positionZ: number }[] };

let server: ServerProcess;
beforeAll(async () => {
  server = await ServerProcess.start();
}, 60_000);
afterAll(() => server?.stop());

describe.each(["json", "msgpack"])("a stock client with encoding=%s", (encoding) => {
  it("joins, moves, is seen by another client, and is moved by that client", async () => {
    const pushed = new StockClient(server.url, encoding);
    const pusher = new StockClient(server.url, encoding);
    const where = (client: StockClient, id: number): readonly [number, number, number] =>
      client.positions.get(id)!;
    await waitFor("both players to be in the worlds of both", () => {
      const ids = [pushed.id, pusher.id];
      return ids.every((id) => id !== 0 && pushed.positions.has(id) && pusher.positions.has(id));
    });

    const [startX, , startZ] = where(pushed, pushed.id);
    pushed.walk(1);
    await waitFor("steps toward −Z, as seen by the other", () => where(pusher, pushed.id)[2] < startZ - 1);
    pushed.walk(0);

    // The other player walks into the first one, and corrects its direction at every step.
    const restX = startX;
    const pushedTo = await waitFor("a push", () => {
      const [x, , z] = where(pusher, pusher.id);
      const [targetX, , targetZ] = where(pusher, pushed.id);
      pusher.walk(1, (Math.atan2(x - targetX, z - targetZ) + 2 * Math.PI) % (2 * Math.PI));
      const moved = where(pushed, pushed.id);
      return Math.hypot(moved[0] - restX, moved[2] - startZ) > 2 && moved;
    });
    expect(pushedTo.every(Number.isFinite)).toBe(true);
    pushed.close();
    pusher.close();
    expect((await pushed.closed).code).toBe(1005);
  });
});

describe("a stock client that does not keep to the specification", () => {
  it.each([
    ["text that is not JSON", "hello", 4000, /^malformed: /],
    ["a type of no message", '{"type":"teleport"}', 4000, /^malformed: /],
    [
      "an absurd number",
      '{"type":"input","forward":1e300,"right":0,"yaw":0,"run":false,"jump":false}',
      4001,
      /^out of bounds: /,
    ],
    ["a message of 5,000 bytes", JSON.stringify({ type: "chat", text: "a".repeat(5000) }), 1009, /too large/],
  ])("is told about %s", async (_, message, code, reason) => {
    const client = new StockClient(server.url, "json");
    await waitFor("the avatar", () => client.id !== 0);
    client.sendRaw(message);
    const end = await client.closed;
    expect(end.code).toBe(code);
    expect(end.reason).toMatch(reason);
    expect(await server.metric("nowcast_client_closed_total")).toBeGreaterThan(0);
  });

  it("is refused with a status and a line when it requests an unknown encoding", async () => {
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/ws/stock?encoding=xml`);
    const [status, body] = await new Promise<[number, string]>((resolve, reject) => {
      socket.on("error", () => {});
      socket.on("open", () => reject(new Error("it was admitted")));
      socket.on("unexpected-response", (_, response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => resolve([response.statusCode ?? 0, Buffer.concat(chunks).toString()]));
      });
    });
    expect(status).toBe(400);
    expect(body).toContain("encoding");
  });
});
