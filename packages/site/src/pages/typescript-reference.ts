/** The reference of the TypeScript SDK, from the entries of its package and their comments. */
import { join } from "node:path";
import ts from "typescript";
import { ROOT, readRepositoryFile } from "./repository.js";

/** Folder and name of each package, in the order of the page. */
const PACKAGES = {
  nowcast: "nowcast",
  react: "@nowcast/react",
  three: "@nowcast/three",
  page: "@nowcast/page",
};
/** The longest type of a member that the page shows in full. */
const TYPE_CHARS_MAX = 200;
/** The longest signature or type of an export that the page shows in full. */
const SIGNATURE_CHARS_MAX = 600;
const FORMAT = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.UseAliasDefinedOutsideCurrentScope;

interface Manifest {
  readonly exports: Readonly<Record<string, { readonly types: string }>>;
}

const INTRODUCTION = `# TypeScript SDK

Every name that the packages \`nowcast\`, \`@nowcast/react\`, \`@nowcast/three\` and \`@nowcast/page\` export, by import. The guides are
[Use the TypeScript SDK](../how-to/sdk.md), [React](../how-to/react.md), [three.js](../how-to/three.md) and [Build a page of parts](../how-to/page-parts.md).
Descriptions are first sentences; your editor shows the whole comments. Entries \`internal\` belong to Nowcast's own packages.
`;

/** One heading for each entry, such as `nowcast/world`, and one below it for each name that the entry exports. */
export function typescriptReference(): string {
  const entries = Object.entries(PACKAGES).flatMap(([folder, name]) => {
    const manifest = JSON.parse(readRepositoryFile(`packages/${folder}/package.json`)) as Manifest;
    return Object.entries(manifest.exports)
      .filter(([entry]) => entry !== "./internal")
      .map(([entry, { types }]) => ({
        name: `${name}${entry.slice(1)}`,
        file: join(ROOT, "packages", folder, types.replace("./dist/", "src/").replace(/\.d\.ts$/, ".ts")),
      }));
  });
  const { config } = ts.readConfigFile(join(ROOT, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const program = ts.createProgram(
    entries.map(({ file }) => file),
    options,
  );
  const reference = new Reference(program.getTypeChecker());
  const parts = entries.map(({ name, file }) => reference.entry(name, program.getSourceFile(file)!));
  return `${[INTRODUCTION, ...parts].join("\n").trimEnd()}\n`;
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
      return `${head}${this.#members(symbol, declaration)}`;
    }
    return `${head}\`${cut(this.#signature(name, symbol, declaration), SIGNATURE_CHARS_MAX)}\`\n`;
  }

  #signature(name: string, symbol: ts.Symbol, declaration: ts.Declaration): string {
    if (ts.isTypeAliasDeclaration(declaration))
      return onOneLine(declaration.getText()).replace("export ", "");
    const type = this.#checker.getTypeOfSymbolAtLocation(symbol, declaration);
    const calls = type.getCallSignatures();
    if (calls.length === 0) return `const ${name}: ${this.#checker.typeToString(type, undefined, FORMAT)}`;
    return calls
      .map((call) => shortened(`function ${name}${this.#checker.signatureToString(call, undefined, FORMAT)}`))
      .join("; ");
  }

  /** A list of the public members: their types, and the first sentence of their comments. */
  #members(symbol: ts.Symbol, declaration: ts.InterfaceDeclaration | ts.ClassDeclaration): string {
    const statics = ts.isClassDeclaration(declaration) ? [...(symbol.exports?.values() ?? [])] : [];
    const instance = this.#checker
      .getDeclaredTypeOfSymbol(symbol)
      .getProperties()
      .filter((member) => member.declarations?.some(({ parent }) => parent === declaration));
    const members = [
      ...statics
        .filter((member) => member.name !== "prototype")
        .map((member) => this.#member("static ", member)),
      ...instance.map((member) => this.#member("", member)),
    ].filter((member) => member !== undefined);
    if (members.length === 0) return `\`${cut(onOneLine(declaration.getText()), SIGNATURE_CHARS_MAX)}\`\n`;
    const plain = members.filter(({ doc }) => doc === "").map(({ text }) => `\`${text}\``);
    const lines = members.filter(({ doc }) => doc !== "").map(({ text, doc }) => `- \`${text}\` ${doc}\n`);
    return lines.join("") + (plain.length === 0 ? "" : `- ${plain.join(", ")}\n`);
  }

  #member(prefix: string, member: ts.Symbol): { text: string; doc: string } | undefined {
    const declaration = member.declarations?.[0];
    const isHidden =
      declaration === undefined ||
      isInternal(member) ||
      member.name.startsWith("__") ||
      (ts.isPropertyDeclaration(declaration) && ts.isPrivateIdentifier(declaration.name));
    if (isHidden || member.name.startsWith("#")) return undefined;
    const type = this.#checker.getTypeOfSymbolAtLocation(member, declaration);
    const optional = member.flags & ts.SymbolFlags.Optional ? "?" : "";
    const calls = optional === "" ? type.getCallSignatures() : [];
    const text =
      calls.length > 0
        ? calls.map((call) => this.#checker.signatureToString(call, undefined, FORMAT)).join("; ")
        : `${optional}: ${this.#checker.typeToString(type, undefined, FORMAT)}`;
    return { text: cut(`${prefix}${member.name}${shortened(text)}`, TYPE_CHARS_MAX), doc: this.#doc(member) };
  }

  #doc(symbol: ts.Symbol): string {
    const text = ts.displayPartsToString(symbol.getDocumentationComment(this.#checker));
    const plain = text.replace(/\{@link ([^}]*)\}/g, "`$1`").replace(/<(?=\w)/g, "&lt;");
    return firstSentenceOf(plain.replace(/\s+/g, " ").trim());
  }
}

/** The text up to the first end of a sentence outside of code marks and brackets. */
function firstSentenceOf(text: string): string {
  return /^(?:`[^`]*`|\([^)]*\)|[^`(])*?[.:;](?= |$)/.exec(text)?.[0].replace(/[:;]$/, ".") ?? text;
}

/** A long type without its end. Editors show the whole type. */
function cut(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax)}…`;
}

function onOneLine(text: string): string {
  return text.replace(/\/\*\*.*?\*\//gs, "").replace(/\s+/g, " ");
}

/** A type without the parts that the compiler adds and no caller writes. */
function shortened(type: string): string {
  return onOneLine(type)
    .replaceAll("<ArrayBufferLike>", "")
    .replaceAll("<ArrayBuffer>", "")
    .replace(/\?: ([^,(){}]*) \| undefined/g, "?: $1");
}

function isInternal(symbol: ts.Symbol): boolean {
  return symbol.getJsDocTags().some(({ name }) => name === "internal");
}
