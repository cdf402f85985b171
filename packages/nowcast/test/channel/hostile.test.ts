/**
 * Hostile input to an endpoint. Each sender is refused with a named error or closed, and other clients are not affected.
 */
import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import { connect as connectTcp, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { type Channel, connect } from "../../src/index.js";
import { type Listener, type ListenOptions, listen } from "../../src/node/index.js";
import { waitFor } from "../wait-for.js";

let listener: Listener;
let behaved: Channel;
beforeAll(async () => {
  listener = await listen({ port: 0, origins: ["http://localhost:5173"] });
  const service = listener.advertise("tracker");
  void (async () => {
    for await (const channel of service) {
      channel.on("message", (message) => message.type === "command" && channel.reply(message, message.value));
    }
  })();
  behaved = await connect(`nowcast://127.0.0.1:${listener.port}/tracker`);
});
afterAll(async () => {
  // Despite the hostile senders, a well-behaved client is still served.
  expect(await behaved.command(Uint8Array.of(1, 2, 3))).toEqual(Uint8Array.of(1, 2, 3));
  expect(behaved.status).toMatchObject({ phase: "open", resumed: 0 });
  await listener.close();
});

/** Sends bytes over TCP and gathers the answer until the connection ends. */
function raw(bytes: string | Uint8Array, port = listener.port): Promise<string> {
  return new Promise((resolve) => {
    const socket: Socket = connectTcp(port, "127.0.0.1", () => socket.write(bytes));
    let answer = "";
    socket.on("data", (chunk) => {
      answer += chunk.toString("latin1");
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(answer));
  });
}

const UPGRADE = [
  "GET /nowcast/tracker HTTP/1.1",
  "Host: localhost",
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Protocol: nowcast.1",
].join("\r\n");

/** Opens a WebSocket, sends bytes, and returns how it was closed. */
function closedAfter(
  send: (socket: WebSocket) => void,
  target = "tracker",
  options: { origin?: string } = {},
): Promise<{ readonly code: number; readonly reason: string }> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`ws://127.0.0.1:${listener.port}/nowcast/${target}`, "nowcast.1", options);
    socket.on("open", () => send(socket));
    socket.on("error", reject);
    socket.on("close", (code, reason) => resolve({ code, reason: reason.toString() }));
  });
}

