/** The compiler of one world: from the TypeScript files of its folder to modules in Luau. */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import type ts from "typescript";
import type * as tstl from "typescript-to-lua";
import { BuildError } from "./error.js";
import type { Module } from "./module.js";
import { moduleText } from "./output.js";
import { refusals } from "./refused.js";

/** The result of a compilation: modules if there is no error. */
export interface Compiled {
  readonly modules: readonly Module[];
  /** Errors in the form of `tsc`, each with file, line and column. */
  readonly errors: readonly string[];
}

/** A file of the program, and the text from which it was read. */
interface Known {
  readonly text: string;
  readonly file: ts.SourceFile;
}

/**
 * Compiles a world again and again. Only files that changed, and files that depend on their declarations, are checked and
 * translated again.
 *
 * ```ts
 * const compiled = new WorldCompiler("my-world").compile();
 * for (const error of compiled.errors) console.error(error);
 * ```
 */
export class WorldCompiler {
  readonly folder: string;
  readonly #ts: typeof ts;
  readonly #tstl: typeof tstl;
  readonly #known = new Map<string, Known>();
  #builder: ts.SemanticDiagnosticsBuilderProgram | undefined;
  /** The options of the builder and of the modules. */
  #options = "";
  /** The modules of the files that neither changed nor import a changed declaration, by the name of the file. */
  readonly #modules = new Map<string, Module>();
  #texts = new Map<string, string | undefined>();

