import { createHash } from "node:crypto";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { WebSocketServer } from "ws";
import { loadNodeWebSocket } from "../../src/websocket/node-client.js";
import type { WebSocketConstructor, WebSocketLike } from "../../src/websocket/websocket.js";
import { waitFor } from "../wait-for.js";

let NodeWebSocket: WebSocketConstructor;
beforeAll(async () => {
  NodeWebSocket = await loadNodeWebSocket();
});

const servers: (WebSocketServer | Server)[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function wsServer(): Promise<WebSocketServer> {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  servers.push(server);
  await new Promise((resolve) => server.once("listening", resolve));
  return server;
}

/** A TCP server that answers the handshake with `answer(key)` and then sends `bytes`. */
async function rawServer(answer: (key: string) => string, bytes: number[] = []): Promise<Server> {
  const server = createServer((socket: Socket) => {
    socket.on("error", () => {});
    socket.once("data", (request) => {
      const key = /Sec-WebSocket-Key: (.*)\r\n/.exec(request.toString())?.[1] ?? "";
      socket.write(answer(key));
      socket.write(new Uint8Array(bytes));
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

function upgrade(key: string): string {
  const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
  return `HTTP/1.1 101 Switching Protocols\r\nupgrade: WebSocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`;
}

interface Watched {
  readonly socket: WebSocketLike;
  readonly log: { opened: boolean; data: unknown[]; closed: { code: number; reason: string } | undefined };
}

function open(server: WebSocketServer | Server): Watched {
  const socket = new NodeWebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}/path?q=1`);
  const log: Watched["log"] = { opened: false, data: [], closed: undefined };
  socket.addEventListener("open", () => {
    log.opened = true;
  });
  socket.addEventListener("message", ({ data }) => log.data.push(data));
  socket.addEventListener("close", ({ code, reason }) => {
    log.closed = { code, reason };
  });
  return { socket, log };
}

describe("the WebSocket client for Node", () => {
  it.each([
    0, 1, 125, 126, 65_535, 65_536, 300_000,
  ])("carries %i bytes there and back, as text and binary", async (length) => {
    const server = await wsServer();
    server.on("connection", (client) =>
      client.on("message", (data, isBinary) => client.send(data, { binary: isBinary })),
    );
    const { socket, log } = open(server);
    await waitFor("the opening", () => log.opened);
    const binary = Uint8Array.from({ length }, (_, i) => i * 31);
    socket.send("é".repeat(length));
    socket.send(binary);
    await waitFor("both echoes", () => log.data.length === 2);
    expect(log.data[0]).toBe("é".repeat(length));
    expect(new Uint8Array(log.data[1] as ArrayBuffer)).toEqual(binary);
    socket.close();
  });

  it("puts fragments together, with a ping in between that it answers", async () => {
    const server = await wsServer();
    const pongs: string[] = [];
    server.on("connection", (client) => {
      client.on("pong", (data) => pongs.push(data.toString()));
      client.send("a", { fin: false });
      client.send("b", { fin: false });
      client.ping("are you there?");
      client.send("c", { fin: true });
    });
    const { socket, log } = open(server);
    await waitFor("message and pong", () => log.data.length === 1 && pongs.length === 1);
    expect(log.data).toEqual(["abc"]);
    expect(pongs).toEqual(["are you there?"]);
    socket.close();
  });

  it("closes with a code and a reason that arrive, and receives those of the other side", async () => {
    const server = await wsServer();
    const heard: { code: number; reason: string }[] = [];
    server.on("connection", (client) =>
      client.on("close", (code, reason) => heard.push({ code, reason: reason.toString() })),
    );
    const first = open(server);
    await waitFor("the opening", () => first.log.opened);
    first.socket.close(4000, "enough");
    await waitFor("the close", () => first.log.closed !== undefined && heard.length === 1);
    expect(heard).toEqual([{ code: 4000, reason: "enough" }]);
    expect(first.log.closed).toEqual({ code: 4000, reason: "enough" });
    server.on("connection", (client) => client.close(4009, "too slow"));
    const second = open(server);
    await waitFor("the close", () => second.log.closed);
    expect(second.log.closed).toEqual({ code: 4009, reason: "too slow" });
  });

  it("reports a refusal in the server's own text", async () => {
    const server = await rawServer(
      () => 'HTTP/1.1 400 Bad Request\r\nContent-Length: 22\r\n\r\nunknown encoding "xml"',
    );
    const { log } = open(server);
    await waitFor("the close", () => log.closed);
    expect(log.closed).toEqual({ code: 1006, reason: 'HTTP 400: unknown encoding "xml"' });
    expect(log.opened).toBe(false);
  });

  it.each([
    ["a wrong key", () => upgrade("other"), "does not upgrade"],
    ["something that is not HTTP", () => "SSH-2.0-OpenSSH\r\n\r\n", "not HTTP/1.1"],
    ["an endless head", () => "HTTP/1.1 101 x\r\n".padEnd(20_000, "a"), "beyond 16384 bytes"],
  ])("does not open to %s", async (_, answer, reason) => {
    const { log } = open(await rawServer(answer));
    await waitFor("the close", () => log.closed);
    expect(log.closed!.reason).toContain(reason);
  });

  it.each([
    ["a masked frame", [0x82, 0x81, 1, 2, 3, 4, 5], 1002],
    ["a reserved bit", [0xc2, 0], 1002],
    ["an unknown opcode", [0x83, 0], 1002],
    ["a continuation of nothing", [0x80, 1, 65], 1002],
    ["a message inside another", [0x01, 1, 65, 0x81, 1, 65], 1002],
    ["a fragmented ping", [0x09, 0], 1002],
    ["a long ping", [0x89, 126, 0, 126], 1002],
    ["a close frame of one byte", [0x88, 1, 3], 1002],
    ["text that is not UTF-8", [0x81, 2, 0xc3, 0x28], 1007],
    ["a claim of 2^62 bytes", [0x82, 127, 0x40, 0, 0, 0, 0, 0, 0, 0], 1009],
    ["5 MiB", [0x82, 127, 0, 0, 0, 0, 0, 0x50, 0, 0], 1009],
  ])("leaves a server that sends %s", async (_, frame, code) => {
    const { log } = open(await rawServer(upgrade, frame));
    await waitFor("the close", () => log.closed);
    expect(log.closed!.code).toBe(code);
  });

  it("notices when the other side is disconnected", async () => {
    const server = await wsServer();
    server.on("connection", (client) => setImmediate(() => client.terminate()));
    const { log } = open(server);
    await waitFor("the close", () => log.closed);
    expect(log.closed!.code).toBe(1006);
  });
});
