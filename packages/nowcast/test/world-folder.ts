import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ServerProcess } from "./server-process.js";

/** A real server with one world, whose folder a test writes. */
export interface WorldFolder {
  readonly server: ServerProcess;
  /** Replaces `world.luau`. */
  save(rules: string): Promise<void>;
  stop(): Promise<void>;
}

/** Serves `rules` as the world `name`, in a temporary folder; `options` are further arguments of the server. */
export async function serveWorld(
  name: string,
  rules: string,
  options: readonly string[] = [],
): Promise<WorldFolder> {
  const folder = await mkdtemp(join(tmpdir(), `nowcast-${name}-`));
  const save = (text: string): Promise<void> => writeFile(join(folder, "world.luau"), text);
  await save(rules);
  const server = await ServerProcess.start(0, ["--world", `${name}=${folder}`, ...options]);
  const stop = async (): Promise<void> => {
    await server.stop();
    await rm(folder, { recursive: true });
  };
  return { server, save, stop };
}
