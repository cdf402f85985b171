import { type AssetEntry, AssetError, type Assets } from "./assets.js";

/** Maximum number of objects in a cache. */
const ENTRIES_MAX = 256;

interface Cached<T> {
  readonly loading: Promise<T | undefined>;
  value: T | undefined;
}

/**
 * Objects created from files. There is one object for each file, shared by all entities that show it. A file
 * that cannot be used is reported once, and tried again when the world's definition changes.
 */
export class AssetCache<T> {
  readonly #byHash = new Map<string, Cached<T>>();
  #isDisposed = false;
  readonly #assets: Assets;
  readonly #load: (entry: AssetEntry) => Promise<T>;
  readonly #release: (value: T) => void;
  readonly #report: (error: AssetError) => void;

  /** `load` creates a value from a file, `release` frees it, `report` receives each failure. */
  constructor(
    assets: Assets,
    load: (entry: AssetEntry) => Promise<T>,
    release: (value: T) => void,
    report: (error: AssetError) => void,
  ) {
    this.#assets = assets;
    this.#load = load;
    this.#release = release;
    this.#report = report;
  }

  /** Returns the object of this file; undefined while the file is not loaded. */
  peek(name: string): T | undefined {
    const entry = this.#assets.find(name);
    return entry && this.#byHash.get(entry.hash)?.value;
  }

  /** Loads a file, unless it is loaded already. Resolves to undefined if loading fails. */
  async get(name: string): Promise<T | undefined> {
    const entry = this.#assets.find(name);
    if (!entry) return this.#getMissing(name);
    const known = this.#byHash.get(entry.hash);
    if (known) return known.loading;
    if (this.#byHash.size >= ENTRIES_MAX) {
      this.#report(new AssetError(name, `more than ${ENTRIES_MAX} files of this sort are in use`));
      return undefined;
    }
    const cached: Cached<T> = { loading: this.#start(entry), value: undefined };
    this.#byHash.set(entry.hash, cached);
    return cached.loading;
  }

  /** Forgets failures, and frees objects of files that the current definition does not list. */
  define(): void {
    this.#missing.clear();
    for (const [hash, { value }] of this.#byHash) {
      if (value !== undefined && this.#assets.has(hash)) continue;
      this.#byHash.delete(hash);
      if (value !== undefined) this.#release(value);
    }
  }

  dispose(): void {
    this.#isDisposed = true;
    for (const { value } of this.#byHash.values()) if (value !== undefined) this.#release(value);
    this.#byHash.clear();
  }

  readonly #missing = new Set<string>();

  #getMissing(name: string): undefined {
    if (this.#missing.has(name) || this.#missing.size >= ENTRIES_MAX) return undefined;
    this.#missing.add(name);
    this.#report(new AssetError(name, "the world has no such file"));
    return undefined;
  }

  async #start(entry: AssetEntry): Promise<T | undefined> {
    try {
      const value = await this.#load(entry);
      const cached = this.#byHash.get(entry.hash);
      if (this.#isDisposed || !cached) {
        this.#release(value);
        return undefined;
      }
      cached.value = value;
      return value;
    } catch (error) {
      const known = error instanceof AssetError;
      this.#report(known ? error : new AssetError(entry.name, String(error), { cause: error }));
      return undefined;
    }
  }
}
