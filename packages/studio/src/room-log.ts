import type { StudioApi } from "./api/studio-api.js";
import type { LogLine } from "./api/types.js";
import { Poll } from "./poll.js";

const INTERVAL_MS = 500;
/** Lines that are kept in the page. */
const LINES_MAX = 2_000;

/**
 * The log of the chosen room. It is read from the moment the page opens, whichever tab is shown, because a server records chat and
 * events only while a reader asks for them.
 */
export class RoomLog {
  /** The newest lines, the oldest first. */
  lines: readonly LogLine[] = [];
  /** Lines that the server no longer had when the page asked for them. */
  dropped = 0;
  readonly #api: StudioApi;
  readonly #listeners: ((lines: readonly LogLine[]) => void)[] = [];
  readonly #poll: Poll;
  #room: string | undefined;
  #after = 0;

  constructor(api: StudioApi, failed: (error: unknown) => void) {
    this.#api = api;
    this.#poll = new Poll(() => this.#read(), INTERVAL_MS, failed);
  }

  /** Reads the log of another room, from its first kept line. */
  open(room: string | undefined): void {
    this.#room = room;
    this.#after = 0;
    this.dropped = 0;
    this.lines = [];
    if (room === undefined) this.#poll.stop();
    else this.#poll.start();
  }

  /** Calls back with each batch of new lines. */
  listen(listener: (lines: readonly LogLine[]) => void): void {
    this.#listeners.push(listener);
  }

  async #read(): Promise<void> {
    const room = this.#room;
    if (room === undefined) return;
    const { lines, next, dropped } = await this.#api.log(room, this.#after);
    if (room !== this.#room) return;
    this.#after = next;
    this.dropped += dropped;
    if (lines.length === 0) return;
    this.lines = [...this.lines, ...lines].slice(-LINES_MAX);
    for (const listener of this.#listeners) listener(lines);
  }
}
