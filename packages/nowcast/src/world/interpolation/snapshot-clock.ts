/** Spacing and jitter of snapshots, for display. Interpolation has measurements of its own. */
export class SnapshotClock {
  snapshots = 0;
  intervalMs: number | undefined;
  jitterMs = 0;
  #lastTick: number | undefined;
  #lastArrivalMs = 0;

  record(tick: number, arrivalMs: number, stepHz: number): void {
    this.snapshots++;
    if (this.#lastTick !== undefined && tick > this.#lastTick) {
      const spacingMs = ((tick - this.#lastTick) * 1000) / stepHz;
      this.intervalMs =
        this.intervalMs === undefined ? spacingMs : this.intervalMs + (spacingMs - this.intervalMs) / 8;
      // RFC 3550, section 6.4.1: the mean deviation of transit times, smoothed by a sixteenth.
      const deviationMs = Math.abs(arrivalMs - this.#lastArrivalMs - spacingMs);
      this.jitterMs += (deviationMs - this.jitterMs) / 16;
    }
    this.#lastTick = tick;
    this.#lastArrivalMs = arrivalMs;
  }

  /**
   * Starts again, because the next connection's ticks are unrelated to the last one's.
   */
  restart(): void {
    this.#lastTick = undefined;
  }
}
