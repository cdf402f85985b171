import type { EditorState } from "@codemirror/state";
import { StudioError } from "../api/studio-api.js";
import type { Diagnostic, LogLine, SourceFolder } from "../api/types.js";
import type { Context, Tab } from "../context.js";
import { button, make, setText } from "../dom.js";
import { Poll } from "../poll.js";
import { Editor } from "./editor.js";
import { namesOf } from "./luau.js";
import { type FileNote, notesAfter } from "./notes.js";
import { OpenFiles } from "./open-files.js";

/** A check begins this long after the last key. */
const TYPING_MS = 350;
const FOLDER_INTERVAL_MS = 3_000;
const NOTES_MAX = 200;

/** The files of the world's folder, with mistakes, errors and printed lines beside the lines that caused them. */
export class CodeTab implements Tab {
  readonly panel = make("div", { class: "code-tab" });
  readonly #context: Context;
  readonly #editor: Editor;
  readonly #files = new OpenFiles();
  readonly #kept = new Map<string, EditorState>();
  readonly #list = make("ul");
  readonly #about = make("p", { class: "muted" });
  readonly #title = make("b", {}, "no file");
  readonly #status = make("span", { class: "muted", role: "status" });
  readonly #save = button("Save", () => this.#store(), { class: "primary", disabled: true, title: "Ctrl+S" });
  readonly #conflict = make("div", { class: "conflict row", role: "alert", hidden: true });
  readonly #problems = make("ul");
  readonly #poll: Poll;
  #folder: SourceFolder | undefined;
  #world: string | undefined;
  #room: string | undefined;
  #path: string | undefined;
  #names: readonly string[] = [];
  #notes: readonly FileNote[] = [];
  #diagnostics: readonly Diagnostic[] = [];
  #typing: ReturnType<typeof setTimeout> | undefined;
  #checks = 0;
  #opens = 0;
  #ready: Promise<void> = Promise.resolve();

