/** `npm create nowcast` with a stand-in for the program: arguments, folders, versions and ports. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkFolder, checkVersions, freePort, installPackages, makeWorld } from "../src/create.js";
import { readLanguage, readOptions } from "../src/options.js";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "create-nowcast-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function listen(port: number): Promise<Server> {
  return new Promise((done, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => done(server));
  });
}

/** A program that makes the folder of `new`, or fails as told. */
function program(body: string): string {
  const path = join(folder, "program");
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

describe("arguments", () => {
  it("have a folder, a template and flags for the server", () => {
    const options = readOptions([
      "park",
      "--template",
      "football",
      "--no-open",
      "--port=8000",
      "--data",
      "d",
      "--no-data",
    ]);
    expect(options).toEqual({
      folder: "park",
      language: "Luau",
      template: "football",
      start: true,
      open: false,
      port: "8000",
      serve: ["--data", "d", "--no-data"],
    });
  });

  it("may be missing", () => {
    expect(readOptions([])).toMatchObject({
      folder: "my-world",
      language: undefined,
      template: "minimal",
      start: true,
      open: true,
    });
  });

  it("choose the language, and exclude each other", () => {
    expect(readOptions(["park", "--typescript"]).language).toBe("TypeScript");
    expect(readOptions(["--luau", "park"]).language).toBe("Luau");
    expect(() => readOptions(["--luau", "--typescript"])).toThrow("exclude each other");
    expect(() => readOptions(["--typescript", "--template", "football"])).toThrow("a sample in Luau");
  });

  it.each([
    ["", "Luau"],
    ["luau", "Luau"],
    ["TypeScript\n", "TypeScript"],
    ["t", "TypeScript"],
  ])("an answer %j is a language", (answer, language) => {
    expect(readLanguage(answer)).toBe(language);
  });

  it("an answer that is no language is refused", () => {
    expect(() => readLanguage("Rust")).toThrow(
      "there is no Rust for rules; nothing was made. Answer Luau or TypeScript.",
    );
  });

  it("with two folders, or a flag without its value, are refused with the cure", () => {
    expect(() => readOptions(["a", "b"])).toThrow(/b is a second folder/);
    expect(() => readOptions(["a", "--port"])).toThrow(/--port needs a value/);
  });
});

describe("the folder", () => {
  it("that is not empty stays as it is, and the error names another way", () => {
    const taken = join(folder, "world");
    mkdirSync(taken);
    writeFileSync(join(taken, "notes.txt"), "mine");
    expect(() => checkFolder(taken)).toThrow(
      /is not empty; nothing was changed\. .*world-2.*nowcast-server serve/,
    );
    expect(() => makeWorld(program("exit 0"), taken, "minimal", "0.1.0")).toThrow(/is not empty/);
    expect(readFileSync(join(taken, "notes.txt"), "utf8")).toBe("mine");
    expect(existsSync(join(taken, "package.json"))).toBe(false);
  });

  it("that is a file is refused", () => {
    writeFileSync(join(folder, "world"), "");
    expect(() => checkFolder(join(folder, "world"))).toThrow(/is a file: choose another name/);
  });

  it("that exists and is empty is used, and npm can start the world", () => {
    const world = join(folder, "world");
    mkdirSync(world);
    makeWorld(program('test "$1" = new && mkdir "$2"'), world, "minimal", "1.2.3");
    const manifest = JSON.parse(readFileSync(join(world, "package.json"), "utf8"));
    expect(manifest).toMatchObject({
      name: "world",
      scripts: { start: "nowcast serve . --open" },
      devDependencies: { "nowcast-server": "1.2.3" },
    });
  });

  it("in TypeScript keeps the files of npm that the program has made", () => {
    const world = join(folder, "world");
    const making = program(
      'test "$1 $3" = "new --typescript" && mkdir "$2" && echo made > "$2/package.json"',
    );
    makeWorld(making, world, undefined, "1.2.3");
    expect(readFileSync(join(world, "package.json"), "utf8")).toBe("made\n");
  });

  it("in TypeScript stays if npm fails, and the error has the command to try again", () => {
    const world = join(folder, "world");
    mkdirSync(world);
    expect(() => installPackages(world, program("exit 1"))).toThrow(
      `npm ended with 1). Try again: cd ${world} && npm install && npm run dev`,
    );
    expect(() => installPackages(world, program('test "$1" = install && touch installed'))).not.toThrow();
    expect(existsSync(join(world, "installed"))).toBe(true);
  });

  it("is not made if the program refuses, and the program's error is shown", () => {
    const refusing = program("echo 'error: a world is not called \"X\"' >&2; exit 1");
    expect(() => makeWorld(refusing, join(folder, "X"), "minimal", "0.1.0")).toThrow(
      /^a world is not called "X"$/,
    );
    expect(existsSync(join(folder, "X"))).toBe(false);
  });
});

describe("versions", () => {
  it("of both packages must be the same, and the error names both", () => {
    expect(() => checkVersions("0.1.0", "0.1.0")).not.toThrow();
    expect(() => checkVersions("0.2.0", "0.1.0")).toThrow(
      "create-nowcast 0.2.0 cannot use nowcast-server 0.1.0: both must have one version",
    );
  });
});

describe("ports", () => {
  it("that are taken are passed over", async () => {
    const taken = await listen(0);
    const { port } = taken.address() as AddressInfo;
    expect(await freePort(port)).toBeGreaterThan(port);
    taken.close();
  });

  it("without a free one among twenty are an error with the flag", async () => {
    const first = 42_000 + (process.pid % 1_000) * 20;
    const taken = await Promise.allSettled(Array.from({ length: 20 }, (_, offset) => listen(first + offset)));
    await expect(freePort(first)).rejects.toThrow(/are taken: name a free one, --port N/);
    for (const server of taken) if (server.status === "fulfilled") server.value.close();
  });
});
