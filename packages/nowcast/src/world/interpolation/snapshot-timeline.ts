/** Number of remembered arrivals: six seconds at ten snapshots a second. */
const NEEDS_MAX = 64;
/**
 * Maximum speed-up or slow-down of the shown moment while the delay adapts. Smaller changes of speed are not
 * noticeable.
 */
const WARP_MAX = 0.1;
/** If the wanted moment is farther away than this, the shown moment jumps to it. */
const JUMP_MS = 500;
/**
 * The estimate of the shortest snapshot spacing grows by this factor with each snapshot, until a spacing is shorter.
 */
const INTERVAL_GROWTH = 1.02;
/** A snapshot that is later than this waited for a stall of the link, which is not jitter. */
const STALL_MS = 400;
/** A stall ends with the first snapshot that is at most this late. */
const STALL_OVER_MS = 50;
/**
 * If snapshots stay late for longer than this, the delay counts as permanent: the path or the clock
 * has changed.
 */
const STALL_ARRIVALS_MS_MAX = 1_500;
/** If a snapshot is earlier than expected by more than this, the local clock stood still, or a long queue emptied. */
const EARLY_MS = 100;
/** Maximum delay of the shown moment. */
const DELAY_MS_MAX = 1_000;
/** Margin for a late frame, in addition to the measured need. */
const MARGIN_MS = 5;

/**
 * Maps the local clock to the server's ticks and decides how far in the past to draw.
 *
 * The required delay is measured directly. Until a snapshot arrives, the shown moment must not pass the previous
 * snapshot. So each arrival shows how large the delay behind the (smoothed) server clock had to be. The measured delay
 * covers both the send interval and jitter. The display does not wait for a lost snapshot: moving entities are
 * extrapolated. The delay is the second largest of the recently required ones.
 */
export class SnapshotTimeline {
  /** The moment shown, in ticks. */
  tick = 0;
  delayMs = 0;

  readonly #needs = new Float64Array(NEEDS_MAX);
  readonly #sorted = new Float64Array(NEEDS_MAX);
  #needCount = 0;
  #arrivals = 0;
  #stepMs = 1000 / 60;
  /** Local arrival time of snapshots minus their server time, smoothed. */
  #offsetMs = 0;
  #lastServerMs = 0;
  /** The shortest recent spacing of snapshots on the server's clock. */
  #intervalMs = Number.POSITIVE_INFINITY;
  #targetDelayMs = 0;
  #shownServerMs = 0;
  /** The moment of the last frame; NaN before the first. A field of one type is written without an allocation. */
  #lastNowMs = Number.NaN;
  /** The time at which the first snapshot of a stall was read, or NaN. All later snapshots were delayed, too. */
  #stallMs = Number.NaN;

  /**
   * Whether there is a moment to show. There is one after the first snapshot of this connection.
   */
  get isRunning(): boolean {
    return !Number.isNaN(this.#lastNowMs);
  }

  /** Drops old measurements, because there is another connection and perhaps another server. */
  restart(stepHz: number): void {
    this.#stepMs = 1000 / stepHz;
    this.#needCount = 0;
    this.#arrivals = 0;
    this.#intervalMs = Number.POSITIVE_INFINITY;
    this.#lastNowMs = Number.NaN;
    this.#stallMs = Number.NaN;
  }

  /** Records a snapshot that was read at `readMs`. It arrived at its expected time, limited to the span from `earliestMs` to `readMs`. */
  record(tick: number, readMs: number, earliestMs = readMs): void {
    const serverMs = tick * this.#stepMs;
    const expectedMs = this.#arrivals > 0 ? serverMs + this.#offsetMs : readMs;
    const arrivalMs = Math.min(readMs, Math.max(earliestMs, expectedMs));
    if (this.#isOfStall(arrivalMs - expectedMs, readMs)) {
      this.#lastServerMs = serverMs;
      return;
    }
    if (arrivalMs < expectedMs - EARLY_MS) {
      this.#arrivals = 0;
      this.#needCount = 0;
    }
    const offsetMs = arrivalMs - serverMs;
    this.#arrivals++;
    // The first arrivals are averaged with equal weights. Each later arrival has a weight of one
    // sixteenth. So the clock settles quickly and then drifts slowly.
    this.#offsetMs += (offsetMs - this.#offsetMs) / Math.min(this.#arrivals, 16);
    if (this.#arrivals > 1 && serverMs > this.#lastServerMs) {
      const spacingMs = serverMs - this.#lastServerMs;
      // The estimate follows a longer interval gradually.
      this.#intervalMs = Math.min(spacingMs, this.#intervalMs * INTERVAL_GROWTH);
      this.#remember(arrivalMs - this.#offsetMs - serverMs + this.#intervalMs);
    }
    this.#lastServerMs = serverMs;
  }

  /** Whether a snapshot is late because the link stalled. If that lasts, the measurement starts again. */
  #isOfStall(lateMs: number, readMs: number): boolean {
    const onTimeMs = Number.isNaN(this.#stallMs) ? STALL_MS : STALL_OVER_MS;
    if (this.#arrivals === 0 || lateMs <= onTimeMs) {
      this.#stallMs = Number.NaN;
      return false;
    }
    if (Number.isNaN(this.#stallMs)) this.#stallMs = readMs;
    if (readMs - this.#stallMs < STALL_ARRIVALS_MS_MAX) return true;
    this.#stallMs = Number.NaN;
    this.#offsetMs += lateMs;
    this.#needCount = 0;
    return false;
  }

  /** Advances the shown moment. It never moves backwards, except after a jump of the clock. */
  advance(nowMs: number): void {
    if (this.#arrivals === 0) return;
    const wantedMs = nowMs - this.#offsetMs - this.#targetDelayMs;
    const elapsedMs = this.isRunning ? nowMs - this.#lastNowMs : 0;
    const error = wantedMs - (this.#shownServerMs + elapsedMs);
    if (!this.isRunning || Math.abs(error) > JUMP_MS) {
      this.#shownServerMs = wantedMs;
    } else {
      const warp = WARP_MAX * elapsedMs;
      this.#shownServerMs += elapsedMs + Math.min(warp, Math.max(-warp, error));
    }
    this.#lastNowMs = nowMs;
    this.delayMs = nowMs - this.#offsetMs - this.#shownServerMs;
    this.tick = this.#shownServerMs / this.#stepMs;
  }

  #remember(needMs: number): void {
    this.#needs[this.#needCount++ % NEEDS_MAX] = needMs;
    const filled = Math.min(this.#needCount, NEEDS_MAX);
    this.#sorted.fill(Number.POSITIVE_INFINITY);
    for (let i = 0; i < filled; i++) this.#sorted[i] = this.#needs[i]!;
    this.#sorted.sort();
    const enough = this.#sorted[filled < 16 ? filled - 1 : filled - 2]! + MARGIN_MS;
    this.#targetDelayMs = Math.min(DELAY_MS_MAX, Math.max(0, enough));
  }
}
