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

/** Makes the world by the program, and adds the file that lets npm start it. */
export function makeWorld(program: string, folder: string, template: string, version: string): void {
  checkFolder(folder);
  // The program makes the folder itself.
  if (existsSync(folder)) rmdirSync(folder);
  const made = spawnSync(program, ["new", folder, "--template", template], {
    encoding: "utf8",
    stdio: ["ignore", "ignore", "pipe"],
  });
  if (made.error !== undefined) throw new CreateError(explainStart(program, made.error).message);
  if (made.status !== 0) throw new CreateError(made.stderr.trim().replace(/^error: /, ""));
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

/** Starts the server of the folder. Its output goes to this terminal. */
export function startServer(program: string, port: string, options: Options): ChildProcess {
  const open = options.open ? ["--open"] : [];
  return spawn(program, ["serve", options.folder, "--port", port, ...open, ...options.serve], {
    stdio: "inherit",
  });
}
