const BUCKETS = 10;
const BUCKET_MS = 100;

/** Measures packets a second and bytes a second. Both are means over the last second. Memory is constant. */
export class RateMeter {
  readonly #packets = new Float64Array(BUCKETS);
  readonly #bytes = new Float64Array(BUCKETS);
  #newest = 0;

  record(nowMs: number, bytes: number): void {
    this.#advance(nowMs);
    const slot = this.#newest % BUCKETS;
    this.#packets[slot] = this.#packets[slot]! + 1;
    this.#bytes[slot] = this.#bytes[slot]! + bytes;
  }

  rates(nowMs: number): { readonly packetsPerSecond: number; readonly bytesPerSecond: number } {
    this.#advance(nowMs);
    // The window has nine full buckets and the one being filled, so it is 0.9 to 1 second long.
    const windowSeconds = ((BUCKETS - 1) * BUCKET_MS + (nowMs % BUCKET_MS)) / 1000;
    const sum = (column: Float64Array): number => column.reduce((total, value) => total + value, 0);
    return {
      packetsPerSecond: sum(this.#packets) / windowSeconds,
      bytesPerSecond: sum(this.#bytes) / windowSeconds,
    };
  }

  #advance(nowMs: number): void {
    const bucket = Math.floor(nowMs / BUCKET_MS);
    for (let passed = Math.max(this.#newest + 1, bucket - BUCKETS + 1); passed <= bucket; passed++) {
      this.#packets[passed % BUCKETS] = 0;
      this.#bytes[passed % BUCKETS] = 0;
    }
    this.#newest = Math.max(this.#newest, bucket);
  }
}