describe("before a session", () => {
  it.each([
    ["no HTTP", "\x16\x03\x01 what is this?\r\n\r\n", /^HTTP\/1\.1 400/],
    ["a head of a megabyte", `GET / HTTP/1.1\r\nA: ${"a".repeat(1 << 20)}`, /^HTTP\/1\.1 431|^$/],
    [
      "another method",
      "POST /nowcast/tracker HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
      /bad_request/,
    ],
    ["no Host", `${UPGRADE.replace("Host: localhost\r\n", "")}\r\n\r\n`, /^HTTP\/1\.1 400.*no Host/s],
    ["two Hosts", `${UPGRADE}\r\nHost: evil.example\r\n\r\n`, /^HTTP\/1\.1 400.*more than one Host/s],
    ["a Host that is none", `${UPGRADE.replace("localhost", "a b")}\r\n\r\n`, /^HTTP\/1\.1 400/],
    [
      "a question with two Hosts",
      "GET /nowcast/tracker HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\nConnection: close\r\n\r\n",
      /^HTTP\/1\.1 400.*more than one Host/s,
    ],
    [
      "a question without a Host",
      "GET /nowcast/tracker HTTP/1.1\r\nConnection: close\r\n\r\n",
      /^HTTP\/1\.1 400/,
    ],
    ["a WebSocket key of 15 bytes", `${UPGRADE.replace("AA==", "A===")}\r\n\r\n`, /Sec-WebSocket-Key is not/],
    [
      "a WebSocket key beyond 16 bytes",
      `${UPGRADE.replace("AA==", "AB==")}\r\n\r\n`,
      /Sec-WebSocket-Key is not/,
    ],
    ["two WebSocket keys", `${UPGRADE}\r\nSec-WebSocket-Key: x\r\n\r\n`, /Sec-WebSocket-Key is not/],
    [
      "another version of WebSocket",
      `${UPGRADE.replace("Version: 13", "Version: 8")}\r\n\r\n`,
      /^HTTP\/1\.1 426.*\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n/s,
    ],
    [
      "an upgrade to something else",
      `${UPGRADE.replace("Upgrade: websocket", "Upgrade: h2c")}\r\n\r\n`,
      /^HTTP\/1\.1 426/,
    ],
    ["no WebSocket key", `${UPGRADE.replace(/Sec-WebSocket-Key.*\r\n/, "")}\r\n\r\n`, /bad_request/],
    ["another subprotocol", `${UPGRADE.replace("nowcast.1", "chat")}\r\n\r\n`, /bad_request/],
    ["an unknown name", `${UPGRADE.replace("tracker", "nobody")}\r\n\r\n`, /no_such_name/],
    ["an oversized name", `${UPGRADE.replace("tracker", "n".repeat(5_000))}\r\n\r\n`, /no_such_name/],
    ["a wrong origin", `${UPGRADE}\r\nOrigin: https://evil.example\r\n\r\n`, /wrong_origin/],
    ["an opaque origin", `${UPGRADE}\r\nOrigin: null\r\n\r\n`, /wrong_origin/],
  ])("refuses %s", async (_, request, answer) => {
    expect(await raw(request)).toMatch(answer);
  });

  it("lets pages read its answer exactly where they may join", async () => {
    const ask = (origin: string) =>
      fetch(`http://127.0.0.1:${listener.port}/nowcast/tracker`, { headers: { origin } });
    const near = await ask("http://localhost:5173");
    expect([near.status, near.headers.get("access-control-allow-origin")]).toEqual([
      200,
      "http://localhost:5173",
    ]);
    const far = await ask("https://evil.example");
    expect([far.status, far.headers.get("access-control-allow-origin")]).toEqual([403, null]);
    expect(await far.json()).toMatchObject({
      error: "wrong_origin",
      cure: expect.stringContaining("operator"),
    });
  });

  it("closes and counts connections that send nothing or send slowly", async () => {
    const { withoutHello } = listener.stats;
    const silent = closedAfter(() => {});
    const slow = raw("GET /nowcast/tracker HTTP/1.1\r\nHost:");
    expect(await silent).toEqual({ code: 1002, reason: "no HELLO came" });
    expect(await slow).toMatch(/^HTTP\/1\.1 408/);
    expect(listener.stats.withoutHello).toBe(withoutHello + 1);
  });

  /** Opens a WebSocket that sends nothing. Resolves to the way it ended, or the reason why it was refused. */
  function silent(port: number, query = ""): { readonly socket: WebSocket; readonly end: Promise<string> } {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/nowcast/tracker${query}`, "nowcast.1");
    const end = new Promise<string>((resolve) => {
      socket.on("error", (error) => resolve(error.message));
      socket.on("close", (_, reason) => resolve(reason.toString()));
    });
    return { socket, end };
  }

  it("closes the oldest silent connection to make room for a new one", async () => {
    const few = await listen({ port: 0, carriersPerAddressMax: 3 });
    few.advertise("tracker");
    const silents = [];
    for (let n = 0; n < 10; n++) {
      const one = silent(few.port);
      silents.push(one);
      await waitFor("the upgrade", () => one.socket.readyState === WebSocket.OPEN);
    }
    const ends = await Promise.all(silents.slice(0, 7).map(({ end }) => end));
    expect(new Set(ends)).toEqual(new Set(["no HELLO came, and others wait"]));
    expect(silents.slice(7).map(({ socket }) => socket.readyState)).toEqual(Array(3).fill(WebSocket.OPEN));
    expect(few.stats).toMatchObject({ gaveWay: 7, refusals: {} });
    // A well-behaved client is admitted although hostile clients hold all places.
    const channel = await connect(`nowcast://127.0.0.1:${few.port}/tracker`);
    await channel.command(Uint8Array.of(1), { deadlineMs: 10 }).catch(() => {});
    expect(channel.status.phase).toBe("open");
    await few.close();
  });

  it("limits the connections of one address once it has sessions on all", async () => {
    const few = await listen({ port: 0, carriersPerAddressMax: 3 });
    few.advertise("tracker");
    const url = `nowcast://127.0.0.1:${few.port}/tracker`;
    const channels = [await connect(url), await connect(url), await connect(url)];
    expect(await silent(few.port).end).toContain("429");
    expect(few.stats).toMatchObject({ gaveWay: 0, refusals: { too_many: 1 } });
    // A closed session frees its place.
    channels[0]!.close();
    await waitFor("room", () => connect(url).catch(() => undefined));
    await few.close();
  });

  it("does not let clients without a token lock out those with one", async () => {
    const secret = new TextEncoder().encode("one-word-that-nobody-else-knows.");
    const few = await listen({ port: 0, carriersPerAddressMax: 8, tokenKey: { algorithm: "HS256", secret } });
    few.advertise("tracker");
    const strangers = [];
    for (let n = 0; n < 100; n++) strangers.push(silent(few.port, "?resume=1"));
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const text = `${part({ alg: "HS256" })}.${part({ exp: Date.now() / 1_000 + 60 })}`;
    const token = `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
    const url = `nowcast://127.0.0.1:${few.port}/tracker`;
    const channels = [];
    for (let n = 0; n < 8; n++) channels.push(await connect(url, { token }));
    expect(channels.map(({ status }) => status.phase)).toEqual(Array(8).fill("open"));
    expect(few.stats.refusals).toEqual({});
    // All places are used by sessions now, so a client without a token is refused.
    expect(await silent(few.port, "?resume=1").end).toContain("429");
    for (const { socket } of strangers) socket.terminate();
    await few.close();
  });
});

