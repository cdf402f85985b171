/** The reference of the TypeScript SDK, from the entries of its package and their comments. */
import { join } from "node:path";
import ts from "typescript";
import { filesOfRepository, ROOT, readRepositoryFile } from "./repository.js";

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

/** The pages that are named first, if they show a name. */
const GUIDES = ["sdk", "react", "three", "page-parts"].map((name) => `docs/how-to/${name}.md`);

const INTRODUCTION = `# TypeScript SDK

Every name that the packages \`nowcast\`, \`@nowcast/react\`, \`@nowcast/three\` and \`@nowcast/page\` export, by import. The guides are
[Use the TypeScript SDK](../how-to/sdk.md), [React](../how-to/react.md), [three.js](../how-to/three.md) and [Build a page of parts](../how-to/page-parts.md).
Descriptions are first sentences; your editor shows the whole comments. Each name has a page that shows it, or another name that uses it. Entries \`internal\` belong to Nowcast's own packages.
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
  const files = entries.map(({ name, file }) => ({ name, file: program.getSourceFile(file)! }));
  const reference = new Reference(program.getTypeChecker());
  for (const { file } of files) reference.add(file);
  reference.findPages();
  const parts = files.map(({ name, file }) => reference.entry(name, file));
  return `${[INTRODUCTION, ...parts].join("\n").trimEnd()}\n`;
}

/** The names in the code of a page: blocks, and words between backticks. */
function namesInCode(markdown: string): ReadonlySet<string> {
  const code = markdown.match(/^```[\s\S]*?^```|(`+)[^\n]+?\1/gm) ?? [];
  return new Set(code.flatMap((part) => part.match(/(?<![\w.])\w+/g) ?? []));
}

class Reference {
  readonly #checker: ts.TypeChecker;
  /** All exported names, and the text of their declarations. */
  readonly #declared = new Map<string, string>();
  /** For each name, the page that shows it, or the name that uses it. */
  readonly #shown = new Map<string, string>();

  constructor(checker: ts.TypeChecker) {
    this.#checker = checker;
  }

  /** Adds the names that an entry exports. */
  add(file: ts.SourceFile): void {
    for (const { name, symbol } of this.#exportsOf(file))
      this.#declared.set(name, symbol.declarations?.[0]?.getText() ?? "");
  }

  /** Finds the page that shows each name. A type that no page shows is part of a name that a page shows. */
  findPages(): void {
    const isPage = /^docs\/(how-to|tutorials|concepts)\/.*\.md$/;
    const others = [...filesOfRepository()].filter((file) => isPage.test(file)).sort();
    for (const file of new Set([...GUIDES, ...others])) {
      const text = readRepositoryFile(file);
      const title = /^# (.*)$/m.exec(text)?.[1] ?? file;
      for (const name of namesInCode(text)) {
        if (this.#declared.has(name) && !this.#shown.has(name))
          this.#shown.set(name, `Shown in [${title}](../${file.slice("docs/".length)}).`);
      }
    }
    for (const user of this.#shown.keys()) {
      for (const name of this.#declared.get(user)!.match(/\w+/g) ?? [])
        if (this.#declared.has(name) && !this.#shown.has(name)) this.#shown.set(name, `Used by \`${user}\`.`);
    }
  }

  entry(name: string, file: ts.SourceFile): string {
    const parts = this.#exportsOf(file).map(({ name, symbol }) => this.#export(name, symbol));
    return `## ${name}\n\n${parts.join("\n")}`;
  }

  #exportsOf(file: ts.SourceFile): readonly { readonly name: string; readonly symbol: ts.Symbol }[] {
    const module = this.#checker.getSymbolAtLocation(file);
    if (module === undefined) throw new Error(`${file.fileName} exports nothing`);
    return this.#checker
      .getExportsOfModule(module)
      .map((symbol) => ({ name: symbol.name, symbol: this.#resolved(symbol) }))
      .filter(({ symbol }) => !isInternal(symbol))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  #resolved(symbol: ts.Symbol): ts.Symbol {
    return symbol.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(symbol) : symbol;
  }

  #export(name: string, symbol: ts.Symbol): string {
    const declaration = symbol.declarations?.[0];
    if (declaration === undefined) return "";
    const about = `${this.#doc(symbol)} ${this.#shown.get(name) ?? "No page shows this name."}`.trim();
    const head = `### \`${name}\`\n\n${about}\n\n`;
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
      .filter((member) => member.declarations?.some((own) => this.#belongs(own.parent, declaration)));
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

  /** Whether a class or interface is `declaration`, or a base of it that the entries do not export. */
  #belongs(parent: ts.Node, declaration: ts.Node): boolean {
    if (parent === declaration) return true;
    if (!ts.isClassDeclaration(parent) || parent.name === undefined) return false;
    return parent.getSourceFile().fileName.includes("/packages/") && !this.#declared.has(parent.name.text);
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
