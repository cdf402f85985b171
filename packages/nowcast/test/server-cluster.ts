import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { freePorts, NatsCluster } from "./nats-cluster.js";
import { nowcastBinary, ServerProcess } from "./server-process.js";
import { waitFor } from "./wait-for.js";

const run = promisify(execFile);

/** Servers that share rooms, on nats-servers of their own. */
export class ServerCluster {
  readonly #nats: NatsCluster;
  readonly #ports: ReadonlyMap<string, number>;
  readonly #options: readonly string[];
  readonly #servers = new Map<string, ServerProcess>();

  private constructor(nats: NatsCluster, ports: ReadonlyMap<string, number>, options: readonly string[]) {
    this.#nats = nats;
    this.#ports = ports;
    this.#options = options;
  }

  /** Starts servers with these names. `options` are further arguments of each. */
  static async start(
    natsServer: string,
    names: readonly string[],
    options: readonly string[] = [],
  ): Promise<ServerCluster> {
    const nats = await NatsCluster.start(natsServer);
    const ports = await freePorts(names.length);
    const cluster = new ServerCluster(nats, new Map(names.map((name, i) => [name, ports[i]!])), options);
    const started = await Promise.allSettled(names.map((name) => cluster.startServer(name)));
    const failed = started.find((start) => start.status === "rejected");
    if (failed === undefined) return cluster;
    await cluster.stop();
    throw failed.reason;
  }

  async startServer(name: string): Promise<void> {
    const place = ["--cluster", this.#nats.address, "--cluster-server", name];
    const server = await ServerProcess.start(this.#ports.get(name), [...place, ...this.#options]);
    this.#servers.set(name, server);
  }

  server(name: string): ServerProcess {
    return this.#servers.get(name)!;
  }

  /** The other servers. */
  others(name: string): readonly string[] {
    return [...this.#servers.keys()].filter((other) => other !== name);
  }

  /** Ends a server as `kill -9` does. */
  async kill(name: string): Promise<void> {
    await this.#servers.get(name)!.kill();
    this.#servers.delete(name);
  }

  /** Runs `nowcast cluster`, and returns its output. */
  async command(...words: readonly string[]): Promise<string> {
    const { stdout } = await run(nowcastBinary(), ["cluster", ...words, "--cluster", this.#nats.address]);
    return stdout;
  }

  /** The name of the running server that owns a room. */
  owner(room: string): Promise<string> {
    return waitFor(`an owner of ${room}`, async () => {
      const status = await this.command("status");
      const name = new RegExp(`^${room} +\\d+ +([a-z]+)#`, "m").exec(status)?.[1];
      return name !== undefined && this.#servers.has(name) ? name : undefined;
    });
  }

  /** Moves a room to another server. Returns the time in milliseconds for which it stood still at the servers. */
  async move(room: string, target: string): Promise<number> {
    const answer = await this.command("move", room, target);
    return Number(/within (\d+) ms/.exec(answer)![1]);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#servers.values()].map((server) => server.kill()));
    await this.#nats.stop();
  }
}
