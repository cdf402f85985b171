// Follows the instructions for a first world as a newcomer would, and measures the time. It runs in a network namespace
// that has nothing but loopback (`cargo xtask dist --check`, and in short `cargo xtask test`).
//
//   node install.mjs CONFIGURATION
//
// The configuration is JSON: `packages`, the folder with the packages of npm; `sdk`, the folder of the built SDK; `ways`, which
// end in a running server; and `refusals`, whose last command must fail. Both have a name, commands, the folder in which they
// run, an environment, and the texts `says` that the output must contain. With `root`, the commands see only that folder as the
// whole disk. The variable TAKEN_PORT names a port that is in use. Prints one line of JSON for each.
import { spawn } from "node:child_process";
import { appendFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { startRegistry } from "./registry.mjs";

const PAGE_MS_MAX = 120_000;
const CHANGE_MS_MAX = 30_000;
const REFUSAL_MS_MAX = 60_000;
/** The change that an author saves. Every client then sees a value on its screen. */
const CHANGE = '\nworld.on("step", function()\n\tworld.show("installed", 1)\nend)\n';

const configuration = JSON.parse(process.argv[2]);
const { joinWorld } = await import(pathToFileURL(join(configuration.sdk, "world/index.js")).href);
const registry = await startRegistry(configuration.packages);
let failed = 0;
for (const way of configuration.ways) await report({ way: way.name }, () => follow(way));
for (const refusal of configuration.refusals ?? [])
  await report({ refused: refusal.name }, () => failsWithItsCause(refusal));
registry.server.close();
process.exit(failed === 0 ? 0 : 1);

async function report(named, run) {
  try {
    console.log(JSON.stringify({ ...named, ...(await run()) }));
  } catch (error) {
    failed += 1;
    console.log(JSON.stringify({ ...named, failed: String(error.message) }));
  }
}

/** Runs the commands of a refusal. The last command must fail, and must say why. */
async function failsWithItsCause(refusal) {
  const output = [];
  for (const command of refusal.commands.slice(0, -1))
    await finished(start(refusal, command, output), output, command);
  const command = refusal.commands.at(-1);
  output.length = 0;
  const child = start(refusal, command, output);
  const code = await within(REFUSAL_MS_MAX, new Promise((resolve) => child.once("close", resolve)), () =>
    stop(child),
  );
  if (code === 0) throw new Error(`\`${command}\` did not fail: ${output.join("")}`);
  expectTexts(refusal, output);
  return {};
}

function expectTexts(way, output) {
  const missing = (way.says ?? []).filter((text) => !output.join("").includes(text));
  if (missing.length > 0)
    throw new Error(`the output lacks ${JSON.stringify(missing)}; it is: ${output.join("")}`);
}

/** Runs the commands of a way. The last command is the server, which runs until the change was seen. */
async function follow(way) {
  const began = performance.now();
  const output = [];
  for (const command of way.commands.slice(0, -1))
    await finished(start(way, command, output), output, command);
  const server = start(way, way.commands.at(-1), output);
  try {
    const origin = await addressOf(server, output);
    const page = await fetch(origin);
    if (page.status !== 200 || !(await page.text()).includes("<script")) throw new Error("the page is empty");
    const pageSeconds = seconds(began);
    await seenByTwo(`${origin}/r/${way.world}`, () => appendFileSync(way.file, CHANGE));
    expectTexts(way, output);
    return { commands: way.commands.length, pageSeconds, changeSeconds: seconds(began) };
  } finally {
    // The command is the leader of its group, and ends with all processes that it started.
    stop(server);
    await new Promise((resolve) =>
      server.pid === undefined || hasEnded(server) ? resolve() : server.once("exit", resolve),
    );
    for (const path of way.remove ?? []) rmSync(path, { recursive: true, force: true });
  }
}

function start(way, command, output) {
  const env = {
    ...way.env,
    npm_config_registry: registry.address,
    TAKEN_PORT: new URL(registry.address).port,
  };
  const [program, args] =
    way.root === undefined
      ? ["sh", ["-c", command]]
      : ["/usr/sbin/chroot", [way.root, "/bin/sh", "-c", `cd ${way.folder} && ${command}`]];
  const cwd = way.root === undefined ? way.folder : "/";
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes) => output.push(String(bytes)));
  child.on("error", (error) => output.push(error.message));
  return child;
}

function hasEnded(child) {
  return child.exitCode !== null || child.signalCode !== null;
}

function stop(child) {
  try {
    process.kill(-child.pid, "SIGTERM");
  } catch {
    // The group has ended.
  }
}

function finished(child, output, command) {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) =>
      code === 0 ? resolve() : reject(new Error(`\`${command}\` ended with ${code}: ${output.join("")}`)),
    );
  });
}

/** The address that the server prints. */
function addressOf(server, output) {
  return until(PAGE_MS_MAX, () => {
    if (server.pid === undefined || hasEnded(server)) throw new Error(`the server ended: ${output.join("")}`);
    return /Nowcast is at (http:\/\/\S+)/.exec(output.join(""))?.[1];
  });
}

/** Two clients join, the author saves a change, and both see it. */
async function seenByTwo(room, save) {
  const worlds = ["Ada", "Bob"].map((name) => joinWorld(room, { name }));
  try {
    await Promise.all(worlds.map((world) => world.ready));
    save();
    await until(
      CHANGE_MS_MAX,
      () => worlds.every((world) => world.screen.get("installed") === 1) || undefined,
    );
  } finally {
    for (const world of worlds) world.close();
  }
}

/** Resolves like `promise`. After `ms`, ends the work and throws. */
async function within(ms, promise, end) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => {
      end();
      reject(new Error(`nothing happened within ${ms / 1000} s`));
    }, ms);
  });
  return await Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function until(ms, read) {
  const end = performance.now() + ms;
  while (performance.now() < end) {
    const value = read();
    if (value !== undefined) return value;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`nothing happened within ${ms / 1000} s`);
}

function seconds(since) {
  return Math.round((performance.now() - since) / 10) / 100;
}