describe("on a carrier", () => {
  const noise = (length: number) => Uint8Array.from({ length }, (_, index) => (index * 73 + 11) % 256);

  it.each([
    ["noise", noise(300), 1002],
    ["an empty packet", new Uint8Array(0), 1002],
    ["a data packet", new Uint8Array(8), 1002],
    ["text", "hello", 1002],
    ["a message beyond the limit", noise(20_000), 1009],
  ])("closes on %s", async (_, message, code) => {
    expect((await closedAfter((socket) => socket.send(message))).code).toBe(code);
  });

  it("closes on a message of endless empty fragments", async () => {
    const answer = await raw(
      Buffer.concat([
        Buffer.from(`${UPGRADE}\r\n\r\n`),
        // A message that begins, and then continues with empty fragments, masked with zeros.
        Buffer.from([0x02, 0x80, 0, 0, 0, 0]),
        ...Array.from({ length: 10_000 }, () => Buffer.from([0x00, 0x80, 0, 0, 0, 0])),
      ]),
    );
    expect(answer).toMatch(/^HTTP\/1\.1 101/);
    const reason = "a message of more than 80 fragments";
    const close = [0x88, reason.length + 2, 1_002 >> 8, 1_002 & 0xff];
    expect(answer.endsWith(String.fromCharCode(...close) + reason)).toBe(true);
  });

  it("takes a packet in some fragments, empty ones among them", async () => {
    const few = await listen({ port: 0 });
    few.advertise("tracker");
    const socket = new WebSocket(`ws://127.0.0.1:${few.port}/nowcast/tracker`, "nowcast.1");
    const closed = new Promise<string>((resolve) => socket.on("close", (_, reason) => resolve(`${reason}`)));
    await waitFor("the upgrade", () => socket.readyState === WebSocket.OPEN);
    for (let n = 0; n < 30; n++) socket.send(new Uint8Array(n % 3), { fin: n === 29 });
    expect(await closed).toBe("the first packet is no HELLO");
    await few.close();
  });

  it("refuses to resume an unknown session, and keeps none for it", async () => {
    const before = listener.stats;
    const hello = new Uint8Array(160);
    hello.set([0x80, 0x4e, 0x4f, 0x57, 0x43, 1, 1, ...noise(8), ...new Uint8Array(8)]);
    // lanes 8, window 2^20, message 2^18, packet 1,200, idle 10,000, resume 60,000; then resume = 1 and a ticket.
    const limits = [8, 0x80, 0x80, 0x40, 0x80, 0x80, 0x10, 0xb0, 0x09, 0x90, 0x4e, 0xe0, 0xd4, 0x03];
    hello.set([...limits, 1, ...noise(24), 1], 23);
    const answer = await new Promise<Uint8Array>((resolve, reject) => {
      const socket = new WebSocket(`ws://127.0.0.1:${listener.port}/nowcast/tracker?resume=1`, "nowcast.1");
      socket.on("open", () => socket.send(hello));
      socket.on("message", (data: Buffer) => resolve(data));
      socket.on("error", reject);
    });
    // REFUSE, our nonce, unknown_session.
    expect([...answer.subarray(0, 10)]).toEqual([0x82, ...noise(8), 6]);
    expect(listener.stats.refused[6]).toBe((before.refused[6] ?? 0) + 1);
    expect(listener.stats.sessions).toBe(before.sessions);
  });

  it("refuses sessions above its limit, with the reason", async () => {
    const two = await listen({ port: 0, sessionsMax: 2 });
    two.advertise("tracker");
    const url = `nowcast://127.0.0.1:${two.port}/tracker`;
    const channels = [await connect(url), await connect(url)];
    await expect(connect(url)).rejects.toThrow(/refuses: full; .*; try again later/);
    channels[0]!.close();
    await waitFor("room", () => two.stats.sessions < 2);
    await connect(url);
    await two.close();
  });
});

