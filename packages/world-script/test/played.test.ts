/** Worlds in TypeScript, checked, tested and served by the program. */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { joinWorld } from "nowcast/world";
import { afterEach, expect, it } from "vitest";
import { nowcastBinary, ServerProcess } from "../../nowcast/test/server-process.js";
import { WorldCompiler } from "../src/compiler.js";
import { type BuildReport, buildOnce, watchWorld } from "../src/watch.js";
import { ROOT, WORLD, WorldFolder } from "./world-folder.js";

const SAVES = 20;
const EFFECT_MS_MAX = 30_000;

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

function folderOf(files: Readonly<Record<string, string>>): WorldFolder {
  const folder = new WorldFolder(files);
  closing.push(() => folder.remove());
  return folder;
}

function run(...args: string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(nowcastBinary(), args, { encoding: "utf8" });
  return { status, output: stdout + stderr };
}

function built(files: Readonly<Record<string, string>>): string {
  const { path } = folderOf(files);
  expect(buildOnce(new WorldCompiler(path)).errors).toEqual([]);
  return path;
}

async function until<T>(read: () => T | undefined | false): Promise<T> {
  const end = performance.now() + EFFECT_MS_MAX;
  while (performance.now() < end) {
    const value = read();
    if (value !== undefined && value !== false) return value;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`nothing happened within ${EFFECT_MS_MAX / 1000} s`);
}

it("the sample world passes the check and its tests", () => {
  const sample = join(ROOT, "worlds/typescript");
  const checked = run("check", sample);
  expect(checked).toMatchObject({ status: 0, output: expect.stringMatching(/^5 kinds, 1 action,/) });
  const tested = run("test", sample);
  expect(tested).toMatchObject({ status: 0, output: expect.stringContaining("3 passed, 0 failed") });
});

it("the tutorial's world passes its test after its last step", () => {
  const page = readFileSync(join(ROOT, "docs/tutorials/world-in-typescript.md"), "utf8");
  const folder = folderOf({});
  const steps = [...page.matchAll(/<!-- (file|append): (\S+) -->\n```typescript\n(.*?)```/gs)];
  expect(steps.map(([, verb, path]) => `${verb} ${path}`)).toEqual([
    "file world.ts",
    "append world.ts",
    "append world.ts",
    "file tests/ball.ts",
  ]);
  const compiler = new WorldCompiler(folder.path);
  let rules = "";
  for (const [, verb, path, text] of steps) {
    if (path === "world.ts") rules = verb === "file" ? text! : `${rules}\n${text}`;
    folder.write(path!, path === "world.ts" ? rules : text!);
    expect(buildOnce(compiler).errors).toEqual([]);
    expect(run("check", folder.path)).toMatchObject({
      status: 0,
      output: expect.not.stringContaining("warning"),
    });
  }
  expect(run("test", folder.path)).toMatchObject({
    status: 0,
    output: expect.stringContaining("1 passed, 0 failed"),
  });
  // The message of the last step.
  folder.write("world.ts", rules.replace("state.goals += 1", "state.gaols += 1"));
  const [error] = buildOnce(compiler).errors;
  expect(page).toContain(error!.slice(error!.indexOf("world.ts")));
});

it("an error has the line of the TypeScript file, in the rules and in a test", () => {
  const path = built({
    "world.ts": `${WORLD}
interface Named { name: string }

world.action("break", {}, (player) => {
  const nobody = undefined as unknown as Named;
  print(player.name, nobody.name);
});
world.action("refuse", {}, () => {
  throw new Error("no ball");
});
`,
    "tests/errors.ts": `import * as test from "@nowcast/test";

for (const action of ["break", "refuse"]) {
  test.case(action, () => test.act(test.join("Ada"), action));
}
test.case("own", () => {
  const list = [1, 2, 3].map((n) => n * 2);
  test.equal(list.length, 4, "the length");
});
`,
  });
  const { status, output } = run("test", path);
  expect(status).toBe(1);
  const place = (line: string) => line.replace(`${path}/`, "").replace(/ \(step \d+, seed 1\)/, "");
  const failed = output.split("\n").filter((line) => line.startsWith("FAILED"));
  expect(failed.map(place)).toEqual([
    expect.stringMatching(/^FAILED break: world\.ts:7:\d+: attempt to index nil with 'name'/),
    expect.stringMatching(/^FAILED refuse: world\.ts:10:\d+: Error: no ball/),
    expect.stringMatching(/^FAILED own: tests\/errors\.ts:8:\d+: the length/),
  ]);
});

