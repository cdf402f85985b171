import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type Entity, joinWorld } from "nowcast/world";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ServerProcess } from "../../packages/nowcast/test/server-process.js";
import { waitFor } from "../../packages/nowcast/test/wait-for.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

let server: ServerProcess;
beforeAll(async () => {
  server = await ServerProcess.start();
}, 120_000);
afterAll(() => server?.stop());

it(
  "the bot stacks two blocks, which another client sees lying on each other",
  { timeout: 240_000 },
  async () => {
    const watcher = joinWorld(`${server.url}/r/site`, { name: "Watcher" });
    const bot = spawn(process.execPath, ["examples/bot/bot.js", `${server.url}/r/site`, "Mason", "2"], {
      cwd: ROOT,
    });
    const said: string[] = [];
    for (const stream of [bot.stdout, bot.stderr])
      stream.on("data", (chunk: Buffer) => said.push(chunk.toString()));
    const ended = new Promise<number | null>((resolve) => bot.once("exit", resolve));

    const carried = new Set<Entity>();
    watcher.on("change", ({ entity, names }) => {
      if (names.includes("holder") && entity.attributes["holder"] !== null) carried.add(entity);
    });
    try {
      await waitFor("two carried blocks, one on the other", () => restsOnAnother([...carried]), 200_000);
      expect(await ended).toBe(0);
    } catch (error) {
      throw new Error(`${(error as Error).message}; the bot said:\n${said.join("")}`);
    } finally {
      bot.kill();
      watcher.close();
    }
  },
);

function restsOnAnother(blocks: readonly Entity[]): boolean {
  return blocks.some((upper) =>
    blocks.some((lower) => {
      const [x, y, z] = upper.position;
      const apart = Math.hypot(x - lower.position[0], z - lower.position[2]);
      return apart < 0.35 && y > lower.position[1] + 0.2 && upper.attributes["holder"] === null;
    }),
  );
}
