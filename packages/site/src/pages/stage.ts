/**
 * Writes the pages of the site into one folder, from files of the repository. Links between files become links between
 * pages. A link to a file or folder that is not a page leads to a page that shows it, so every link works without a network.
 * A link that leads nowhere is an error.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { anchorsOf, NOT_RUN, outsideCode, withLanguageSwitch, withLinks } from "./markdown.js";
import { childrenOf, filesOfRepository, ROOT, readRepositoryFile, targetOf } from "./repository.js";
import { HOME, PAGES, type Page } from "./site-map.js";

/** Files that the site serves unchanged. */
const COPIED = /\.(?:png|jpe?g|svg|html|json)$/;

export interface Staged {
  /** The text of every page, by its path in the folder. */
  readonly pages: ReadonlyMap<string, string>;
  /** Files of the repository that are served unchanged, by their paths on the site. */
  readonly copies: ReadonlyMap<string, string>;
  readonly problems: readonly string[];
}

/** Empties `folder`, and writes all pages into it. Throws if a link leads nowhere. */
export function stagePages(folder: string): Staged {
  const staged = makePages();
  if (staged.problems.length > 0) throw new Error(`broken pages:\n  ${staged.problems.join("\n  ")}`);
  rmSync(folder, { recursive: true, force: true });
  for (const [path, text] of staged.pages) write(join(folder, path), text);
  for (const [path, file] of staged.copies) {
    mkdirSync(dirname(join(folder, "public", path)), { recursive: true });
    cpSync(join(ROOT, file), join(folder, "public", path));
  }
  return staged;
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

export function makePages(): Staged {
  return new Stage().run();
}

class Stage {
  readonly #files = filesOfRepository();
  readonly #addresses = new Map<string, string>();
  readonly #pages = new Map<string, string>();
  readonly #copies = new Map([["favicon.svg", "packages/viewer/public/favicon.svg"]]);
  readonly #problems: string[] = [];
  /** Files and folders that are shown because a page links to them. */
  readonly #shown: string[] = [];
  #anchors = new Map<string, ReadonlySet<string>>();

  run(): Staged {
    this.#addresses.set(HOME, "index");
    for (const { file, address } of PAGES) this.#addresses.set(file, address);
    this.#page("index.md", HOME, readRepositoryFile(HOME));
    for (const page of PAGES) this.#page(`${page.address}.md`, page.file, this.#text(page));
    for (let path = this.#shown.pop(); path !== undefined; path = this.#shown.pop()) this.#show(path);
    return { pages: this.#pages, copies: this.#copies, problems: this.#problems };
  }

  #text({ file, title }: Page): string {
    const text = readRepositoryFile(file);
    return file.endsWith(".md") ? text : `# ${title}\n\n${codeBlock(file, text)}`;
  }

  #page(path: string, file: string, text: string): void {
    const linked = withLinks(withMentions(text, this.#files), (target) => this.#link(file, target));
    this.#pages.set(path, withLanguageSwitch(outsideCode(linked, showReason)));
  }

  #link(file: string, target: string): string {
    if (/^[a-z]+:/.test(target)) return target;
    const [path, anchor] = target.split("#", 2) as [string, string | undefined];
    const linked = path === "" ? file : path.startsWith("/") ? path.slice(1) : targetOf(file, path);
    const suffix = anchor === undefined ? "" : `#${anchor}`;
    if (anchor !== undefined && linked.endsWith(".md") && this.#files.has(linked)) {
      if (!this.#anchorsOf(linked).has(anchor))
        this.#problems.push(`${file}: ${linked} has no heading #${anchor}`);
    }
    if (path === "") return suffix;
    const address = this.#addresses.get(linked) ?? this.#addresses.get(`${linked}/README.md`);
    if (address !== undefined) return `/${address.replace(/(^|\/)index$/, "$1")}${suffix}`;
    if (this.#files.has(linked) && COPIED.test(linked)) {
      this.#copies.set(`files/${linked}`, linked);
      return `/files/${linked}`;
    }
    const isFolder = childrenOf(linked, this.#files).length > 0;
    if (!this.#files.has(linked) && !isFolder) {
      this.#problems.push(`${file}: ${target} is not there`);
      return target;
    }
    this.#shown.push(linked);
    return `/source/${sourceAddress(linked)}${suffix}`;
  }

  #anchorsOf(file: string): ReadonlySet<string> {
    const known = this.#anchors.get(file) ?? anchorsOf(readRepositoryFile(file));
    this.#anchors.set(file, known);
    return known;
  }

  /** A line of the list of a folder. Files below a folder of the list are left out, except the one that explains the folder. */
  #child(path: string, child: string): string {
    if (!child.endsWith("/")) return `[${child}](${this.#link("", `${path}/${child}`)})`;
    const folder = `${path}/${child.slice(0, -1)}`;
    const main = MAIN_FILES.map((name) => `${folder}/${name}`).find((file) => this.#files.has(file));
    return main === undefined ? `\`${child}\`` : `[${child}](${this.#link("", main)})`;
  }

  /** The page that shows a file or folder which is not a page itself. */
  #show(path: string): void {
    const page = `source/${sourceAddress(path)}.md`;
    if (this.#pages.has(page)) return;
    if (!this.#files.has(path)) {
      const lines = childrenOf(path, this.#files).map((child) => `- ${this.#child(path, child)}`);
      this.#pages.set(page, `# ${path}/\n\nThis folder of the repository has:\n\n${lines.join("\n")}\n`);
      return;
    }
    const text = readFileSync(join(ROOT, path));
    if (path.endsWith(".md")) {
      this.#page(page, path, text.toString("utf8"));
      return;
    }
    const isText = !text.includes(0) && text.length < 200_000;
    const body = isText ? codeBlock(path, text.toString("utf8")) : `A file of ${text.length} bytes.\n`;
    this.#pages.set(page, `# ${path}\n\n${body}`);
  }
}

/** The file that explains a folder. */
const MAIN_FILES = ["README.md", "world.luau", "src/lib.rs", "index.ts", "mod.rs"];

/** Addresses have no dots, because the site would take the part after a dot for the suffix of a file. */
function sourceAddress(path: string): string {
  return path.replace(/\./g, "-");
}

const LANGUAGES: Readonly<Record<string, string>> = {
  ts: "ts",
  mjs: "js",
  js: "js",
  rs: "rust",
  luau: "lua",
  py: "python",
  toml: "toml",
  json: "json",
  html: "html",
  css: "css",
};

function codeBlock(path: string, text: string): string {
  const suffix = path.slice(path.lastIndexOf(".") + 1);
  return `~~~~${LANGUAGES[suffix] ?? "text"}\n${text.trimEnd()}\n~~~~\n`;
}

/** Turns each name of a page in code marks, such as `docs/how-to/server.md`, into a link. */
function withMentions(text: string, files: ReadonlySet<string>): string {
  return outsideCode(text, (line) =>
    line.replace(/(?<!\[)`((?:docs|spec|packages|examples)\/[\w./-]+\.md)`(?!\])/g, (whole, path: string) =>
      files.has(path) ? `[${whole}](/${path})` : whole,
    ),
  );
}

/** Shows the reason why a block of code does not run in CI. */
function showReason(line: string): string {
  const reason = NOT_RUN.exec(line.trim())?.[1];
  return reason === undefined ? line : `<p class="not-run">Not run in CI: ${reason}</p>\n`;
}
