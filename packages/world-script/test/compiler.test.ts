/** The compiler of worlds: types, refused names, modules and their places. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { loadCompiler, WorldCompiler } from "../src/compiler.js";
import { writeModules } from "../src/output.js";
import { perLine } from "../src/source-map.js";
import { buildOnce } from "../src/watch.js";
import { ROOT, WORLD, WorldFolder } from "./world-folder.js";

const folders: WorldFolder[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) folder.remove();
});

function folderOf(files: Readonly<Record<string, string>>): WorldFolder {
  const folder = new WorldFolder(files);
  folders.push(folder);
  return folder;
}

/** The errors of a world, without the path of its folder. */
function errorsOf(text: string): string[] {
  const { errors } = new WorldCompiler(folderOf({ "world.ts": WORLD + text }).path).compile();
  return errors.map((error) => error.slice(error.indexOf("world.ts")));
}

const BALL =
  'const Ball = world.kind("ball", { attributes: { heat: { type: "f32", min: 0, max: 1 }, by: "player?" } });\n';

describe("types", () => {
  it("of attributes, actions, events, timers and the state are those that the world declares", () => {
    const text = `${BALL}
      export const state = world.state({ goals: 0, names: ["Ada"] });
      const goal = world.event("goal", { team: "text", by: "player?" });
      const cool = world.timer("cool", (data: { seconds: number }) => print(data.seconds + 1));
      world.on("join", (player) => { player.spawn_avatar(Ball, { heat: 0.5 }).heat += state.goals; });
      Ball.on("contact", (ball, other, impulse) => {
        if (Ball.is(other)) ball.heat = other.heat + impulse;
        const name: string | undefined = ball.by?.name;
        world.emit(goal, { team: name ?? state.names[0] ?? "red" });
        world.emit("undeclared", { anything: [1, 2] });
        world.after(1, cool, { seconds: ball.heat });
      });
      world.action("kick", { power: "f32", at: "vector", who: "entity?" }, (player, kick) => {
        player.avatar?.apply_impulse(kick.at.mul(kick.power));
        kick.who?.despawn();
      });
      world.command("give", { arguments: [{ name: "who", type: "player" }, { name: "count", type: "integer?" }] },
        (_player, who, count) => who.name + ((count ?? 1) + 1));
    `;
    expect(errorsOf(text)).toEqual([]);
  });

  it("of adjustable walkers have their speed, jump and frozen", () => {
    const text = `
      const Runner = world.kind("runner", { attributes: { mood: "text" }, walker: { adjustable: true, height: 1.6 } });
      world.on("join", (player) => {
        const runner = player.spawn_avatar(Runner, { mood: "glad", speed: 2 });
        runner.frozen = runner.speed + runner.jump > 3;
      });
    `;
    expect(errorsOf(text)).toEqual([]);
  });

  it.each([
    ["Ball.spawn({ heat: 'hot' });", "Type 'string' is not assignable to type 'number'"],
    ["Ball.spawn({ haet: 1 });", "'haet' does not exist"],
    ["Ball.all()[0]!.weight = 1;", "Property 'weight' does not exist"],
    ["Ball.on('contact', (ball, other) => { other.heat = 1; });", "Property 'heat' does not exist"],
    ["world.kind('man', { walker: {} }).all()[0]!.frozen = true;", "Property 'frozen' does not exist"],
    ["world.kind('man', { walker: { adjustable: true, heigth: 2 } });", "'heigth' does not exist"],
    ["world.on('jion', () => undefined);", "'\"jion\"' is not assignable"],
    ["world.state({ goals: 0 }).goals = 'x';", "Type 'string' is not assignable to type 'number'"],
    [
      "world.emit(world.event('goal', { team: 'text' }), { team: 1 });",
      "Type 'number' is not assignable to type 'string'",
    ],
    [
      "world.after(1, world.timer('t', (n: number) => print(n)), 'x');",
      "Argument of type 'string' is not assignable",
    ],
    ["world.kind('door', { body: { motion: 'still', shape: 'box' } });", "'\"still\"' is not assignable"],
    ["world.kind('door', { attributes: { open: 'boole' } });", "'\"boole\"' is not assignable"],
    ["world.action('a', { n: 'u8' }, (_player, given) => print(given.m));", "Property 'm' does not exist"],
  ])("refuse %s", (text, message) => {
    const errors = errorsOf(`${BALL}${text}`);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatch(/^world\.ts:3:\d+: /);
    expect(errors[0]).toContain(message);
  });
});

describe("names that a world does not have", () => {
  it.each([
    ["print(Date.now());", "2:7", "world.time()"],
    ["new WeakMap<object, number>();", "2:5", "Map or Set"],
    ["print(JSON.stringify({}));", "2:7", "world.state"],
    ["async function later() {}", "2:1", "world.after"],
    ["print(/a+/.test('a'));", "2:7", "includes"],
  ])("are refused with the cure: %s", (text, place, cure) => {
    const [error] = errorsOf(text).filter((found) => found.includes("A world has no"));
    expect(error).toMatch(new RegExp(`^world\\.ts:${place}: A world has no \\w+: `));
    expect(error).toContain(cure);
  });

  it("may be used for other things", () => {
    expect(
      errorsOf("const Date = 1; export const a: { JSON: number } = { JSON: Date }; print(a.JSON);"),
    ).toEqual([]);
  });
});

