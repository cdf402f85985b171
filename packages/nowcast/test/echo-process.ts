import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const START_MS_MAX = 30_000;

/**
 * Runs `crates/nowcast/examples/echo.rs` in a process of its own: the Rust implementation, which echoes all messages.
 */
export class EchoProcess {
  readonly port: number;
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess, port: number) {
    this.#process = process;
    this.port = port;
  }

  /** Starts it. Clients receive `udpPort` for datagrams if it is given, and pages of `origin` may join. */
  static async start(udpPort?: number, origin?: string): Promise<EchoProcess> {
    const path = process.env["NOWCAST_ECHO"] ?? resolve(ROOT, "target/debug/examples/echo");
    if (!existsSync(path)) {
      throw new Error(
        `${path} is missing: run \`cargo build --package nowcast --example echo\`, or set NOWCAST_ECHO`,
      );
    }
    const options = [
      ...(udpPort === undefined ? [] : ["--announced-udp-port", String(udpPort)]),
      ...(origin === undefined ? [] : ["--allow-origin", origin]),
    ];
    const child = spawn(path, options, { stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    const port = await new Promise<number>((resolve, reject) => {
      const fail = (what: string): void => reject(new Error(`${what}; it said: ${output}`));
      const timer = setTimeout(() => fail("the echo did not start"), START_MS_MAX);
      const listen = (chunk: Buffer): void => {
        output += chunk.toString();
        const found = /echo is at nowcast:\/\/127\.0\.0\.1:(\d+)\/echo/.exec(output)?.[1];
        if (found === undefined) return;
        clearTimeout(timer);
        resolve(Number(found));
      };
      child.stdout.on("data", listen);
      child.stderr.on("data", listen);
      child.once("error", (error) => fail(error.message));
      child.once("exit", (code) => fail(`the echo ended with ${code}`));
    });
    return new EchoProcess(child, port);
  }

  /** Pauses or resumes it. */
  pause(isPaused: boolean): void {
    this.#process.kill(isPaused ? "SIGSTOP" : "SIGCONT");
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    this.#process.kill("SIGKILL");
    await ended;
  }
}
