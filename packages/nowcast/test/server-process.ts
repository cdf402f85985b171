import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const START_MS_MAX = 60_000;

/** The program under test: `NOWCAST_BIN`, or what `cargo build` makes. */
export function nowcastBinary(): string {
  const path = process.env["NOWCAST_BIN"] ?? resolve(ROOT, "target/debug/nowcast");
  if (!existsSync(path)) {
    throw new Error(
      `${path} is missing: run \`cargo build --package nowcast-cli\`, or set NOWCAST_BIN to the program`,
    );
  }
  return path;
}

/** The environment of a program that neither reads nor writes the data folder of the person who runs the tests. */
function ownFolders(): NodeJS.ProcessEnv {
  return { ...process.env, XDG_DATA_HOME: join(tmpdir(), `nowcast-test-${process.pid}`) };
}

/** A real server in a process of its own. */
export class ServerProcess {
  readonly port: number;
  readonly #process: ChildProcess;
  readonly #output: string[];

  private constructor(process: ChildProcess, port: number, output: string[]) {
    this.#process = process;
    this.port = port;
    this.#output = output;
  }

  /** Starts a server on `port`, or on one that the system chooses, and waits until it prints its address. */
  static async start(port = 0, options: readonly string[] = []): Promise<ServerProcess> {
    const isKeeping = options.includes("--data") || options.includes("--cluster");
    const keeping = isKeeping ? [] : ["--no-data"];
    const child = spawn(nowcastBinary(), ["serve", ...keeping, "--port", String(port), ...options], {
      stdio: ["ignore", "pipe", "pipe"],
      env: ownFolders(),
    });
    const output: string[] = [];
    const address = await new Promise<string>((resolve, reject) => {
      const fail = (what: string): void => reject(new Error(`${what}; it said:\n${output.join("")}`));
      const timer = setTimeout(
        () => fail(`the server did not start within ${START_MS_MAX} ms`),
        START_MS_MAX,
      );
      const listen = (chunk: Buffer): void => {
        output.push(chunk.toString());
        const found = /Nowcast is at https?:\/\/[^\s:]+:(\d+)/.exec(output.join(""))?.[1];
        if (found === undefined) return;
        clearTimeout(timer);
        resolve(found);
      };
      child.stdout.on("data", listen);
      child.stderr.on("data", listen);
      child.once("error", (error) => fail(error.message));
      child.once("exit", (code) => fail(`the server ended with ${code}`));
    });
    return new ServerProcess(child, Number(address), output);
  }

  get url(): string {
    return `http://localhost:${this.port}`;
  }

  /** The whole output, for the message of a failing test. */
  get log(): string {
    return this.#output.join("");
  }

  /** The value of a counter or gauge of `/metrics`, summed over its labels. */
  async metric(name: string): Promise<number> {
    const text = await (await fetch(`${this.url}/metrics`)).text();
    const values = text
      .split("\n")
      .filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
      .map((line) => Number(line.slice(line.lastIndexOf(" ") + 1)));
    return values.reduce((sum, value) => sum + value, 0);
  }

  /** Suspends the process until {@link thaw}. To its clients this looks like a dead link. */
  freeze(): void {
    this.#process.kill("SIGSTOP");
  }

  thaw(): void {
    this.#process.kill("SIGCONT");
  }

  /** Ends the server as `kill -9` does, and waits for its end. */
  kill(): Promise<void> {
    return this.stop("SIGKILL");
  }

  /** Ends the server as Ctrl-C does, and waits for its end. */
  async stop(signal: NodeJS.Signals = "SIGINT"): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    this.#process.kill(signal);
    const timer = setTimeout(() => this.#process.kill("SIGKILL"), 10_000);
    await ended;
    clearTimeout(timer);
  }
}
