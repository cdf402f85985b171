#!/usr/bin/env node
/** `npm create nowcast@latest my-world` */
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline/promises";
import { explainStart, ProgramError, programPath, VERSION as SERVER_VERSION } from "nowcast-server";
import { checkFolder, checkVersions, freePort, installPackages, makeWorld, startServer } from "./create.js";
import {
  CreateError,
  HELP,
  LANGUAGES,
  type Language,
  type Options,
  readLanguage,
  readOptions,
} from "./options.js";

const OWN_MANIFEST = new URL("../package.json", import.meta.url);
const VERSION = (JSON.parse(readFileSync(OWN_MANIFEST, "utf8")) as { version: string }).version;

async function main(args: readonly string[]): Promise<void> {
  if (args.includes("--help") || args.includes("-h")) return say(HELP.trimEnd());
  if (args.includes("--version")) return say(`create-nowcast ${VERSION}`);
  const options = readOptions(args);
  checkVersions(VERSION, SERVER_VERSION);
  const program = programPath();
  checkFolder(options.folder);
  const language = options.language ?? (await askForLanguage());
  const isTypeScript = language === "TypeScript";
  makeWorld(program, options.folder, isTypeScript ? undefined : options.template, VERSION);
  const rules = `${options.folder}/world.${isTypeScript ? "ts" : "luau"}`;
  say(`Made ${options.folder}. Its rules are in ${rules}: a saved change takes effect at once.`);
  say(`Later: cd ${options.folder} && npm install && npm ${isTypeScript ? "run dev" : "start"}\n`);
  if (isTypeScript && options.start) installPackages(options.folder);
  if (options.start) await serve(program, options, isTypeScript);
}

async function serve(program: string, options: Options, isTypeScript: boolean): Promise<void> {
  const port = options.port ?? String(await freePort());
  if (options.port === undefined && port !== "7777") say(`Port 7777 is taken, so the server uses ${port}.`);
  const server = startServer(program, port, options, isTypeScript);
  server.on("error", (error) => fail(explainStart(program, error)));
  process.on("SIGINT", () => undefined);
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, () => server.kill(signal));
  server.on("exit", (code) => {
    process.exitCode = code ?? 1;
  });
}

/** The one question. Without a terminal, the default is taken. */
async function askForLanguage(): Promise<Language> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return LANGUAGES[0]!;
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await lines.question(
    `Write the rules in which language? ${LANGUAGES.join(", ")} [${LANGUAGES[0]}] `,
  );
  lines.close();
  return readLanguage(answer);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function fail(error: CreateError | ProgramError): void {
  process.stderr.write(`error: ${error.message}\n`);
  process.exitCode = 1;
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof CreateError || error instanceof ProgramError)) throw error;
  fail(error);
}
