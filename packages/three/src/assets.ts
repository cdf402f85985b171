/**
 * The files of a world's folder, by name. A server offers them under the hash of their content, so browsers
 * may cache them without a time limit.
 */

/** A file that a world's definition lists. */
export interface AssetEntry {
  /** The path in the world's folder: `assets/door.glb`. */
  readonly name: string;
  readonly hash: string;
  readonly bytes: number;
  /** Its media type. */
  readonly type: string;
}

/** The reason why a file could not be used, with its name, for the author of the world. */
export class AssetError extends Error {
  constructor(
    readonly asset: string,
    readonly reason: string,
    options?: ErrorOptions,
  ) {
    super(`${asset}: ${reason}`, options);
    this.name = "AssetError";
  }
}

const KIT = "@nowcast/kit/";

/** The model of the kit that a name means, such as `tree` for `@nowcast/kit/tree`; `undefined` for a file. */
export function kitModelOf(name: string): string | undefined {
  return name.startsWith(KIT) ? name.slice(KIT.length) : undefined;
}

const ASSETS_MAX = 4_096;
const NAME_CHARACTERS_MAX = 200;
const HASH = /^[A-Za-z0-9_-]{8,128}$/;

/** Reads the list of a definition; entries with an invalid name or hash are omitted. */
export function readAssets(definition: unknown): readonly AssetEntry[] {
  const list = (definition as { readonly assets?: unknown } | undefined)?.assets;
  if (!Array.isArray(list)) return [];
  return list.slice(0, ASSETS_MAX).flatMap((entry: Partial<AssetEntry> | null) => {
    const { name, hash, bytes, type } = entry ?? {};
    const isAsset =
      typeof name === "string" &&
      name.length <= NAME_CHARACTERS_MAX &&
      typeof hash === "string" &&
      HASH.test(hash) &&
      typeof bytes === "number" &&
      bytes >= 0;
    return isAsset ? [{ name, hash, bytes, type: typeof type === "string" ? type : "" }] : [];
  });
}

/** The files that the current definition lists, and the way to fetch them. */
export class Assets {
  #byName = new Map<string, AssetEntry>();
  readonly #server: string;
  readonly #request: (url: string) => Promise<Response>;

  /**
   * `server` is the origin of the files, such as `https://example.org:7777`; empty for the page's own. `request` is
   * `fetch` or a replacement.
   */
  constructor(server = "", request: (url: string) => Promise<Response> = (url) => fetch(url)) {
    this.#server = server;
    this.#request = request;
  }

  /** Sets the files of another definition. */
  define(definition: unknown): void {
    this.#byName = new Map(readAssets(definition).map((entry) => [entry.name, entry]));
  }

  /** Finds a file, or a model of the kit, whose name is its hash. */
  find(name: string): AssetEntry | undefined {
    return kitModelOf(name) === undefined ? this.#byName.get(name) : { name, hash: name, bytes: 0, type: "" };
  }

  has(hash: string): boolean {
    if (kitModelOf(hash) !== undefined) return true;
    for (const entry of this.#byName.values()) if (entry.hash === hash) return true;
    return false;
  }

  /** Fetches a file of at most this many bytes. Rejected with an {@link AssetError}. */
  async get(entry: AssetEntry, bytesMax: number): Promise<ArrayBuffer> {
    const { name, hash, bytes } = entry;
    const tooLarge = (): AssetError => new AssetError(name, `it is larger than ${bytesMax} bytes`);
    if (bytes > bytesMax) throw tooLarge();
    let response: Response;
    try {
      response = await this.#request(`${this.#server}/assets/${hash}`);
    } catch (cause) {
      throw new AssetError(name, "the request to the server failed", { cause });
    }
    if (!response.ok) throw new AssetError(name, `the server answers ${response.status}`);
    const reader = response.body?.getReader();
    if (!reader) throw new AssetError(name, "the server sends nothing");
    const pieces: Uint8Array[] = [];
    let length = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      length += value.length;
      if (length > bytesMax) {
        void reader.cancel();
        throw tooLarge();
      }
      pieces.push(value);
    }
    const whole = new Uint8Array(length);
    let at = 0;
    for (const piece of pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    return whole.buffer;
  }
}
