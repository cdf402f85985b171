import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { joinWorld } from "nowcast/world";
import postgres from "postgres";
import { afterAll, beforeAll, expect, it } from "vitest";
import { freePorts } from "../../packages/nowcast/test/nats-cluster.js";
import { ServerProcess } from "../../packages/nowcast/test/server-process.js";
import { waitFor } from "../../packages/nowcast/test/wait-for.js";
import { PostgreSql } from "./postgresql.js";

const HERE = fileURLToPath(new URL(".", import.meta.url));

const folder = mkdtempSync(join(tmpdir(), "nowcast-back-end-"));
const keys = { TOKEN_KEY: join(folder, "world.key"), WEBHOOK_KEY: join(folder, "webhook.key") };
let database: PostgreSql;
let server: ServerProcess;
let port: number;

beforeAll(async () => {
  writeFileSync(keys.TOKEN_KEY, "the-key-of-tokens-in-this-test-is-long-enough\n");
  writeFileSync(keys.WEBHOOK_KEY, "the-key-of-requests-in-this-test-is-long-enough\n");
  [port] = (await freePorts(1)) as [number];
  database = await PostgreSql.start();
  const webhook = ["--webhook", `http://127.0.0.1:${port}/webhook`, "--webhook-key-file", keys.WEBHOOK_KEY];
  const options = ["--token-key-file", keys.TOKEN_KEY, "--data", join(folder, "data"), ...webhook];
  server = await ServerProcess.start(0, [join(HERE, "shop"), ...options]);
});
afterAll(async () => {
  await server?.stop();
  await database?.stop();
  rmSync(folder, { recursive: true });
});

/** Starts the back end, and waits until it listens. */
async function startBackEnd(): Promise<ChildProcess> {
  const environment = { WORLD: server.url, PORT: String(port), DATABASE_URL: database.url, ...keys };
  const child = spawn(process.execPath, ["back-end.js"], {
    cwd: HERE,
    env: { ...process.env, ...environment },
  });
  const said: string[] = [];
  await new Promise<void>((resolve, reject) => {
    child.once("exit", () => reject(new Error(`the back end ended:\n${said.join("")}`)));
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => {
        said.push(chunk.toString());
        if (said.join("").includes("The back end is at")) resolve();
      });
    }
  });
  return child;
}

async function end(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill();
  await ended;
}

function post(path: string, body: unknown): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", body: JSON.stringify(body) });
}

it("people log in, buy items, and lose none when the back end is away", async () => {
  let backEnd = await startBackEnd();
  const sql = postgres(database.url);
  try {
    const answer = await post("/login", { name: "Ada", password: "engine" });
    const { url } = (await answer.json()) as { url: string };
    expect((await post("/login", { name: "Ada", password: "guess" })).status).toBe(403);
    const ada = joinWorld(url);
    await ada.joined;
    const shows = (items: string, coins: number) => () =>
      ada.screen.get("items") === items && ada.screen.get("coins") === coins;

    await ada.act("buy", { item: "hat" });
    await waitFor("the hat", shows("hat", 70));
    const orders = async (): Promise<unknown[]> => [
      ...(await sql`select account, item, price, delivered from orders order by delivered desc`),
    ];
    const hat = { account: "Ada", item: "hat", price: 30, delivered: true };
    await waitFor("the confirmation", async () => JSON.stringify(await orders()) === JSON.stringify([hat]));

    // Clients cannot run the action of the back end.
    const theft = ada.act("deliver", { order: "1", item: "crown", coins: 1_000 });
    await expect(theft).rejects.toThrow(/only the server's back end/);
    expect((await post("/webhook", { version: 1, events: [] })).status).toBe(401);

    // The server keeps the event while the back end is away.
    await end(backEnd);
    await ada.act("buy", { item: "hat" });
    backEnd = await startBackEnd();
    await waitFor("the second hat", shows("hat, hat", 40));
    await waitFor("both", async () => JSON.stringify(await orders()) === JSON.stringify([hat, hat]));
    const rows = await sql`select coins from accounts where name = 'Ada'`;
    expect(rows[0]).toEqual({ coins: 40 });

    ada.close();
    const leaves = async (): Promise<boolean> =>
      (await sql`select id from events where type = 'leave'`).length === 1;
    await waitFor("the leave in the table", leaves);
  } finally {
    await sql.end();
    await end(backEnd);
  }
});
