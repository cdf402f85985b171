/** Packages as npm would publish them, and the folder of a project that uses them. */
import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "vite";
import { expect } from "vitest";

const run = promisify(execFile);

export const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
/** The programs of the development dependencies. */
export const BIN = join(ROOT, "node_modules/.bin");
/** Time limit for packing, which compiles a package and calls npm. */
export const PACKING_MS_MAX = 120_000;

/** A package as npm would publish it. */
export class Packed {
  private constructor(
    /** A temporary folder, which has the tarball. */
    readonly folder: string,
    readonly tarball: string,
    /** Names of the files in it. */
    readonly files: readonly string[],
  ) {}

  /** Packs the package in `packages/NAME`. */
  static async pack(name: string): Promise<Packed> {
    const source = join(ROOT, "packages", name);
    const folder = await mkdtemp(join(tmpdir(), `nowcast-packed-${name}-`));
    // Built in another folder, because other tests run the package's own `dist`.
    const built = join(folder, "built");
    await mkdir(built);
    const compiler = ["-p", "tsconfig.build.json", "--outDir", join(built, "dist")];
    await run(join(BIN, "tsc"), compiler, { cwd: source });
    for (const file of ["package.json", "README.md", "LICENSE-APACHE", "LICENSE-MIT"]) {
      await copyFile(join(source, file), join(built, file));
    }
    const pack = ["pack", "--json", "--silent", "--ignore-scripts", "--pack-destination", folder];
    const { stdout } = await run("npm", pack, { cwd: built });
    const [{ filename, files }] = JSON.parse(stdout.slice(stdout.indexOf("["))) as [
      { filename: string; files: { path: string }[] },
    ];
    return new Packed(
      folder,
      join(folder, filename),
      files.map(({ path }) => path),
    );
  }

  /** Expects the files of every package, no library of another project, and no complaint of publint. */
  async expectPublishable(): Promise<void> {
    const own = ["LICENSE-MIT", "LICENSE-APACHE", "README.md", "dist/index.d.ts", "dist/index.js.map"];
    expect(this.files).toEqual(expect.arrayContaining(own));
    expect(this.files.filter((name) => /node_modules|\.wasm$/.test(name))).toEqual([]);
    await run(join(BIN, "publint"), [this.tarball, "--strict"]);
  }

  /** Makes an empty project with this package, and with peers of the development dependencies. */
  async install(name: string, peers: readonly string[] = []): Promise<Project> {
    const project = new Project(join(this.folder, "project"));
    const own = join(project.folder, "node_modules", name);
    await mkdir(own, { recursive: true });
    await project.write("package.json", '{ "name": "consumer", "private": true, "type": "module" }');
    await run("tar", ["-xzf", this.tarball, "-C", own, "--strip-components", "1"]);
    for (const peer of peers) {
      const link = join(project.folder, "node_modules", peer);
      await mkdir(dirname(link), { recursive: true });
      await symlink(join(ROOT, "node_modules", peer), link);
    }
    return project;
  }

  remove(): Promise<void> {
    return rm(this.folder, { recursive: true });
  }
}

/** The folder of a program or page that uses packed packages. */
export class Project {
  constructor(readonly folder: string) {}

  /** Writes a file and returns its path. */
  async write(name: string, text: string): Promise<string> {
    const path = join(this.folder, name);
    await writeFile(path, text);
    return path;
  }

  /** Bundles pages by Vite and returns the code of the built modules by their names. */
  async bundle(pages: readonly string[] = ["index.html"]): Promise<ReadonlyMap<string, string>> {
    const input = pages.map((page) => join(this.folder, page));
    const built = await build({
      configFile: false,
      root: this.folder,
      logLevel: "error",
      build: { write: false, target: "es2022", rollupOptions: { input } },
    });
    const parts = (Array.isArray(built) ? built : [built]).flatMap((part) =>
      "output" in part ? part.output : [],
    );
    const chunks = parts.flatMap((part) => (part.type === "chunk" ? [part] : []));
    return new Map(chunks.map(({ name, code }) => [name, code]));
  }
}

/** The code blocks of a language in a README, in their order. */
export function blocksOf(readme: string, language: string): readonly string[] {
  return [...readme.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, "gs"))].map(([, text]) => text!);
}
