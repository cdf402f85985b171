/** A temporary PostgreSQL server, which listens on a port of the loopback until it is stopped. */
import { type ChildProcess, execFileSync, type SpawnOptions, spawn } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "../../packages/nowcast/test/nats-cluster.js";

/** Debian's folder of all versions. Their programs are not in the PATH. */
const VERSIONS = "/usr/lib/postgresql";

export class PostgreSql {
  /** The address of the database. */
  readonly url: string;
  readonly #process: ChildProcess;
  readonly #folder: string;

  private constructor(url: string, process: ChildProcess, folder: string) {
    this.url = url;
    this.#process = process;
    this.#folder = folder;
  }

  static async start(): Promise<PostgreSql> {
    const folder = mkdtempSync(join(tmpdir(), "nowcast-postgresql-"));
    const [port] = await freePorts(1);
    const data = join(folder, "data");
    // PostgreSQL refuses to run as root.
    const user = process.getuid?.() === 0 ? { uid: idOf("-u"), gid: idOf("-g") } : undefined;
    if (user !== undefined) chownSync(folder, user.uid, user.gid);
    const options: SpawnOptions = { ...user, cwd: folder, stdio: ["ignore", "pipe", "pipe"] };
    const initdb = ["-D", data, "-U", "shop", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"];
    execFileSync(program("initdb"), initdb, options);
    const settings = ["listen_addresses=127.0.0.1", "fsync=off", `unix_socket_directories=${folder}`];
    const server = spawn(
      program("postgres"),
      ["-D", data, "-p", String(port), ...settings.flatMap((setting) => ["-c", setting])],
      options,
    );
    await listening(server);
    return new PostgreSql(`postgres://shop@127.0.0.1:${port}/postgres`, server, folder);
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    this.#process.kill("SIGINT");
    await ended;
    rmSync(this.#folder, { recursive: true });
  }
}

/** Waits until a server accepts connections. */
async function listening(server: ChildProcess): Promise<void> {
  const log: string[] = [];
  await new Promise<void>((resolve, reject) => {
    const fail = (): void => reject(new Error(`PostgreSQL does not start:\n${log.join("")}`));
    const timer = setTimeout(fail, 60_000);
    server.once("exit", fail);
    server.stderr?.on("data", (chunk: Buffer) => {
      log.push(chunk.toString());
      if (!log.join("").includes("ready to accept connections")) return;
      clearTimeout(timer);
      server.off("exit", fail);
      resolve();
    });
  });
}

/** The path of a program of PostgreSQL. */
function program(name: string): string {
  const versions = existsSync(VERSIONS) ? readdirSync(VERSIONS) : [];
  const paths = versions.map((version) => join(VERSIONS, version, "bin", name));
  return paths.find((path) => existsSync(path)) ?? name;
}

function idOf(option: string): number {
  return Number(execFileSync("id", [option, "postgres"], { encoding: "utf8" }));
}
