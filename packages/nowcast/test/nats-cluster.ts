import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { waitFor } from "./wait-for.js";

const SERVERS = 3;
const USER = "nowcast";
const PASSWORD = "for-development";

/**
 * nats-server as `cargo xtask nats --build` makes it, or the program in `NOWCAST_NATS_SERVER`. If there is
 * none, prints a line and returns undefined, so that tests are left out; throws if `NOWCAST_REQUIRE_TOOLS` is set.
 */
export function natsServer(): string | undefined {
  const built = fileURLToPath(new URL("../../../target/nats/2.15.2/nats-server", import.meta.url));
  const path = process.env["NOWCAST_NATS_SERVER"] ?? built;
  if (existsSync(path)) return path;
  const cause = `${path} is missing: run \`cargo xtask nats --build\`, which needs Go`;
  if (process.env["NOWCAST_REQUIRE_TOOLS"] !== undefined) throw new Error(cause);
  console.log(`left out: ${cause}`);
  return undefined;
}

/** Three nats-servers with JetStream that form a cluster on the loopback interface. */
export class NatsCluster {
  /** The addresses with credentials, as `nowcast serve --cluster` takes them. */
  readonly address: string;
  readonly #processes: readonly ChildProcess[];
  readonly #folder: string;

  private constructor(address: string, processes: readonly ChildProcess[], folder: string) {
    this.address = address;
    this.#processes = processes;
    this.#folder = folder;
  }

  static async start(program: string): Promise<NatsCluster> {
    const folder = await mkdtemp(join(tmpdir(), "nowcast-nats-"));
    const ports = await freePorts(2 * SERVERS);
    const routes = ports.slice(SERVERS);
    const peers = routes.map((port) => `nats-route://${USER}:${PASSWORD}@127.0.0.1:${port}`).join(", ");
    const access = `authorization { user: ${USER}, password: "${PASSWORD}" }`;
    const processes: ChildProcess[] = [];
    const logs: string[] = [];
    for (let i = 0; i < SERVERS; i++) {
      const log = join(folder, `${i}.log`);
      const configuration = `server_name: nats-${i}
listen: 127.0.0.1:${ports[i]}
log_file: "${log}"
max_payload: 8MB
jetstream { store_dir: "${join(folder, String(i))}", sync_interval: always, max_file_store: 2GB }
${access}
cluster { name: test, listen: 127.0.0.1:${routes[i]}, ${access}, routes: [${peers}] }
`;
      const path = join(folder, `${i}.conf`);
      await writeFile(path, configuration);
      processes.push(spawn(program, ["-c", path], { stdio: "ignore" }));
      logs.push(log);
    }
    const isReady = (log: string): boolean =>
      existsSync(log) && readFileSync(log, "utf8").includes("metadata leader");
    await waitFor("nats-servers", async () => logs.every(isReady));
    const address = ports.slice(0, SERVERS).map((port) => `nats://${USER}:${PASSWORD}@127.0.0.1:${port}`);
    return new NatsCluster(address.join(","), processes, folder);
  }

  async stop(): Promise<void> {
    const ended = this.#processes.map((child) => new Promise((resolve) => child.once("exit", resolve)));
    for (const child of this.#processes) child.kill("SIGKILL");
    await Promise.all(ended);
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Finds free ports. All sockets are open at the same time, so all ports differ. */
export async function freePorts(count: number): Promise<number[]> {
  const sockets = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<ReturnType<typeof createServer>>((resolve, reject) => {
          const socket = createServer().once("error", reject);
          socket.listen(0, "127.0.0.1", () => resolve(socket));
        }),
    ),
  );
  const ports = sockets.map((socket) => (socket.address() as { readonly port: number }).port);
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.close(resolve))));
  return ports;
}
