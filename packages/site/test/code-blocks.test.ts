/** Checks every block of code of the documents. For a block that is not checked, the page must give the reason. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import ts from "typescript";
import { afterAll, describe, expect, it } from "vitest";
import { WorldCompiler } from "../../world-script/src/compiler.js";
import { buildOnce } from "../../world-script/src/watch.js";
import { WORLD, WorldFolder } from "../../world-script/test/world-folder.js";
import { type Block, blocksOf, outsideCode } from "../src/pages/markdown.js";
import { ROOT, readRepositoryFile } from "../src/pages/repository.js";
import { HOME, PAGES } from "../src/pages/site-map.js";
import { helpOf, runNowcast } from "./program.js";

interface Placed extends Block {
  readonly place: string;
  readonly file: string;
}

const FILES = [...new Set(["README.md", HOME, ...PAGES.map(({ file }) => file)])];
const BLOCKS: readonly Placed[] = FILES.flatMap((file) =>
  blocksOf(readRepositoryFile(file)).map((block) => ({ ...block, file, place: `${file}:${block.line}` })),
);
const OF = (...languages: string[]): readonly Placed[] =>
  BLOCKS.filter(({ language, notRun }) => languages.includes(language) && notRun === undefined);

/** Languages of blocks that contain data, output or grammars instead of code. */
const NO_CODE = ["", "text", "json", "jsonc", "console"];
/** Blocks of these languages are checked below. */
const CHECKED = ["sh", "bash", "lua", "typescript", "ts", "js"];
/**
 * Pages whose code other tests run: `crates/nowcast/tests/readme.rs`, `crates/wire/tests/second_reader.py`,
 * `crates/replication/tests/motion_reader.py`,
 * `packages/page/test/package/packed.test.ts`, `packages/world-script/test/played.test.ts`, `packages/react/test/readme.test.ts`, `crates/ffi/tests/c_programs.rs`
 * and `bindings/python/tests/test_examples.py`.
 */
const RUN_ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  "README.md": ["rust"],
  "spec/MOTION.md": ["python"],
  "docs/how-to/page-parts.md": ["html"],
  "docs/how-to/react.md": ["tsx"],
  "docs/how-to/c-and-cpp.md": ["c", "cpp"],
  "docs/how-to/python.md": ["python"],
};

const folder = mkdtempSync(join(tmpdir(), "nowcast-blocks-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("every_block_is_checked_or_says_why_not", () => {
  expect(BLOCKS.length).toBeGreaterThan(60);
  const isCovered = ({ language, notRun, file }: Placed): boolean =>
    notRun !== undefined ||
    NO_CODE.includes(language) ||
    CHECKED.includes(language) ||
    RUN_ELSEWHERE[file]?.includes(language) === true;
  expect(
    BLOCKS.filter((block) => !isCovered(block)).map(({ place, language }) => `${place} ${language}`),
  ).toEqual([]);
});

