/** Interval of the timer that shows that this program reads arrived packets. */
const BEAT_MS = 10;
/** A program whose beat is late by more than this is stalled: other timers and short tasks delay a beat by less. */
const LATE_MS = 10;
/** A read within this time after a stall, or after the read before it, may have waited for the end of the stall. */
const QUEUE_MS = 8;

/**
 * Notices when this program was too busy to read arrived packets: a long task anywhere in it delays a timer as it
 * delays the read. The time of such a read does not describe the network.
 */
export class StallWatch {
  #beatMs = performance.now();
  /** The last beat before the newest stall, and when that stall, or the last read that waited for its end, was over. */
  #beganMs = Number.NEGATIVE_INFINITY;
  #endedMs = Number.NEGATIVE_INFINITY;
  readonly #timer = setInterval(() => this.#beat(), BEAT_MS);

  constructor() {
    // A watch alone does not keep a program of Node alive.
    (this.#timer as { unref?(): void }).unref?.();
  }

  /** The earliest time at which something that is read at `readMs` may have arrived; `readMs` itself while nothing stalls. */
  earliestMs(readMs: number): number {
    this.#note(readMs);
    if (readMs - this.#endedMs >= QUEUE_MS) return readMs;
    this.#endedMs = Math.max(this.#endedMs, readMs);
    return Math.min(readMs, this.#beganMs);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #beat(): void {
    const nowMs = performance.now();
    this.#note(nowMs);
    this.#beatMs = nowMs;
  }

  #note(nowMs: number): void {
    const ranMs = Math.max(this.#beatMs, this.#endedMs);
    // Timers of hidden pages run about once a second, while reads continue normally.
    if (nowMs - ranMs <= BEAT_MS + LATE_MS || globalThis.document?.hidden) return;
    this.#beganMs = this.#beatMs;
    this.#endedMs = nowMs;
  }
}
