/**
 * Tests which web pages and which programs an endpoint of this machine admits (`spec/CARRIERS.md`, section
 * 7).
 */
import { createServer } from "node:http";
import { type AddressInfo, connect as connectTcp } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { connect, NowcastError } from "../../src/index.js";
import { type Listener, type ListenOptions, listen } from "../../src/node/index.js";
import { isKnownHost, isOwnPage, NamedOrigins, parseOrigin } from "../../src/node/page.js";

const closing: { close(): unknown }[] = [];
afterEach(async () => {
  for (const thing of closing.splice(0).reverse()) await thing.close();
});

async function open(options: ListenOptions = {}): Promise<Listener> {
  const listener = await listen({ port: 0, ...options });
  listener.advertise("robot");
  closing.push(listener);
  return listener;
}

type Headers = readonly string[];

/**
 * Returns the head and the body of the answer to a request, or only the head if the answer opens a WebSocket.
 */
function request(port: number, headers: Headers, target = "/nowcast/robot"): Promise<string> {
  return new Promise((resolve) => {
    const lines = [`GET ${target} HTTP/1.1`, ...headers, "\r\n"];
    const socket = connectTcp(port, "127.0.0.1", () => socket.write(lines.join("\r\n")));
    let answer = "";
    socket.on("data", (chunk) => {
      answer += chunk.toString("latin1");
      const [head = "", body] = answer.split("\r\n\r\n", 2);
      if (body === undefined) return;
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (body.length >= length) socket.destroy();
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(answer));
  });
}

const UPGRADE: Headers = [
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Protocol: nowcast.1",
];

/**
 * Returns the answers to a request for the record and to an attempt to open a carrier. Each is a status, and the code
 * of a refusal.
 */
async function answers(port: number, headers: Headers): Promise<readonly [string, string]> {
  const of = async (more: Headers): Promise<string> => {
    const answer = await request(port, [...headers, ...more]);
    const status = answer.slice(9, 12);
    return [status, /"error":"([a-z_]+)"/.exec(answer)?.[1] ?? ""].join(" ").trim();
  };
  return [await of(["Connection: close"]), await of(UPGRADE)];
}

const LET_IN = ["200", "101"] as const;
const WRONG_ORIGIN = ["403 wrong_origin", "403 wrong_origin"] as const;
const WRONG_HOST = ["403 wrong_host", "403 wrong_host"] as const;

describe("an endpoint on loopback without a key", () => {
  it("lets in its own pages, those that the operator named, and no other", async () => {
    const { port } = await open({ origins: ["https://robot.example", "http://localhost:5173/"] });
    const here = `Host: localhost:${port}`;
    for (const [headers, expected] of [
      [[here, `Origin: http://localhost:${port}`], LET_IN],
      [[here, `Origin: http://127.0.0.1:${port}`], LET_IN],
      [[`Host: 127.0.0.1:${port}`, `Origin: http://[::1]:${port}`], LET_IN],
      // Behind a forwarder on this machine, such as a development server.
      [["Host: localhost:9000", "Origin: http://localhost:9000"], LET_IN],
      [[here, "Origin: https://robot.example"], LET_IN],
      [["Host: robot.example", "Origin: https://robot.example"], LET_IN],
      [[here, "Origin: http://localhost:5173"], LET_IN],
      [[here, "Origin: https://evil.example"], WRONG_ORIGIN],
      [[here, "Origin: http://localhost:3000"], WRONG_ORIGIN],
      [[here, "Origin: null"], WRONG_ORIGIN],
      [[here, "Origin: http://robot.example"], WRONG_ORIGIN],
      [[here, `Origin: http://localhost:${port}`, "Origin: https://evil.example"], WRONG_ORIGIN],
      [[here, `Origin: http://localhost:${port}\u00e9`], WRONG_ORIGIN],
      [[here, `Origin: ${"x".repeat(1_000)}`], WRONG_ORIGIN],
    ] as const) {
      expect(await answers(port, headers), headers.join(", ").slice(0, 120)).toEqual(expected);
    }
  });

  it("is not deceived by a name that was pointed at this machine", async () => {
    const { port } = await open();
    const evil = `Host: evil.example:${port}`;
    expect(await answers(port, [evil, `Origin: http://evil.example:${port}`])).toEqual(WRONG_HOST);
    expect(await answers(port, [evil, `Origin: http://localhost:${port}`])).toEqual(WRONG_HOST);
    // Browsers omit the Origin in a request to the page's own origin.
    expect((await answers(port, [evil]))[0]).toBe("403 wrong_host");
    const absolute = await request(
      port,
      [`Host: localhost:${port}`, "Connection: close"],
      `http://evil.example:${port}/nowcast/robot`,
    );
    expect(absolute).toContain("wrong_host");
  });

  it("admits programs, which have no Origin, under any host name", async () => {
    const listener = await open();
    expect(await answers(listener.port, ["Host: localhost"])).toEqual(LET_IN);
    expect((await answers(listener.port, ["Host: robot.lan"]))[1]).toBe("101");
    const channel = await connect(`nowcast://127.0.0.1:${listener.port}/robot`);
    channel.close();
    expect(listener.stats.refusals).toEqual({ wrong_host: 1 });
  });

  it("lets a page read its answer exactly where the page may join", async () => {
    const { port } = await open();
    const own = `Origin: http://localhost:${port}`;
    const near = await request(port, [`Host: localhost:${port}`, own, "Connection: close"]);
    expect(near).toContain(`access-control-allow-origin: http://localhost:${port}\r\n`);
    const far = await request(port, [`Host: evil.example:${port}`, own, "Connection: close"]);
    expect(far).toContain("wrong_host");
    expect(far).not.toContain("access-control-allow-origin");
  });
});

describe("an endpoint with a key", () => {
  const tokenKey = {
    algorithm: "HS256",
    secret: new TextEncoder().encode("v".repeat(31).concat("w")),
  } as const;

  it("lets every page show its token, unless origins are named", async () => {
    const { port } = await open({ tokenKey });
    const unauthorised = ["401 unauthorised", "401 unauthorised"];
    expect(await answers(port, ["Host: robot.lan", "Origin: https://robot.example"])).toEqual(unauthorised);
    expect(await answers(port, ["Host: robot.lan", "Origin: https://robot\u00e9.example"])).toEqual(
      WRONG_ORIGIN,
    );
    const named = await open({ tokenKey, origins: ["https://robot.example"] });
    expect(await answers(named.port, ["Host: x", "Origin: https://robot.example"])).toEqual(unauthorised);
    expect(await answers(named.port, ["Host: x", "Origin: https://evil.example"])).toEqual(WRONG_ORIGIN);
  });
});

describe("another user's server", () => {
  it("is open to its machine, or to others, by the address on which it really listens", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve));
    closing.push(server);
    await expect(listen({ server })).rejects.toThrow("0.0.0.0 can be reached by other machines");
    const listener = await listen({ server, anonymous: true });
    listener.advertise("robot");
    const { port } = server.address() as AddressInfo;
    expect(await answers(port, ["Host: robot.lan", "Origin: https://robot.example"])).toEqual(LET_IN);
    server.closeAllConnections();
  });
});