it("a module that is older than its source is neither checked nor tested", () => {
  const path = built({ "world.ts": `${WORLD}print(1);\n` });
  expect(run("check", path).status).toBe(0);
  writeFileSync(join(path, "world.ts"), `${WORLD}print(2);\n`);
  for (const command of ["check", "test"]) {
    expect(run(command, path)).toMatchObject({
      status: 1,
      output: expect.stringContaining(
        "world.ts has changed since world.luau was made from it: run `npm run build`",
      ),
    });
  }
});

it("Map, Set, objects and random numbers give the same world for the same seed", () => {
  const path = built({
    "world.ts": `${WORLD}
export const state = world.state({ order: [] as string[], sum: 0 });
world.on("start", () => {
  const ages = new Map<string, number>();
  const names = new Set<string>();
  for (let at = 0; at < 100; at++) {
    const name = "n" + Math.floor(Math.random() * 1000);
    ages.set(name, at);
    names.add(name);
    if (at % 3 === 0) ages.delete(name);
  }
  for (const name of names) state.order.push(name);
  for (const [name] of ages) state.order.push(name);
  for (const name of Object.keys({ ...state, [state.order[0]!]: 1 })) state.order.push(name);
  state.sum = [...ages.values()].sort((a, b) => b - a).reduce((sum, age) => sum + age, 0);
});
`,
    "tests/same.ts": `import * as test from "@nowcast/test";
import * as world from "@nowcast/world";
test.case("orders", () => {
  test.step();
  print(world.state.sum, (world.state.order as string[]).join(" "));
  throw new Error("shown");
});
`,
  });
  const shown = (seed: string) => {
    const lines = run("test", path, "--seed", seed).output.split("\n");
    return lines.filter((line) => line.includes("|"));
  };
  const first = shown("5");
  expect(first).toHaveLength(1);
  expect(first[0]!.length).toBeGreaterThan(400);
  expect(shown("5")).toEqual(first);
  expect(shown("6")).not.toEqual(first);
});

it("a saved file takes effect within a second, and keeps the state", async () => {
  const rules = (version: number) =>
    readFileSync(join(ROOT, "worlds/typescript/world.ts"), "utf8")
      .replace("goals: 0 }", "goals: 0, saves: 0 }")
      .concat(`
world.on("upgrade", () => {
  state.saves += 1;
  world.show("version", ${version});
  world.show("saves", state.saves);
});
`);
  const folder = folderOf({ "world.ts": rules(0) });
  const reports: BuildReport[] = [];
  const watched = watchWorld(folder.path, (report) => reports.push(report));
  closing.push(watched.close);
  expect(reports).toMatchObject([{ errors: [] }]);
  const server = await ServerProcess.start(0, [`--world=park=${folder.path}`]);
  closing.push(() => server.stop());
  const client = joinWorld(`${server.url}/r/park`, { name: "Ada" });
  closing.push(() => client.close());
  await client.ready;

  const milliseconds: number[] = [];
  for (let version = 1; version <= SAVES; version++) {
    const begun = performance.now();
    folder.write("world.ts", rules(version));
    await until(() => client.screen.get("version") === version);
    milliseconds.push(performance.now() - begun);
  }
  milliseconds.sort((a, b) => a - b);
  const [p50, p99] = [0.5, 0.99].map((share) => milliseconds[Math.floor((SAVES - 1) * share)]!.toFixed(0));
  console.log(`save to effect of ${SAVES} saves: p50 ${p50} ms, p99 ${p99} ms`);
  expect(client.screen.get("saves")).toBe(SAVES);

  // A version with an error changes nothing, and the next one without continues.
  folder.write("world.ts", rules(SAVES + 1).replace("state.saves += 1", "state.saved += 1"));
  const failed = await until(() => reports.find((report) => report.errors.length > 0));
  expect(failed.errors[0]).toContain("Property 'saved' does not exist");
  folder.write("world.ts", rules(SAVES + 2));
  await until(() => client.screen.get("version") === SAVES + 2);
  expect(client.screen.get("saves")).toBe(SAVES + 1);
});
