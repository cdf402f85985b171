import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join as pathOf } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { type Identity, identityText } from "../../src/identity/identity.js";
import { fileIdentity } from "../../src/node/index.js";
import { joinWorld, type World } from "../../src/world/index.js";
import { greeting, ScriptedSession } from "./scripted-session.js";

const EMPTY = { version: 1, kinds: [], actions: [], events: [], assets: [], about: null };
const open: { close(): void }[] = [];
const folders: string[] = [];

afterEach(async () => {
  for (const each of open.splice(0)) each.close();
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

async function file(): Promise<string> {
  const folder = await mkdtemp(pathOf(tmpdir(), "nowcast-identity-"));
  folders.push(folder);
  return pathOf(folder, "identity.json");
}

async function isValid(key: Uint8Array, signature: Uint8Array, text: Uint8Array): Promise<boolean> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256" };
  const imported = await crypto.subtle.importKey("raw", key as BufferSource, algorithm, false, ["verify"]);
  const hashed = { name: "ECDSA", hash: "SHA-256" };
  return crypto.subtle.verify(hashed, imported, signature as BufferSource, text as BufferSource);
}

async function serve(): Promise<ScriptedSession> {
  const server = await ScriptedSession.start(greeting(EMPTY));
  open.push({ close: () => void server.stop() });
  return server;
}

function join(server: ScriptedSession, identity: Identity): World {
  const world = joinWorld(server.url, { name: "Ada", identity });
  open.push(world);
  return world;
}

describe("the identity of a client", () => {
  it("signs with one key for each server, which stays the same in the file", async () => {
    const path = await file();
    const text = identityText(new Uint8Array([1, 2, 3, 4, 5, 6, 7, 250]));
    expect(new TextDecoder().decode(text)).toBe("nowcast identity 1\n01020304050607fa");
    const first = (await fileIdentity(path).sign("a.example", text))!;
    const again = (await fileIdentity(path).sign("a.example", text))!;
    const other = (await fileIdentity(path).sign("b.example", text))!;
    expect(again.key).toEqual(first.key);
    expect(other.key).not.toEqual(first.key);
    expect([first.key.length, first.signature.length]).toEqual([65, 64]);
    expect(await isValid(again.key, again.signature, text)).toBe(true);
    expect(await isValid(other.key, again.signature, text)).toBe(false);
    expect((await stat(path)).mode & 0o077).toBe(0);
    expect(Object.keys(JSON.parse(await readFile(path, "utf8")))).toEqual(["a.example", "b.example"]);
  });

  it("refuses a file that it did not write, and leaves it as it is", async () => {
    const path = await file();
    for (const content of [
      "no JSON",
      "7",
      '{ "a.example": { "publicKey": "AA==", "privateKey": "AA==" } }',
    ]) {
      await writeFile(path, content);
      await expect(fileIdentity(path).sign("a.example", new Uint8Array())).rejects.toThrow(
        "not a file of identities",
      );
      expect(await readFile(path, "utf8")).toBe(content);
    }
  });

  it("is proved before the join, for each session with its own number", async () => {
    const server = await serve();
    const world = join(server, fileIdentity(await file()));
    await world.ready;
    const [proof, joined] = server.received;
    expect(Object.keys(joined as object)).toEqual(["Join"]);
    const { Identify } = proof as { Identify: { key: Uint8Array; signature: Uint8Array } };
    const text = identityText(server.channels[0]!.sessionId!);
    expect(await isValid(Identify.key, Identify.signature, text)).toBe(true);
  });

  it("lets a client without a key join as a guest", async () => {
    const server = await serve();
    const guests: Identity[] = [
      { sign: () => Promise.resolve(undefined) },
      { sign: () => Promise.reject(new Error("no storage")) },
    ];
    for (const guest of guests) await join(server, guest).ready;
    expect(server.received.map((event) => Object.keys(event as object)[0])).toEqual(["Join", "Join"]);
  });
});
