/** Makes a world's folder, and starts its server. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync, rmdirSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { basename, join, resolve } from "node:path";
import { explainStart } from "nowcast-server";
import { CreateError, type Options } from "./options.js";

const PORT = 7777;
/** The number of ports that are tried if the user chose none. */
const PORTS_TRIED = 20;

/** Throws if this package and `nowcast-server` are of different releases. */
export function checkVersions(own: string, server: string): void {
  if (own === server) return;
  throw new CreateError(
    `create-nowcast ${own} cannot use nowcast-server ${server}: both must have one version. ` +
      "Run npm create nowcast@latest again; if that does not help, empty npm's cache: npm cache clean --force.",
  );
}

/** Throws if the folder exists and is not empty. Nothing is changed. */
export function checkFolder(folder: string): void {
  if (!existsSync(folder)) return;
  if (!statSync(folder).isDirectory()) {
    throw new CreateError(
      `${folder} is a file: choose another name, such as npm create nowcast@latest ${folder}-2`,
    );
  }
  if (readdirSync(folder).length > 0) {
    throw new CreateError(
      `${folder} exists and is not empty; nothing was changed. ` +
        `Choose another name, such as npm create nowcast@latest ${folder}-2, or serve that folder: ` +
        `npx nowcast-server serve ${folder}`,
    );
  }
}

/**
 * Makes the world by the program. Adds the file that lets npm start it, unless the program has written one.
 *
 * @param template the sample in Luau, or undefined for a world in TypeScript
 */
export function makeWorld(
  program: string,
  folder: string,
  template: string | undefined,
  version: string,
): void {
  checkFolder(folder);
  // The program makes the folder itself.
  if (existsSync(folder)) rmdirSync(folder);
  const made = spawnSync(
    program,
    ["new", folder, ...(template === undefined ? ["--typescript"] : ["--template", template])],
    {
      encoding: "utf8",
      stdio: ["ignore", "ignore", "pipe"],
    },
  );
  if (made.error !== undefined) throw new CreateError(explainStart(program, made.error).message);
  if (made.status !== 0) throw new CreateError(made.stderr.trim().replace(/^error: /, ""));
  if (template === undefined) return;
  const manifest = {
    name: basename(resolve(folder)),
    private: true,
    scripts: { start: "nowcast serve . --open", check: "nowcast check .", test: "nowcast test ." },
    devDependencies: { "nowcast-server": version },
  };
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`);
}

/** Returns the first free port from 7777 on. Throws if 20 consecutive ports are taken. */
export async function freePort(first = PORT): Promise<number> {
  for (let port = first; port < first + PORTS_TRIED; port++) {
    if (await isFree(port)) return port;
  }
  throw new CreateError(
    `the ports ${first} to ${first + PORTS_TRIED - 1} are taken: name a free one, --port N, or end the programs that use them`,
  );
}

function isFree(port: number): Promise<boolean> {
  return new Promise((done) => {
    const probe = createServer();
    probe.once("error", () => done(false));
    probe.listen(port, "127.0.0.1", () => probe.close(() => done(true)));
  });
}

/** Installs the compiler that a TypeScript world needs. Throws if npm fails; the world can still be served. */
export function installPackages(folder: string, npm = "npm"): void {
  // On Windows, npm is a command of the shell.
  const shell = process.platform === "win32";
  const { status, error } = spawnSync(npm, ["install", "--no-audit", "--no-fund"], {
    cwd: folder,
    stdio: "inherit",
    shell,
  });
  if (status === 0) return;
  throw new CreateError(
    `the compiler was not installed (${error?.message ?? `npm ended with ${status}`}). ` +
      `Try again: cd ${folder} && npm install && npm run dev`,
  );
}

/** Starts the server of the folder, and the compiler of a world in TypeScript. The output goes to this terminal. */
export function startServer(
  program: string,
  port: string,
  options: Options,
  isTypeScript: boolean,
): ChildProcess {
  const flags = ["--port", port, ...(options.open ? ["--open"] : []), ...options.serve];
  if (!isTypeScript) return spawn(program, ["serve", options.folder, ...flags], { stdio: "inherit" });
  const compiler = join(resolve(options.folder), "node_modules/@nowcast/world-script/dist/main.js");
  return spawn(process.execPath, [compiler, "dev", options.folder, ...flags], { stdio: "inherit" });
}