describe("with tokens", () => {
  const secret = new TextEncoder().encode("one-word-that-nobody-else-knows.");
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const soon = () => Math.floor(Date.now() / 1_000) + 60;

  function token(claims: object, head: object = { alg: "HS256" }, key: Uint8Array = secret): string {
    const text = `${part(head)}.${part(claims)}`;
    return `${text}.${createHmac("sha256", key).update(text).digest("base64url")}`;
  }

  async function guarded<T>(
    tokenKey: ListenOptions["tokenKey"],
    use: (url: string, next: () => Promise<Channel | undefined>) => Promise<T>,
  ): Promise<T> {
    const endpoint = await listen({ port: 0, tokenKey });
    const service = endpoint.advertise("plaza");
    try {
      return await use(`nowcast://127.0.0.1:${endpoint.port}/plaza`, () => service.accept());
    } finally {
      await endpoint.close();
    }
  }

  it("admit the named client, and only once if they are single-use", async () => {
    await guarded({ algorithm: "HS256", secret }, async (url, next) => {
      const once = token({ exp: soon(), sub: "Ada", role: "host", room: "plaza", jti: "1" });
      const channel = await connect(url, { token: once });
      expect((await next())!.entry).toMatchObject({ name: "Ada", role: "host", room: "plaza" });
      await expect(connect(url, { token: once })).rejects.toThrow("was already used");
      channel.close();
    });
  });

  it("refuses invalid ones, each with its own reason", async () => {
    await guarded({ algorithm: "HS256", secret }, async (url) => {
      const good = { exp: soon() };
      for (const [wrong, words] of [
        [undefined, "a token is needed"],
        ["", "no JSON Web Token"],
        ["a.b.c", "no JSON Web Token"],
        ["x".repeat(5_000), "longer than"],
        [token(good, { alg: "none" }), "algorithm"],
        [token(good, { alg: "EdDSA" }), "algorithm"],
        [token(good, { alg: "HS256" }, new Uint8Array(32)), "not signed with"],
        [`${token(good)}A`, "not signed with"],
        [token({ exp: soon() - 120 }), "expired"],
        [token({}), '"exp"'],
        [token({ exp: "never" }), '"exp"'],
        [token({ ...good, nbf: soon() }), "not valid yet"],
        [token({ ...good, room: "cellar" }), "another room"],
        [token({ ...good, sub: "" }), '"sub"'],
        [token({ ...good, sub: "Ada " }), '"sub"'],
        [token({ ...good, role: "r".repeat(33) }), '"role"'],
      ] as const) {
        await expect(connect(url, { token: wrong }), String(words)).rejects.toThrow(words);
      }
    });
  });

  it("reads EdDSA as well", async () => {
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const text = `${part({ alg: "EdDSA" })}.${part({ exp: soon(), sub: "Ben" })}`;
    const signed = `${text}.${sign(null, Buffer.from(text), privateKey).toString("base64url")}`;
    await guarded({ algorithm: "EdDSA", key: publicKey }, async (url, next) => {
      const channel = await connect(url, { token: signed });
      expect((await next())!.entry.name).toBe("Ben");
      channel.close();
      await expect(connect(url, { token: token({ exp: soon() }) })).rejects.toThrow("algorithm");
    });
  });

  it("are required wherever other machines can connect, unless the operator allows otherwise", async () => {
    await expect(listen({ port: 0, host: "0.0.0.0" })).rejects.toThrow("give a tokenKey");
    await (await listen({ port: 0, host: "0.0.0.0", anonymous: true })).close();
  });
});