describe("commands", () => {
  /** The commands of `cargo xtask`, from its source. */
  const xtask = [...readRepositoryFile("xtask/src/main.rs").matchAll(/^ {4}([A-Z]\w+)(?:\(.*\))?,$/gm)].map(
    ([, name]) => name!.replace(/(?<!^)[A-Z]/g, "-$&").toLowerCase(),
  );

  /** The fault of a command, or `undefined`. */
  function faultOf(command: string): string | undefined {
    const words = command
      .split("#")[0]!
      .split(/\s+/)
      .filter((word) => word !== "" && word !== "\\");
    if (words[0] === "cargo" && words[1] === "xtask") {
      const isNowcast = words[2] === "nowcast";
      if (words[2] !== undefined && !words[2].startsWith("-") && !xtask.includes(words[2]))
        return `no ${words[2]} in xtask`;
      return isNowcast ? faultOf(words.slice(2).join(" ")) : undefined;
    }
    if (words[0] !== "nowcast") return undefined;
    let path: string[] = [];
    for (const word of words.slice(1)) {
      if (!/^[a-z][\w-]*$/.test(word) || helpOf([...path, word]) === "") break;
      path = [...path, word];
      if (!helpOf(path).includes("\nCommands:\n")) break;
    }
    if (path.length === 0 && /^[a-z]/.test(words[1] ?? "")) return `no command ${words[1]}`;
    const flags = words.filter((word) => /^--[a-z]/.test(word)).map((word) => word.split("=")[0]!);
    const help = helpOf(path);
    const unknown = flags.find((flag) => !new RegExp(`${flag}(?![\\w-])`).test(help) && flag !== "--help");
    return unknown === undefined ? undefined : `nowcast ${path.join(" ")} has no ${unknown}`;
  }

  it("of_blocks_exist_with_their_flags", () => {
    const lines = BLOCKS.filter(({ language }) =>
      ["sh", "bash", "console", "text"].includes(language),
    ).flatMap(({ place, text }) =>
      text
        .replace(/\\\n/g, " ")
        .split("\n")
        .map((line) => ({ place, line: line.replace(/^\$ /, "") })),
    );
    const commands = lines.filter(({ line }) => /^(?:nowcast|cargo xtask)\s+\S/.test(line));
    expect(commands.length).toBeGreaterThan(40);
    const faults = commands.map(({ place, line }) => ({ place, fault: faultOf(line) }));
    expect(faults.filter(({ fault }) => fault !== undefined)).toEqual([]);
  });

  it("in_sentences_exist_with_their_flags", () => {
    const found: { file: string; command: string }[] = [];
    for (const file of FILES.filter((file) => file !== "CHANGELOG.md")) {
      outsideCode(readRepositoryFile(file), (line) => {
        for (const [, command] of line.matchAll(/`((?:nowcast|cargo xtask) [^`]+)`/g))
          found.push({ file, command: command! });
        return line;
      });
    }
    expect(found.length).toBeGreaterThan(40);
    const faults = found.map(({ file, command }) => ({ file, command, fault: faultOf(command) }));
    expect(faults.filter(({ fault }) => fault !== undefined)).toEqual([]);
  });

  it("of_shells_are_those_of_this_repository_or_the_page_says_why_they_do_not_run", () => {
    const known =
      /^(?:#.*|nowcast .*|cargo (?:xtask|run|test) .*|cd \S+|npm (?:start|run|install|init|pkg) ?.*|NOWCAST_\w+=\S+ .*|python3 .*)?$/;
    const foreign = OF("sh", "bash").flatMap(({ place, text }) =>
      text
        .replace(/\\\n/g, " ")
        .split("\n")
        .filter((line) => !known.test(line.trim()))
        .map((line) => `${place}: ${line}`),
    );
    expect(foreign).toEqual([]);
  });
});

describe("rules", () => {
  const isWhole = ({ text }: Block): boolean => /require\("@nowcast\/(?:world|test)"\)/.test(text);
  const isTest = ({ text }: Block): boolean => text.includes('require("@nowcast/test")');
  /** Names that fragments take from the text around them. */
  const FREE = ["Ball", "Crate", "Door", "Hand", "Person", "ball", "bomb", "crate", "player"];

  function check(name: string, rules: string): string {
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, "world.luau"), rules);
    const { code, output } = runNowcast(["check", name], folder);
    return code === 0 ? "" : output;
  }

  it("of_whole_worlds_pass_the_check", () => {
    // Blocks that a tutorial appends belong to its world, which the test of the tutorials checks.
    const worlds = OF("lua").filter((block) => isWhole(block) && !isTest(block));
    expect(worlds.length).toBeGreaterThan(6);
    const faults = worlds.map(({ place, text }, index) => ({ place, fault: check(`world-${index}`, text) }));
    expect(faults.filter(({ fault }) => fault !== "")).toEqual([]);
  });

  it("of_fragments_have_valid_syntax_and_name_members_that_exist", () => {
    // The tests of tutorials and recipes play the blocks that a page appends to a world.
    const fragments = OF("lua").filter((block) => !isWhole(block) && !block.comment?.startsWith("append:"));
    expect(fragments.length).toBeGreaterThan(8);
    const faults = fragments.map(({ place, text }, index) => {
      const body = text.replaceAll("…", "");
      // The check knows attributes by the kinds that are declared when the module is loaded.
      const kind =
        'world.kind("known", { attributes = { heat = "f32", grip = "f32", open = "bool", label = "text", speed = "f32" } })';
      const rules = `local world = require("@nowcast/world")\n${kind}\nworld.on("step", function(${FREE.join(", ")})\n${body}end)\n`;
      return { place, fault: check(`fragment-${index}`, rules) };
    });
    expect(faults.filter(({ fault }) => fault !== "")).toEqual([]);
  });
});

describe("rules in TypeScript", () => {
  /** Names that fragments take from the text around them. */
  const AROUND = `
    const state = world.state({ made: 0, score: { red: 0, green: 0 } as Record<string, number> });
    const [Person, Ball] = [world.kind("person"), world.kind("ball")];
    const [Crate, Door] = [world.kind("crate"), world.kind("door", { attributes: { open: "bool" } })];
    const [ball, bomb] = [undefined as unknown as world.Entity, undefined as unknown as world.Entity];
    const player = undefined as unknown as world.Player;
    void [state, Person, Ball, Crate, Door, ball, bomb, player];
  `;

  /** The text with its imports first, and the names around it, unless it declares them. */
  function wholeOf(text: string): string {
    const imports: readonly string[] = text.match(/^import .*$/gm) ?? [];
    if (imports.includes(WORLD.trim())) return text;
    const body = text.replace(/^import .*$/gm, "");
    const [global, local] = body.startsWith("declare module") ? split(body) : ["", body];
    return `${WORLD}${imports.join("\n")}\n${global}{${AROUND}{\n${local}}\n}\nexport {};\n`;
  }

  /** A declaration of a module cannot be inside of a block. */
  function split(body: string): [string, string] {
    const end = body.indexOf("\n}\n") + 3;
    return [body.slice(0, end), body.slice(end)];
  }

  it("of_the_guides_compile_to_luau_with_the_types_of_the_api", () => {
    const blocks = OF("typescript").filter(({ file }) => file !== "docs/tutorials/world-in-typescript.md");
    expect(blocks.length).toBeGreaterThan(15);
    // One folder for all, because each compilation reads the types again.
    const files = blocks.map(({ text }, index) => [`block${index}.ts`, wholeOf(text)] as const);
    const folder = new WorldFolder({ "world.ts": WORLD, ...Object.fromEntries(files) });
    const { errors } = buildOnce(new WorldCompiler(folder.path));
    folder.remove();
    const faults = errors.map((error) =>
      error.replace(/^.*block(\d+)\.ts/, (_, index: string) => `${blocks[Number(index)]!.place}: `),
    );
    expect(faults).toEqual([]);
  });
});

describe("typescript", () => {
  /** Names that a fragment takes from the text around it, and their types. */
  const FREE_NAMES = new Set([2304, 2552, 18004, 7006, 7031, 2307]);

  it("has_the_types_of_the_packages", () => {
    const blocks = OF("ts");
    expect(blocks.length).toBeGreaterThan(8);
    const sources = new Map(
      blocks.map((block, index) => [join(ROOT, "packages/site/test", `block-${index}.ts`), block]),
    );
    const config = ts.readConfigFile(join(ROOT, "tsconfig.json"), ts.sys.readFile).config as {
      extends: string;
    };
    const { options } = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, ROOT);
    const host = ts.createCompilerHost({ ...options, noEmit: true });
    const read = host.getSourceFile.bind(host);
    host.getSourceFile = (name, version) => {
      const block = sources.get(name);
      // Two blocks of one page may declare the same name.
      return block === undefined
        ? read(name, version)
        : ts.createSourceFile(name, `${block.text}\nexport {};\n`, version, true);
    };
    const program = ts.createProgram(
      [...sources.keys()],
      { ...options, noUnusedLocals: false, noEmit: true },
      host,
    );
    const faults = [...sources].flatMap(([name, { place, file }]) => {
      // The guide of the SDK shows calls alone; other guides show whole programs.
      const isGuide = file.startsWith("docs/") && file !== "docs/how-to/sdk.md";
      const found = [
        ...program.getSyntacticDiagnostics(program.getSourceFile(name)),
        ...program.getSemanticDiagnostics(program.getSourceFile(name)),
      ].filter(({ code }) => isGuide || !FREE_NAMES.has(code));
      return found.map(({ messageText }) => `${place}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`);
    });
    expect(faults).toEqual([]);
  });
});
