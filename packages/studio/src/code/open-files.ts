import type { SourceFile } from "../api/types.js";

/** A file that the user has opened. */
export interface OpenFile {
  readonly path: string;
  /** The revision that the user's text is based on. */
  revision: string;
  /** The text of that revision. */
  saved: string;
  /** The user's text. */
  text: string;
  /** The revision on the server, if somebody else saved another one. */
  conflict: string | undefined;
}

/** The files with the user's changes. A check gets all of them, because a change in one file may break another. */
export class OpenFiles {
  readonly #files = new Map<string, OpenFile>();

  get(path: string): OpenFile | undefined {
    return this.#files.get(path);
  }

  open({ path, text, revision }: SourceFile): OpenFile {
    const file = { path, revision, saved: text, text, conflict: undefined };
    this.#files.set(path, file);
    return file;
  }

  close(path: string): void {
    this.#files.delete(path);
  }

  clear(): void {
    this.#files.clear();
  }

  isChanged(path: string): boolean {
    const file = this.#files.get(path);
    return file !== undefined && file.text !== file.saved;
  }

  get hasChanges(): boolean {
    return [...this.#files.keys()].some((path) => this.isChanged(path));
  }

  /** The texts that differ from the folder, by path. */
  changed(): Record<string, string> {
    const texts: Record<string, string> = {};
    for (const { path, text } of this.#files.values()) if (this.isChanged(path)) texts[path] = text;
    return texts;
  }

  /** The server has this revision of a file. Returns true if the file must be read again, because the user has not changed it. */
  listed(path: string, revision: string): boolean {
    const file = this.#files.get(path);
    if (!file || file.revision === revision) return false;
    if (!this.isChanged(path)) return true;
    file.conflict = revision;
    return false;
  }

  stored(path: string, text: string, revision: string): void {
    const file = this.#files.get(path);
    if (!file) return;
    file.saved = text;
    file.revision = revision;
    file.conflict = undefined;
  }
}