  constructor(context: Context) {
    this.#context = context;
    this.#editor = new Editor({
      changed: () => this.#typed(),
      save: () => void this.#store(),
      names: () => this.#names,
    });
    context.jumps.code = (file, line) => void this.#jump(file, line);
    const failed = (error: unknown) => void context.attempt(() => Promise.reject(error));
    this.#poll = new Poll(() => this.#readFolder(), FOLDER_INTERVAL_MS, failed);
    context.log.listen((lines) => this.#addNotes(lines));
    window.addEventListener("beforeunload", (event) => {
      if (this.#files.hasChanges) event.preventDefault();
    });
    this.panel.append(
      make(
        "nav",
        { class: "files", "aria-label": "Files" },
        this.#about,
        this.#list,
        context.session.role === "editor" ? button("New file", () => this.#create()) : undefined,
      ),
      make(
        "section",
        { class: "editing", "aria-label": "Editor" },
        make("div", { class: "bar row" }, this.#title, this.#save, this.#status),
        this.#conflict,
        this.#editor.element,
        make("div", { class: "problems", role: "region", "aria-label": "Problems" }, this.#problems),
      ),
    );
  }

  shown(): void {
    const { world, room } = this.#context;
    if (room !== this.#room) {
      this.#room = room;
      this.#notes = [];
      this.#addNotes(this.#context.log.lines);
    }
    if (world !== this.#world) this.#ready = this.#openWorld(world);
    this.#poll.start();
  }

  hidden(): void {
    this.#poll.stop();
  }

  async #openWorld(world: string | undefined): Promise<void> {
    this.#world = world;
    this.#files.clear();
    this.#kept.clear();
    this.#path = undefined;
    const opens = this.#opens;
    if (world === undefined) return setText(this.#about, "no world is open");
    await this.#context.attempt(async () => {
      await this.#readFolder();
      const { files } = await this.#context.api.types(world);
      this.#names = namesOf(Object.values(files).join("\n"));
    });
    const first = this.#folder?.files.find(({ path }) => /^world\.(?:luau|ts)$/.test(path));
    // A file that the user chose meanwhile stays open.
    if (first && opens === this.#opens && world === this.#world) await this.#open(first.path);
  }

  async #readFolder(): Promise<void> {
    const world = this.#world;
    if (world === undefined) return;
    const folder = await this.#context.api.files(world);
    if (world !== this.#world) return;
    const isNew = JSON.stringify(folder) !== JSON.stringify(this.#folder);
    this.#folder = folder;
    if (!isNew) return;
    for (const { path, revision } of folder.files) {
      if (this.#files.listed(path, revision)) await this.#readAgain(path);
    }
    const state = folder.writable
      ? `rules ${folder.version ?? "none"}`
      : `read-only: ${folder.why ?? "no folder"}`;
    setText(this.#about, `${world}, ${state}`);
    this.#showFiles();
    this.#showConflict();
  }

  async #readAgain(path: string): Promise<void> {
    const file = await this.#context.api.file(this.#world!, path);
    this.#files.open(file);
    this.#kept.delete(path);
    if (path === this.#path) this.#show(path);
  }

  #showFiles(): void {
    const focused = this.#list.contains(document.activeElement)
      ? document.activeElement?.textContent
      : undefined;
    this.#list.replaceChildren(
      ...(this.#folder?.files ?? [])
        .filter(({ text }) => text)
        .map(({ path }) => {
          const isCurrent = path === this.#path ? "true" : undefined;
          const label = this.#files.isChanged(path) ? `${path}, not saved` : path;
          const open = button(path, () => this.#open(path), {
            "aria-current": isCurrent,
            "aria-label": label,
          });
          return make("li", { class: this.#files.isChanged(path) ? "unsaved" : "" }, open);
        }),
    );
    // At once: the list may be shown again in the same task, and would not find a focus that comes later.
    const buttons = [...this.#list.querySelectorAll("button")];
    if (focused) buttons.find(({ textContent }) => textContent === focused)?.focus();
  }

  async #open(path: string, line?: number): Promise<void> {
    const world = this.#world;
    if (world === undefined) return;
    this.#opens += 1;
    const opens = this.#opens;
    await this.#context.attempt(async () => {
      if (!this.#files.get(path)) {
        const file = await this.#context.api.file(world, path);
        if (world !== this.#world) return;
        this.#files.open(file);
      }
      // The file that was chosen last is shown.
      if (opens !== this.#opens) return;
      if (this.#path !== undefined) this.#kept.set(this.#path, this.#editor.keep());
      this.#show(path);
      if (line !== undefined) this.#editor.goTo(line);
      await this.#check();
    });
  }

  #show(path: string): void {
    this.#path = path;
    const isReadOnly = this.#context.session.role !== "editor" || this.#folder?.writable !== true;
    this.#editor.open(path, this.#files.get(path)!.text, isReadOnly, this.#kept.get(path));
    setText(this.#title, path);
    this.#showFiles();
    this.#showConflict();
    this.#showNotes();
    this.#showState();
  }

  async #jump(file: string, line: number): Promise<void> {
    await this.#ready;
    await this.#open(file, line);
  }

  #typed(): void {
    const file = this.#path === undefined ? undefined : this.#files.get(this.#path);
    if (!file) return;
    file.text = this.#editor.text;
    this.#showState();
    clearTimeout(this.#typing);
    this.#typing = setTimeout(() => void this.#context.attempt(() => this.#check()), TYPING_MS);
  }

  #showState(): void {
    const isChanged = this.#path !== undefined && this.#files.isChanged(this.#path);
    if (this.#save.disabled === isChanged) {
      this.#save.disabled = !isChanged;
      this.#showFiles();
    }
  }

  async #check(): Promise<void> {
    const world = this.#world;
    if (world === undefined) return;
    this.#checks += 1;
    const check = this.#checks;
    const { diagnostics } = await this.#context.api.check(world, this.#files.changed());
    // A later check has begun.
    if (check !== this.#checks) return;
    this.#editor.mark(diagnostics.filter(({ file }) => file === this.#path));
    this.#diagnostics = diagnostics;
    this.#showProblems();
  }

  /** Shows the mistakes of the text, then the errors of the running rules. */
  #showProblems(): void {
    const errors = runtimeErrors(this.#notes, this.#diagnostics);
    setText(this.#status, summaryOf(this.#diagnostics, errors.length));
    this.#problems.replaceChildren(
      ...[...this.#diagnostics, ...errors].map(({ file, line, severity, message }) =>
        make(
          "li",
          {},
          button(`${file}:${line} ${message}`, () => this.#open(file, line), { class: severity }),
        ),
      ),
    );
  }

  async #store(revisionOfOther?: string): Promise<void> {
    const [world, path] = [this.#world, this.#path];
    const file = path === undefined ? undefined : this.#files.get(path);
    if (world === undefined || path === undefined || !file) return;
    const { text } = file;
    try {
      const { revision } = await this.#context.api.save(world, path, text, revisionOfOther ?? file.revision);
      this.#files.stored(path, text, revision);
      this.#notes = this.#notes.filter(({ type }) => type !== "error");
      this.#showNotes();
      this.#context.say(`${path} is saved`);
    } catch (error) {
      if (!(error instanceof StudioError) || error.code !== "changed") {
        await this.#context.attempt(() => Promise.reject(error));
        return;
      }
      file.conflict = error.revision;
      if (error.revision === undefined) this.#context.say("somebody deleted the file", "problem");
    }
    this.#showConflict();
    this.#showState();
  }

  #showConflict(): void {
    const file = this.#path === undefined ? undefined : this.#files.get(this.#path);
    const conflict = file?.conflict;
    this.#conflict.hidden = conflict === undefined;
    if (!file || conflict === undefined) return;
    this.#conflict.replaceChildren(
      make("span", {}, "Somebody else saved this file after you opened it."),
      button("Overwrite", () => this.#store(conflict)),
      button("Load theirs", () => this.#loadTheirs(file.path)),
    );
  }

  async #loadTheirs(path: string): Promise<void> {
    await this.#context.attempt(async () => {
      const file = await this.#context.api.file(this.#world!, path);
      this.#files.open(file);
      // One undoable step, so that the user's own text is not lost.
      this.#editor.replace(file.text);
      this.#showConflict();
      this.#showState();
    });
  }

  async #create(): Promise<void> {
    const world = this.#world;
    const path = window.prompt("Path of the new file, such as lib/goals.luau")?.trim();
    if (world === undefined || !path) return;
    await this.#context.attempt(async () => {
      await this.#context.api.create(world, path, "");
      await this.#readFolder();
      await this.#open(path);
    });
  }

  #addNotes(lines: readonly LogLine[]): void {
    this.#notes = notesAfter(this.#notes, lines).slice(-NOTES_MAX);
    this.#showNotes();
  }

  #showNotes(): void {
    this.#showProblems();
    if (this.#path === undefined) return;
    this.#editor.note(this.#notes.filter(({ file }) => file === this.#path));
  }
}

