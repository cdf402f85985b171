#!/usr/bin/env node
/** The command `nowcast-world`: compiles a world in TypeScript, and serves it. */
import { type ChildProcess, spawn } from "node:child_process";
import { explainStart, findProgram, ProgramError } from "nowcast-server";
import { WorldCompiler } from "./compiler.js";
import { BuildError } from "./error.js";
import { type BuildReport, buildOnce, watchWorld } from "./watch.js";

const HELP = `nowcast-world COMMAND [FOLDER]

Compiles a world in TypeScript to Luau. FOLDER is the world's folder (default: this one).

  build             compiles once; the exit code is 1 if there is an error
  build --watch     compiles after every change
  dev [FLAGS]       compiles after every change, and serves the world; FLAGS are those of nowcast serve
`;

function main(args: readonly string[]): void {
  const [command, ...rest] = args;
  if (command === undefined || command === "--help" || command === "-h") return say(HELP.trimEnd());
  if (command !== "build" && command !== "dev") {
    throw new BuildError(
      `nowcast-world has no command ${command}: it has build and dev. See nowcast-world --help.`,
    );
  }
  const folder = rest[0]?.startsWith("-") === false ? rest[0] : ".";
  const flags = rest.slice(rest[0] === folder ? 1 : 0);
  if (command === "dev") return dev(folder, flags);
  const unknown = flags.find((flag) => flag !== "--watch");
  if (unknown !== undefined)
    throw new BuildError(`nowcast-world build has no ${unknown}: see nowcast-world --help.`);
  if (flags.includes("--watch")) {
    stopOnSignals(watchWorld(folder, tell).close);
  } else {
    const report = buildOnce(new WorldCompiler(folder));
    tell(report);
    if (report.errors.length > 0) process.exitCode = 1;
  }
}

function dev(folder: string, flags: readonly string[]): void {
  const program = findProgram();
  const watched = watchWorld(folder, tell);
  const server = spawn(program, ["serve", folder, ...flags], { stdio: "inherit" });
  server.on("error", (error) => {
    watched.close();
    fail(explainStart(program, error));
  });
  server.on("exit", (code) => {
    watched.close();
    process.exitCode = code ?? 1;
  });
  stopOnSignals(watched.close, server);
}

/** A terminal sends Ctrl-C to the server, too. Other signals are passed on, and the server decides when it ends. */
function stopOnSignals(close: () => void, server?: ChildProcess): void {
  process.on("SIGINT", close);
  for (const signal of ["SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      close();
      server?.kill(signal);
    });
  }
}

function tell({ errors, modules, changed, milliseconds }: BuildReport): void {
  for (const error of errors) process.stderr.write(`${error}\n`);
  if (errors.length > 0) {
    process.stderr.write(
      `${errors.length} ${errors.length === 1 ? "error" : "errors"}: nothing was written\n`,
    );
  } else if (changed > 0 || milliseconds > 0) {
    say(`${modules} modules, ${changed} changed, in ${milliseconds.toFixed(0)} ms`);
  }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function fail(error: Error): void {
  process.stderr.write(`error: ${error.message}\n`);
  process.exitCode = 1;
}

try {
  main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof BuildError || error instanceof ProgramError)) throw error;
  fail(error);
}