  /** Throws a `BuildError` if the folder is not a world in TypeScript, or if the compiler is not installed. */
  constructor(folder: string) {
    this.folder = resolve(folder);
    if (!existsSync(join(this.folder, "tsconfig.json"))) {
      throw new BuildError(
        `${folder} has no tsconfig.json, so it is not a world in TypeScript: nowcast new DIR --typescript makes one.`,
      );
    }
    [this.#ts, this.#tstl] = loadCompiler([join(this.folder, "package.json"), import.meta.url]);
  }

  /** Compiles all files of the folder, as they are now. */
  compile(): Compiled {
    this.#texts = new Map();
    const config = this.#readConfig();
    const builder = this.#build(config);
    const program = builder.getProgram();
    const errors = [
      ...config.errors,
      ...builder.getOptionsDiagnostics(),
      ...builder.getSyntacticDiagnostics(),
      ...builder.getGlobalDiagnostics(),
      ...builder.getSemanticDiagnostics(),
    ];
    const files = program
      .getSourceFiles()
      .filter((file) => this.#isOfWorld(file.fileName) && !file.isDeclarationFile);
    const changed = files.filter((file) => !this.#modules.has(file.fileName));
    for (const { file, start, length, message } of changed.flatMap((file) =>
      refusals(this.#ts, program, file),
    )) {
      errors.push({
        category: this.#ts.DiagnosticCategory.Error,
        code: 0,
        file,
        start,
        length,
        messageText: message,
      });
    }
    // A program that fails in the middle of a compilation is not reused.
    this.#builder = builder;
    if (errors.length > 0) return { modules: [], errors: this.#describe(errors) };
    const refused = this.#translate(program, changed);
    if (refused.length > 0) return { modules: [], errors: this.#describe(refused) };
    return { modules: files.flatMap((file) => this.#modules.get(file.fileName) ?? []), errors: [] };
  }

  /** Checks the files that changed, and forgets their modules. */
  #build(config: ts.ParsedCommandLine): ts.SemanticDiagnosticsBuilderProgram {
    const ts = this.#ts;
    const options = JSON.stringify(config.options);
    let before = this.#builder;
    this.#builder = undefined;
    if (options !== this.#options || before === undefined) {
      this.#options = options;
      this.#modules.clear();
      before = undefined;
    }
    const host = this.#host(config.options);
    const builder = ts.createSemanticDiagnosticsBuilderProgram(
      config.fileNames,
      config.options,
      host,
      before,
    );
    for (;;) {
      const next = builder.getSemanticDiagnosticsOfNextAffectedFile();
      if (next === undefined) return builder;
      if ("fileName" in next.affected) this.#modules.delete(next.affected.fileName);
      else this.#modules.clear();
    }
  }

  /** Makes the modules of these files. Returns the errors. If there are errors, keeps none of the modules. */
  #translate(program: ts.Program, sourceFiles: ts.SourceFile[]): readonly ts.Diagnostic[] {
    if (sourceFiles.length === 0) return [];
    const { diagnostics, transpiledFiles } = this.#tstl.getProgramTranspileResult(
      this.#ts.sys,
      () => undefined,
      {
        program,
        sourceFiles,
      },
    );
    const refused = diagnostics.filter((found) => found.category === this.#ts.DiagnosticCategory.Error);
    if (refused.length > 0) return refused;
    const files = new Map(sourceFiles.map((file) => [resolve(file.fileName), file.fileName]));
    for (const file of transpiledFiles) {
      const name = files.get(resolve(file.fileName));
      if (name !== undefined) this.#modules.set(name, this.#module(file));
    }
    return [];
  }

  #module({ fileName, code, sourceMap }: tstl.ProcessedFile): Module {
    const source = relative(this.folder, fileName).split(sep).join("/");
    const text = this.#known.get(fileName.split(sep).join("/"))?.text ?? "";
    return {
      path: source.replace(/\.tsx?$/, ".luau"),
      source,
      text: moduleText(basename(source), text, plainNames(code ?? ""), sourceMap ?? '{"mappings":""}'),
    };
  }

  #readConfig(): ts.ParsedCommandLine {
    const ts = this.#ts;
    const path = join(this.folder, "tsconfig.json");
    const { config, error } = ts.readConfigFile(path, ts.sys.readFile);
    const parsed = ts.parseJsonConfigFileContent(config ?? {}, ts.sys, this.folder, undefined, path);
    const options: tstl.CompilerOptions = {
      ...parsed.options,
      noEmit: false,
      noEmitOnError: false,
      incremental: false,
      composite: false,
      declaration: false,
      inlineSourceMap: false,
      sourceMap: true,
      rootDir: this.folder,
      outDir: this.folder,
      luaTarget: this.#tstl.LuaTarget.Luau,
      // Every module contains the functions of the compiler that it uses, so a world has no other modules than its own.
      luaLibImport: this.#tstl.LuaLibImportKind.Inline,
      noImplicitSelf: true,
      noHeader: true,
    };
    const errors = error === undefined ? parsed.errors : [error, ...parsed.errors];
    return { ...parsed, options: options as ts.CompilerOptions, errors };
  }

  /** Reads files once in a compilation, and parses them again only if their text changed. */
  #host(options: ts.CompilerOptions): ts.CompilerHost {
    const host = this.#ts.createCompilerHost(options);
    const read = (path: string) => {
      if (!this.#texts.has(path)) this.#texts.set(path, this.#ts.sys.readFile(path));
      return this.#texts.get(path);
    };
    const parse = host.getSourceFile.bind(host);
    host.readFile = read;
    host.getCurrentDirectory = () => this.folder;
    host.getSourceFile = (path, languageVersion, onError) => {
      const known = this.#known.get(path);
      // The files of packages do not change while a world is written.
      if (known !== undefined && !this.#isOfWorld(path)) return known.file;
      const text = read(path);
      if (text === undefined || known?.text === text) return known?.file;
      const file = parse(path, languageVersion, onError);
      if (file !== undefined) this.#known.set(path, { text, file: Object.assign(file, { version: text }) });
      return file;
    };
    return host;
  }

  #isOfWorld(path: string): boolean {
    const inside = relative(this.folder, path).split(sep);
    return inside[0] !== ".." && !inside.includes("node_modules");
  }

  #describe(diagnostics: readonly ts.Diagnostic[]): string[] {
    return diagnostics.map((found) => {
      const text = this.#ts.flattenDiagnosticMessageText(found.messageText, "\n");
      if (found.file === undefined || found.start === undefined) return text;
      const { line, character } = found.file.getLineAndCharacterOfPosition(found.start);
      return `${relative(process.cwd(), found.file.fileName)}:${line + 1}:${character + 1}: ${text}`;
    });
  }
}

/**
 * Removes the mark that the compiler puts before names of the server's modules. Modules of the world keep the relative
 * names of `import`.
 */
function plainNames(code: string): string {
  return code.replaceAll('require("@NoResolution:', 'require("');
}

/** Loads the compilers from the first of these places that has them: the world's folder, or else this package. */
export function loadCompiler(places: readonly string[]): [typeof ts, typeof tstl] {
  for (const place of places) {
    let path: string;
    try {
      path = createRequire(place).resolve("typescript-to-lua");
    } catch {
      continue;
    }
    try {
      const require = createRequire(path);
      return [require("typescript") as typeof ts, require(path) as typeof tstl];
    } catch (error) {
      throw new BuildError(
        `${dirname(path)} cannot be loaded (${(error as Error).message}): run npm install again.`,
      );
    }
  }
  throw new BuildError(
    "typescript-to-lua is not installed, so nothing was compiled: run npm install in the world's folder.",
  );
}