describe("origins", () => {
  it.each([
    ["https://example.org", "https://example.org"],
    ["HTTPS://Example.ORG:443/", "https://example.org"],
    ["http://localhost:5173", "http://localhost:5173"],
    ["http://[::1]:80", "http://[::1]"],
    ["https://bücher.example", "https://xn--bcher-kva.example"],
    ["capacitor://localhost", "capacitor://localhost"],
  ])("reads %s", (written, read) => {
    expect(parseOrigin(written)).toBe(read);
  });

  it.each([
    "",
    "*",
    "null",
    "example.org",
    "//example.org",
    "https://",
    "https:///",
    "https://*.example.org",
    "https://example.org/path",
    "https://user@example.org",
    "https://example.org?x",
    "https://a b",
    "https://example.org:99999",
    "file:///etc/passwd",
    "https://a,https://b",
    "://x",
    "https://example.org#x",
  ])("refuses %j when the endpoint starts, with the form that it expects", async (wrong) => {
    const refused = expect(listen({ port: 0, origins: [wrong] })).rejects;
    await refused.toThrow(/is not an origin: write SCHEME:\/\/HOST/);
    expect(() => parseOrigin(wrong)).toThrow(NowcastError);
  });
});

describe("a host", () => {
  const named = new NamedOrigins(["https://robot.example:8443"]);

  it.each([
    "localhost",
    "LOCALHOST:1",
    "localhost.:80",
    "127.0.0.1:7777",
    "127.9.9.9",
    "[::1]:7777",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "robot.example:7777",
  ])("%s is this machine, or named", (host) => expect(isKnownHost(host, named)).toBe(true));

  it.each([
    "",
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "192.0.2.1",
    "[::2]",
    "::1",
    "localhost:x",
    "evil.example@localhost",
    "0.0.0.0",
    "[::]",
    "[::ffff:192.0.2.1]",
    "127.1",
  ])("%j is neither", (host) => expect(isKnownHost(host, named)).toBe(false));
});

describe("an origin", () => {
  it.each([
    ["http://localhost:7777", "127.0.0.1:7777"],
    ["http://127.0.0.1:7777", "localhost:9"],
    ["https://[::1]:8080", "localhost:8080"],
    ["http://localhost", "localhost"],
    ["https://localhost", "localhost:443"],
  ])("%s is the endpoint's own at %s", (origin, host) => expect(isOwnPage(origin, host, 7_777)).toBe(true));

  it.each([
    ["null", "localhost:7777"],
    ["http://localhost:3000", "localhost:7777"],
    ["http://evil.example:7777", "localhost:7777"],
    ["http://evil.example:7777", "evil.example:7777"],
    ["file://", "localhost:7777"],
    ["ftp://localhost:7777", "localhost:7777"],
    ["http://localhost:7777, http://evil.example", "localhost:7777"],
    ["http://localhost:7777://x", "localhost:7777"],
    ["http://localhost:7777/", "localhost:7777"],
    ["", "localhost:7777"],
  ])("%j is not at %s", (origin, host) => expect(isOwnPage(origin, host, 7_777)).toBe(false));
});
