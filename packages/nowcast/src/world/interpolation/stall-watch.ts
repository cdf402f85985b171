/** Interval of the timer whose beats show that this program is able to read packets. */
const BEAT_MS = 10;
/**
 * If a beat is late by more than this, the program was stalled. Other timers and short tasks delay
 * a beat by less.
 */
const LATE_MS = 10;
/**
 * A read within this time after a stall may have waited for the end of the stall. So may a read within this time after
 * another read that waited.
 */
const QUEUE_MS = 8;

/**
 * Detects that this program was too busy to read packets that had arrived. A long task anywhere in the program delays a
 * timer in the same way as a read. The time of a delayed read does not describe the network.
 */
export class StallWatch {
  #beatMs = performance.now();
  /**
   * The last beat before the newest stall, and the time at which the stall, or the last read that
   * waited for its end, was over.
   */
  #beganMs = Number.NEGATIVE_INFINITY;
  #endedMs = Number.NEGATIVE_INFINITY;
  readonly #timer = setInterval(() => this.#beat(), BEAT_MS);

  constructor() {
    // The timer alone must not keep a Node program alive.
    (this.#timer as { unref?(): void }).unref?.();
  }

  /**
   * Returns the earliest time at which a message that is read at `readMs` may have arrived. Without
   * a stall this is `readMs` itself.
   */
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