describe("modules", () => {
  it("of the sample world are those of its sources", () => {
    const sample = join(ROOT, "worlds/typescript");
    const { modules, errors } = new WorldCompiler(sample).compile();
    expect(errors).toEqual([]);
    expect(modules.map((module) => module.path).sort()).toEqual(["tests/ball.luau", "world.luau"]);
    for (const { path, text } of modules) {
      // `node packages/world-script/dist/main.js build worlds/typescript` writes them.
      expect(readFileSync(join(sample, path), "utf8"), path).toBe(text);
    }
  });

  it("name each other by the paths of import, and those of the server unchanged", () => {
    const folder = folderOf({
      "world.ts": `${WORLD}import { color } from "./parts/colors";\nimport * as teams from "@nowcast/teams";\nworld.on("start", () => teams.add("red", { color }));\n`,
      "parts/colors.ts": 'export const color = "#ff0000";\n',
    });
    const { modules, errors } = new WorldCompiler(folder.path).compile();
    expect(errors).toEqual([]);
    const main = modules.find((module) => module.path === "world.luau")!.text;
    expect(main.match(/require\([^)]*\)/g)).toEqual([
      'require("@nowcast/world")',
      'require("./parts/colors")',
      'require("@nowcast/teams")',
    ]);
  });

  it("are removed with their source, and never replace a module of the author", () => {
    const folder = folderOf({ "world.ts": `${WORLD}print(1);\n`, "old.ts": "export const a = 1;\n" });
    const compiler = new WorldCompiler(folder.path);
    expect(buildOnce(compiler)).toMatchObject({ errors: [], modules: 2, changed: 2 });
    expect(buildOnce(compiler)).toMatchObject({ errors: [], changed: 0 });
    rmSync(join(folder.path, "old.ts"));
    expect(buildOnce(compiler)).toMatchObject({ errors: [], modules: 1, changed: 1 });
    expect(existsSync(join(folder.path, "old.luau"))).toBe(false);
    folder.write("mine.luau", "return 1\n");
    folder.write("mine.ts", "export const a = 1;\n");
    expect(() => buildOnce(compiler)).toThrow("mine.luau was not made from mine.ts, so it is kept");
    expect(readFileSync(join(folder.path, "mine.luau"), "utf8")).toBe("return 1\n");
  });

  it("of files that depend on a changed declaration are checked and made again, and only these", () => {
    const folder = folderOf({
      "world.ts": `${WORLD}import { SIZE } from "./size";\nprint(SIZE + 1);\n`,
      "size.ts": "export const enum Size { Small = 1 }\nexport const SIZE = Size.Small;\n",
      "alone.ts": "export const a = 1;\n",
    });
    const compiler = new WorldCompiler(folder.path);
    const textOf = (path: string) => compiler.compile().modules.find((module) => module.path === path)?.text;
    expect(buildOnce(compiler)).toMatchObject({ errors: [], modules: 3, changed: 3 });
    const alone = compiler.compile().modules.find((module) => module.path === "alone.luau");
    folder.write("world.ts", `${WORLD}import { Size } from "./size";\nprint(Size.Small);\n`);
    expect(textOf("world.luau")).toContain("print(1");
    folder.write("size.ts", "export const enum Size { Small = 2 }\nexport const SIZE = Size.Small;\n");
    expect(textOf("world.luau")).toContain("print(2");
    expect(compiler.compile().modules).toContain(alone);
    // A file that did not change has an error while the declaration that it uses is gone.
    folder.write("size.ts", "export const SIZE = 3;\n");
    for (let again = 0; again < 2; again++) expect(compiler.compile().errors.join()).toContain("'Size'");
    folder.write("size.ts", "export const enum Size { Small = 4 }\n");
    expect(textOf("world.luau")).toContain("print(4");
    expect(buildOnce(compiler)).toMatchObject({ errors: [], modules: 3 });
  });

  it("are not written if one file has an error", () => {
    const folder = folderOf({ "world.ts": `${WORLD}print(1);\n` });
    const compiler = new WorldCompiler(folder.path);
    buildOnce(compiler);
    const before = readFileSync(join(folder.path, "world.luau"), "utf8");
    folder.write("world.ts", `${WORLD}print(2);\nworld.jion();\n`);
    expect(buildOnce(compiler)).toMatchObject({
      changed: 0,
      errors: [expect.stringContaining("world.ts:3:7: ")],
    });
    expect(readFileSync(join(folder.path, "world.luau"), "utf8")).toBe(before);
    expect(() => writeModules(folder.path, [])).not.toThrow();
  });
});

describe("source maps", () => {
  it("keep the first place of each line", () => {
    expect(perLine("AAAA,IAAI;;EACF,EAAE;AADJ")).toBe("AAAA;;AACE;AADF");
    expect(perLine("")).toBe("");
  });
});

describe("the folder", () => {
  it("without a configuration is not a world in TypeScript", () => {
    const empty = mkdtempSync(join(tmpdir(), "no-world-"));
    expect(() => new WorldCompiler(empty)).toThrow("nowcast new DIR --typescript makes one");
    rmSync(empty, { recursive: true });
  });

  it("without the compiler names the cure", () => {
    const empty = mkdtempSync(join(tmpdir(), "no-compiler-"));
    expect(() => loadCompiler([join(empty, "package.json")])).toThrow(
      "typescript-to-lua is not installed, so nothing was compiled: run npm install in the world's folder.",
    );
    rmSync(empty, { recursive: true });
  });
});
