/** The reference of the TypeScript SDK, from the entries of its package and their comments. */
import { join } from "node:path";
import ts from "typescript";
import { ROOT, readRepositoryFile } from "./repository.js";

const PACKAGE = "packages/nowcast";
const FORMAT = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.UseAliasDefinedOutsideCurrentScope;

interface Manifest {
  readonly exports: Readonly<Record<string, { readonly types: string }>>;
}

/** One heading for each entry, such as `nowcast/world`, and one below it for each name that the entry exports. */
export function typescriptReference(): string {
  const manifest = JSON.parse(readRepositoryFile(`${PACKAGE}/package.json`)) as Manifest;
  const entries = Object.entries(manifest.exports).map(([name, { types }]) => ({
    name: `nowcast${name.slice(1)}`,
    file: join(ROOT, PACKAGE, types.replace("./dist/", "src/").replace(/\.d\.ts$/, ".ts")),
  }));
  const program = ts.createProgram(
    entries.map(({ file }) => file),
    {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      strict: true,
      skipLibCheck: true,
      types: ["node"],
      typeRoots: [join(ROOT, "node_modules/@types")],
      noEmit: true,
    },
  );
  const reference = new Reference(program.getTypeChecker());
  return entries.map(({ name, file }) => reference.entry(name, program.getSourceFile(file)!)).join("\n");
}

class Reference {
  readonly #checker: ts.TypeChecker;

  constructor(checker: ts.TypeChecker) {
    this.#checker = checker;
  }

  entry(name: string, file: ts.SourceFile): string {
    const module = this.#checker.getSymbolAtLocation(file);
    if (module === undefined) throw new Error(`${file.fileName} exports nothing`);
    const exported = this.#checker
      .getExportsOfModule(module)
      .map((symbol) => ({ name: symbol.name, symbol: this.#resolved(symbol) }))
      .filter(({ symbol }) => !isInternal(symbol))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    const parts = exported.map(({ name, symbol }) => this.#export(name, symbol));
    return `## ${name}\n\n${parts.join("\n")}`;
  }

  #resolved(symbol: ts.Symbol): ts.Symbol {
    return symbol.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(symbol) : symbol;
  }

  #export(name: string, symbol: ts.Symbol): string {
    const declaration = symbol.declarations?.[0];
    if (declaration === undefined) return "";
    const doc = this.#doc(symbol);
    const head = `### \`${name}\`\n\n${doc === "" ? "" : `${doc}\n\n`}`;
    if (ts.isInterfaceDeclaration(declaration) || ts.isClassDeclaration(declaration)) {
      return `${head}${this.#members(symbol, declaration)}\n`;
    }
    return `${head}~~~~ts\n${this.#signature(name, symbol, declaration)}\n~~~~\n`;
  }

  #signature(name: string, symbol: ts.Symbol, declaration: ts.Declaration): string {
    if (ts.isTypeAliasDeclaration(declaration)) return declaration.getText();
    const type = this.#checker.getTypeOfSymbolAtLocation(symbol, declaration);
    const calls = type.getCallSignatures();
    if (calls.length === 0) return `const ${name}: ${this.#checker.typeToString(type, undefined, FORMAT)}`;
    return calls
      .map((call) => `function ${name}${this.#checker.signatureToString(call, undefined, FORMAT)}`)
      .join("\n");
  }

  /** A table of the public members: their types, and the text of their comments. */
  #members(symbol: ts.Symbol, declaration: ts.InterfaceDeclaration | ts.ClassDeclaration): string {
    const statics = ts.isClassDeclaration(declaration) ? [...(symbol.exports?.values() ?? [])] : [];
    const instance = this.#checker
      .getDeclaredTypeOfSymbol(symbol)
      .getProperties()
      .filter((member) => member.declarations?.some(({ parent }) => parent === declaration));
    const rows = [
      ...statics
        .filter((member) => member.name !== "prototype")
        .map((member) => this.#row("static ", member)),
      ...instance.map((member) => this.#row("", member)),
    ].filter((row) => row !== undefined);
    if (rows.length === 0) return `~~~~ts\n${declaration.getText()}\n~~~~\n`;
    return `| member | type | description |\n| --- | --- | --- |\n${rows.join("\n")}\n`;
  }

  #row(prefix: string, member: ts.Symbol): string | undefined {
    const declaration = member.declarations?.[0];
    const isHidden =
      declaration === undefined ||
      isInternal(member) ||
      member.name.startsWith("__") ||
      (ts.isPropertyDeclaration(declaration) && ts.isPrivateIdentifier(declaration.name));
    if (isHidden || member.name.startsWith("#")) return undefined;
    const type = this.#checker.typeToString(
      this.#checker.getTypeOfSymbolAtLocation(member, declaration),
      undefined,
      FORMAT,
    );
    const optional = member.flags & ts.SymbolFlags.Optional ? "?" : "";
    const doc = this.#doc(member).replace(/\s+/g, " ").replace(/\|/g, "\\|");
    return `| \`${prefix}${member.name}${optional}\` | \`${type.replace(/\|/g, "\\|")}\` | ${doc} |`;
  }

  #doc(symbol: ts.Symbol): string {
    const text = ts.displayPartsToString(symbol.getDocumentationComment(this.#checker));
    return text.replace(/\{@link ([^}]*)\}/g, "`$1`").replace(/<(?=\w)/g, "&lt;");
  }
}

function isInternal(symbol: ts.Symbol): boolean {
  return symbol.getJsDocTags().some(({ name }) => name === "internal");
}
