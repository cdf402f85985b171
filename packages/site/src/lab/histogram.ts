/** A histogram of durations over the last seconds, with bins of equal ratio. */

export const BIN_MS_MIN = 5;
const BINS_PER_DOUBLING = 4;
/** 5 ms to 20 s. */
export const BINS = 48;
const SLICES = 10;

/** The lower edge of a bin. */
export function edgeMs(bin: number): number {
  return BIN_MS_MIN * 2 ** (bin / BINS_PER_DOUBLING);
}

export function binOf(ms: number): number {
  const bin = Math.floor(Math.log2(Math.max(ms, BIN_MS_MIN) / BIN_MS_MIN) * BINS_PER_DOUBLING);
  return Math.min(BINS - 1, bin);
}

export class Histogram {
  readonly #slices = Array.from({ length: SLICES }, () => new Uint32Array(BINS));
  #current = 0;

  add(ms: number): void {
    this.#slices[this.#current]![binOf(ms)]! += 1;
  }

  /** Replaces the oldest slice by a new, empty one. */
  turn(): void {
    this.#current = (this.#current + 1) % SLICES;
    this.#slices[this.#current]!.fill(0);
  }

  /** The counts of all bins. */
  counts(): Uint32Array {
    const sum = new Uint32Array(BINS);
    for (const slice of this.#slices) {
      slice.forEach((count, bin) => {
        sum[bin]! += count;
      });
    }
    return sum;
  }

  /** The upper edge of the bin with this quantile, in milliseconds; `undefined` without samples. */
  quantileMs(quantile: number): number | undefined {
    const counts = this.counts();
    const all = counts.reduce((sum, count) => sum + count, 0);
    if (all === 0) return undefined;
    let below = 0;
    for (let bin = 0; bin < BINS; bin++) {
      below += counts[bin]!;
      if (below >= all * quantile) return edgeMs(bin + 1);
    }
    return edgeMs(BINS);
  }
}
