#!/usr/bin/env node
/** The command `nowcast`: starts the program with the same arguments, and ends with its exit code. */
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { explainStart, findProgram, ProgramError } from "./index.js";

function launch(): void {
  const program = findProgram();
  const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
  child.on("error", (error) => fail(explainStart(program, error)));
  // A terminal sends Ctrl-C to both processes. The program decides when it ends.
  process.on("SIGINT", () => undefined);
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => {
    process.exitCode = code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
  });
}

function fail(error: ProgramError): void {
  process.stderr.write(`error: ${error.message}\n`);
  process.exitCode = 1;
}

try {
  launch();
} catch (error) {
  if (!(error instanceof ProgramError)) throw error;
  fail(error);
}
