/** Addresses, and possible answers of an endpoint about its carriers. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { readAddress } from "../../src/connect/address.js";
import { connect } from "../../src/index.js";

describe("an address", () => {
  it.each([
    ["nowcast://localhost/tracker", "localhost", 7777, "tracker", false],
    ["nowcast:///tracker", "localhost", 7777, "tracker", false],
    ["nowcast://127.0.0.1:80/a.b-c_d", "127.0.0.1", 80, "a.b-c_d", false],
    ["nowcast://[::1]:9000/x", "[::1]", 9000, "x", false],
    ["nowcast://example.org/plaza", "example.org", 7777, "plaza", true],
    ["https://example.org/nowcast/plaza", "example.org", 443, "plaza", true],
    ["http://192.0.2.7:8080/nowcast/plaza", "192.0.2.7", 8080, "plaza", false],
  ])("%s is read", (url, host, port, name, isEncrypted) => {
    expect(readAddress(url)).toEqual({ host, port, base: "/", name, isEncrypted });
  });

  it.each([
    "nowcast://example.org:443/a/game/plaza",
    "https://example.org/a/game/nowcast/plaza",
  ])("%s has a base path", (url) => {
    const there = { host: "example.org", port: 443, isEncrypted: true };
    expect(readAddress(url)).toEqual({ ...there, base: "/a/game/", name: "plaza" });
  });

  it.each([
    "",
    "tracker",
    "nowcast://localhost",
    "nowcast://localhost/",
    "nowcast://localhost/.hidden",
    "nowcast://localhost/a/b",
    "nowcast://localhost/a?token=x",
    "nowcast://user@localhost/a",
    "nowcast://localhost:0/a",
    "nowcast://localhost:65536/a",
    `nowcast://localhost/${"n".repeat(65)}`,
    "nowcast://localhost/naïve",
    "ftp://localhost/nowcast/a",
    "https://localhost/other/a",
  ])("%j is refused", (url) => {
    expect(() => readAddress(url)).toThrow("is not an address");
  });
});

describe("an answer", () => {
  let server: Server;
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  async function ask(status: number, body: string, headers: Record<string, string> = {}): Promise<unknown> {
    server = createServer((_, response) => response.writeHead(status, headers).end(body));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return connect(`nowcast://127.0.0.1:${(server.address() as AddressInfo).port}/tracker`);
  }

  it("is requested again when a carrier does not open, because platforms do not report why", async () => {
    const offered = { nowcast: 1, name: "tracker", websocket: true };
    const full = { error: "full", cause: "all seats are taken", cure: "enter another room" };
    let isFull = false;
    server = createServer((_, response) => {
      response.writeHead(isFull ? 503 : 200).end(JSON.stringify(isFull ? full : offered));
    });
    server.on("upgrade", (_, socket) => {
      isFull = true;
      socket.end("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await expect(connect(`nowcast://127.0.0.1:${port}/tracker`)).rejects.toMatchObject({
      fault: "refused",
      code: "full",
      reason: "all seats are taken",
      cure: "enter another room",
      message: "the endpoint refuses (HTTP 503): full; all seats are taken; enter another room",
    });
  });

  const offer = (webtransport: unknown) =>
    JSON.stringify({ nowcast: 1, name: "tracker", websocket: false, webtransport });

  it.each([
    ["is no JSON", 200, "<html>", "peer-incompatible", "does not speak version 1"],
    ["is of another version", 200, '{"nowcast":2}', "peer-incompatible", "does not speak version 1"],
    ["is null", 200, "null", "peer-incompatible", "does not speak version 1"],
    ["offers nothing we have", 200, offer(undefined), "peer-incompatible", "offers no carrier"],
    [
      "accepts WebSockets over TLS only, and was requested without",
      200,
      JSON.stringify({ nowcast: 1, name: "tracker", websocket: false, secure_websocket: true }),
      "refused",
      "sessions from other machines are encrypted there, and this page came by plain HTTP",
    ],
    [
      "names no port",
      200,
      offer({ certificate_hashes: [] }),
      "peer-misbehaved",
      "not as spec/CARRIERS.md says",
    ],
    ["names a wrong port", 200, offer({ port: 1e9, certificate_hashes: [] }), "peer-misbehaved", "not as"],
    ["has a short hash", 200, offer({ port: 1, certificate_hashes: ["AAAA"] }), "peer-misbehaved", "not as"],
    [
      "has a hash that is none",
      200,
      offer({ port: 1, certificate_hashes: ["ß"] }),
      "peer-misbehaved",
      "not as",
    ],
    [
      "has many hashes",
      200,
      offer({ port: 1, certificate_hashes: Array(99).fill("") }),
      "peer-misbehaved",
      "not as",
    ],
    [
      "is long",
      200,
      `{"nowcast":1,"x":"${"x".repeat(100_000)}"}`,
      "peer-misbehaved",
      "more than 65536 bytes",
    ],
    [
      "refuses",
      401,
      '{"error":"unauthorised","cause":"no","cure":"ask"}',
      "refused",
      "unauthorised; no; ask",
    ],
    ["refuses at length", 500, `{"error":"${"e".repeat(5_000)}"}`, "refused", "HTTP 500"],
    ["refuses without words", 502, "", "refused", "HTTP 502"],
  ])("that %s is reported as the fault of the right side", async (_, status, body, fault, words) => {
    const error = await ask(status, body).catch((caught: Error) => caught);
    expect(error).toMatchObject({ fault, message: expect.stringContaining(words) });
    expect((error as Error).message.length).toBeLessThan(500);
  });

  it("is not fetched from elsewhere", async () => {
    await expect(ask(302, "", { location: "http://127.0.0.1:1/" })).rejects.toMatchObject({
      fault: "network",
    });
  });
});
