/** The assumed change of a weight from one frame to the next, as a variance. */
const DRIFT = 1e-6;
/** Beyond these limits, a fit is invalid and starts again. */
const WEIGHT_MAX = 1e3;
const SPREAD_MAX = 1e4;
const TOTAL_MAX = 1e30;

/**
 * A linear function of a few inputs that adapts to the cases it is given, by recursive least
 * squares (Plackett 1950).
 *
 * The order of operations is part of the format (`spec/DELTA.md`, section 10).
 */
export class Fit {
  readonly #weights: Float64Array;
  /** The covariance of the weights by rows, in units of the noise. */
  readonly #spread: Float64Array;
  readonly #gain: Float64Array;

  /** Starts with these `weights` and the variance of each. */
  constructor(weights: readonly number[], variances: readonly number[]) {
    const size = weights.length;
    this.#weights = Float64Array.from(weights);
    this.#spread = new Float64Array(size * size);
    this.#gain = new Float64Array(size);
    variances.forEach((variance, at) => {
      this.#spread[at * size + at] = variance;
    });
  }

  /** Number of values that `store` writes. */
  get stored(): number {
    return this.#weights.length + this.#spread.length;
  }

  predict(inputs: readonly number[]): number {
    let sum = 0;
    for (let at = 0; at < inputs.length; at++) sum += this.#weights[at]! * inputs[at]!;
    return sum;
  }

  /**
   * Adapts the weights after a prediction that was too small by `error`. `noise` is the variance of
   * errors.
   */
  learn(inputs: readonly number[], error: number, noise: number): void {
    const weights = this.#weights;
    const spread = this.#spread;
    const gain = this.#gain;
    const size = gain.length;
    let total = noise;
    for (let at = 0; at < size; at++) {
      let sum = 0;
      for (let other = 0; other < size; other++) sum += spread[at * size + other]! * inputs[other]!;
      gain[at] = sum;
      total += inputs[at]! * sum;
    }
    // Rounding can make the covariance negative. Then it cannot be used.
    if (!(total >= noise && total < TOTAL_MAX)) return;
    for (let at = 0; at < size; at++) {
      const share = gain[at]! / total;
      weights[at]! += share * error;
      for (let other = 0; other < size; other++) spread[at * size + other]! -= share * gain[other]!;
    }
  }

  store(memory: Float64Array, start: number): void {
    memory.set(this.#weights, start);
    memory.set(this.#spread, start + this.#weights.length);
  }

  /** Reads the output of `store`, unless it is missing or invalid. */
  restore(memory: Float64Array, start: number): void {
    const size = this.#weights.length;
    if (memory.length < start + this.stored) return;
    for (let at = 0; at < size; at++) {
      const spread = memory[start + size + at * size + at]!;
      const isSound = Math.abs(memory[start + at]!) < WEIGHT_MAX && spread >= 0 && spread < SPREAD_MAX;
      if (!isSound) return;
    }
    this.#weights.set(memory.subarray(start, start + size));
    this.#spread.set(memory.subarray(start + size, start + this.stored));
    for (let at = 0; at < size; at++) this.#spread[at * size + at]! += DRIFT;
  }
}
