/** The package finds its program, and refuses packages of other releases by name. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { explainStart, programPath, VERSION } from "../src/index.js";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "nowcast-server-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** An installed package of a platform, and the function that finds its files. */
function installed(version: string, program: string | undefined): (file: string) => string {
  mkdirSync(join(folder, "bin"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ version }));
  if (program !== undefined) writeFileSync(join(folder, "bin", program), "");
  return (file) => {
    expect(file).toMatch(/^@nowcast\/server-[a-z0-9]+-[a-z0-9]+\/package\.json$/);
    return join(folder, "package.json");
  };
}

describe("the path of the program", () => {
  it("is in the package of the platform", () => {
    expect(programPath("linux-x64", installed(VERSION, "nowcast"))).toBe(join(folder, "bin/nowcast"));
  });

  it("ends in .exe on Windows", () => {
    expect(programPath("win32-x64", installed(VERSION, "nowcast.exe"))).toBe(join(folder, "bin/nowcast.exe"));
  });

  it("is refused for a package of another release, with both names and versions", () => {
    const resolve = installed("0.0.9", "nowcast");
    expect(() => programPath("linux-x64", resolve)).toThrow(
      `nowcast-server ${VERSION} cannot use @nowcast/server-linux-x64 0.0.9: both must have one version`,
    );
  });

  it("names the flag that left the optional package out", () => {
    const missing = (): string => {
      throw new Error("Cannot find module");
    };
    expect(() => programPath("linux-x64", missing)).toThrow(/server-linux-x64 .*--omit=optional/);
  });

  it("names the platforms that have a program", () => {
    expect(() => programPath("sunos-sparc")).toThrow(
      /no program for sunos-sparc: .*linux-x64.*cargo xtask build/,
    );
  });

  it("is refused if the package lost its program", () => {
    expect(() => programPath("linux-x64", installed(VERSION, undefined))).toThrow(/is missing: install/);
  });
});

describe("an error of the start", () => {
  it("of a program that exists, but not its loader, names glibc", () => {
    const program = join(folder, "nowcast");
    writeFileSync(program, "");
    chmodSync(program, 0o755);
    const error = Object.assign(new Error("spawn"), { code: "ENOENT" });
    expect(explainStart(program, error).message).toContain("glibc 2.28");
  });
});
