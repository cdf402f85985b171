import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type Entity, joinWorld } from "nowcast/world";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ServerProcess } from "../../packages/nowcast/test/server-process.js";
import { waitFor } from "../../packages/nowcast/test/wait-for.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

let server: ServerProcess;
beforeAll(async () => {
  server = await ServerProcess.start(0, ["worlds/robots"]);
}, 120_000);
afterAll(() => server?.stop());

it("the guide leads an arm, which another client sees, and gives it back", { timeout: 120_000 }, async () => {
  const watcher = joinWorld(`${server.url}/r/robots`, { name: "Watcher" });
  // A later client finds the owner there, and receives no change.
  await waitFor(
    "the arms on the watcher's side",
    () => first(watcher.entitiesOf("target")) !== undefined,
    60_000,
  );
  const address = `nowcast://127.0.0.1:${server.port}/robots`;
  const guide = spawn(process.execPath, ["examples/bot/guide.js", address, "", "4"], { cwd: ROOT });
  const said: string[] = [];
  for (const stream of [guide.stdout, guide.stderr]) {
    stream.on("data", (chunk: Buffer) => said.push(chunk.toString()));
  }
  const ended = new Promise<number | null>((resolve) => guide.once("exit", resolve));
  const owners: (string | undefined)[] = [];
  watcher.on("owner", ({ entity }) => {
    owners.push(entity.owner === undefined ? undefined : watcher.players.get(entity.owner)?.name);
  });
  const seen = new Set<string>();
  watcher.on("snapshot", ({ moved }) => {
    for (const entity of moved) seen.add(entity.kind.name);
  });
  try {
    const isGuided = (): boolean =>
      [...watcher.entitiesOf("arm")].some(({ attributes }) =>
        String(attributes["label"]).endsWith(": Guide"),
      );
    await waitFor("an arm is the guide's", isGuided, 60_000);
    await waitFor("the target and the hand move", () => seen.has("target") && seen.has("hand"), 30_000);
    expect(await ended).toBe(0);
    await waitFor("the arm has no owner again", () => !isGuided(), 10_000);
    expect(owners).toEqual(["Guide", undefined]);
  } catch (error) {
    throw new Error(`${(error as Error).message}; the guide said:\n${said.join("")}`);
  } finally {
    guide.kill();
    watcher.close();
  }
});

function first(entities: Iterable<Entity>): Entity | undefined {
  for (const entity of entities) return entity;
  return undefined;
}