type Problem = Pick<Diagnostic, "file" | "line" | "severity" | "message">;

/** The newest error of the running rules at each line that has no mistake. */
function runtimeErrors(notes: readonly FileNote[], diagnostics: readonly Diagnostic[]): readonly Problem[] {
  const placeOf = ({ file, line }: Pick<Problem, "file" | "line">): string => `${file}:${line}`;
  const mistakes = new Set(diagnostics.filter(({ severity }) => severity === "error").map(placeOf));
  const errors = new Map<string, Problem>();
  for (const note of notes) {
    if (note.type !== "error" || mistakes.has(placeOf(note))) continue;
    const { file, line, text } = note;
    errors.set(placeOf(note), { file, line, severity: "error", message: text });
  }
  return [...errors.values()];
}

/** The numbers of mistakes, warnings and errors of the running rules in words. */
function summaryOf(diagnostics: readonly Diagnostic[], runtimeErrors: number): string {
  const numberOf = (severity: Diagnostic["severity"]): number =>
    diagnostics.filter((diagnostic) => diagnostic.severity === severity).length;
  const counts = [
    [numberOf("error"), "mistake"],
    [numberOf("warning"), "warning"],
    [runtimeErrors, "runtime error"],
  ] as const;
  const found = counts.filter(([count]) => count > 0);
  if (found.length === 0) return "no mistakes";
  return found.map(([count, word]) => (count === 1 ? `1 ${word}` : `${count} ${word}s`)).join(", ");
}
