/** Builds a world once, or after every change of its files. */
import { type FSWatcher, readdirSync, watch } from "node:fs";
import { join } from "node:path";
import { WorldCompiler } from "./compiler.js";
import { BuildError } from "./error.js";
import { writeModules } from "./output.js";

/** Milliseconds without a change after which the files are read. Editors write a file in several steps. */
const SETTLE_MS = 15;

/** The outcome of a build. */
export interface BuildReport {
  /** Errors with file, line and column. If the list is not empty, no file was written. */
  readonly errors: readonly string[];
  /** The number of modules of the world. */
  readonly modules: number;
  /** The number of files that changed. */
  readonly changed: number;
  readonly milliseconds: number;
}

/** Compiles a world, and writes its modules. */
export function buildOnce(compiler: WorldCompiler): BuildReport {
  const begun = performance.now();
  const { modules, errors } = compiler.compile();
  const changed = errors.length === 0 ? writeModules(compiler.folder, modules) : 0;
  return { errors, modules: modules.length, changed, milliseconds: performance.now() - begun };
}

/**
 * Builds a world now, and after every change of a TypeScript file, until `close` is called. A version with an error writes
 * nothing, so the server keeps the version before it.
 */
export function watchWorld(
  folder: string,
  onBuild: (report: BuildReport) => void,
): { readonly close: () => void } {
  const compiler = new WorldCompiler(folder);
  const watchers = new Map<string, FSWatcher>();
  let timer: NodeJS.Timeout | undefined;
  const build = () => {
    timer = undefined;
    watchFolders(compiler.folder);
    try {
      onBuild(buildOnce(compiler));
    } catch (error) {
      // The folder may change while it is read. The next change builds again.
      onBuild({ errors: [(error as Error).message], modules: 0, changed: 0, milliseconds: 0 });
      if (!(error instanceof BuildError) && (error as NodeJS.ErrnoException).code === undefined) throw error;
    }
  };
  const schedule = (name: string | null) => {
    if (name !== null && !/\.tsx?$|^tsconfig\.json$|^[^.]+$/.test(name)) return;
    clearTimeout(timer);
    timer = setTimeout(build, SETTLE_MS);
  };
  /** Watches the folder with its subfolders, except package folders and hidden ones. */
  const watchFolders = (at: string): void => {
    if (!watchers.has(at)) {
      const watcher = watch(at, (_event, name) => schedule(name));
      watcher.on("error", () => {
        watcher.close();
        watchers.delete(at);
      });
      watchers.set(at, watcher);
    }
    for (const entry of readdirSync(at, { withFileTypes: true })) {
      if (entry.isDirectory() && !entry.name.startsWith(".") && entry.name !== "node_modules")
        watchFolders(join(at, entry.name));
    }
  };
  build();
  return {
    close: () => {
      clearTimeout(timer);
      for (const watcher of watchers.values()) watcher.close();
    },
  };
}
