import { WireError } from "../errors/nowcast-error.js";
import type { Bits } from "./bits.js";
import type { DeltaGuess } from "./guess.js";
import { bitLength, magnitude } from "./scale.js";
import type { Situation } from "./situation.js";
import type { Symbols } from "./symbols.js";

const ERRORS = 32;
const ROW_ERRORS = 16;
const VALUE_MAX = 65_536;

/** The mean sizes of residuals, in sixteenths of a step, for each column and situation. */
export class FastModels {
  readonly mode = "fast";

  private constructor(readonly means: Int32Array) {}

  static start(columns: number): FastModels {
    const means = new Int32Array(columns * ERRORS * ROW_ERRORS);
    for (let at = 0; at < means.length; at++) {
      const error = Math.floor(at / ROW_ERRORS) % ERRORS;
      means[at] = error < 4 ? 2 * error : (2 + (error & 1)) << (error >> 1);
    }
    return new FastModels(means);
  }

  copy(): FastModels {
    return new FastModels(this.means.slice());
  }
}

/** Changed masks and adaptive Rice codes (`spec/DELTA.md`, section 8). */
export class FastSymbols implements Symbols {
  readonly hasMask = true;
  readonly #bits: Bits;
  readonly #means: Int32Array;

  constructor(bits: Bits, models: FastModels) {
    this.#bits = bits;
    this.#means = models.means;
  }

  get at(): number {
    return this.#bits.at;
  }

  plain(value: number, count: number): number {
    return this.#bits.plain(value, count);
  }

  changed(_: Situation, bit: number): number {
    return this.#bits.plain(bit, 1);
  }

  flag(_column: number, _guess: DeltaGuess, _situation: Situation, residual: number): number {
    return this.#bits.plain(residual, 1);
  }

  largest(_column: number, _guess: DeltaGuess, _situation: Situation, residual: number): number {
    const other = this.#bits.rice(residual, 0);
    if (other > 3) throw new WireError(`component ${other} of a quaternion`, this.#bits.at);
    return other;
  }

  number(
    column: number,
    _group: number,
    _guess: DeltaGuess,
    { error, rowError }: Situation,
    residual: number,
  ): number {
    const at = (column * ERRORS + magnitude(error)) * ROW_ERRORS + (magnitude(rowError) >> 1);
    const mean = this.#means[at]!;
    // For a geometric distribution, the best shift is near the binary logarithm of 0.7 times the
    // mean.
    const shift = bitLength(Math.floor(mean / 22));
    const zigzag = this.#bits.rice(((residual << 1) ^ (residual >> 31)) >>> 0, shift);
    this.#means[at] = (31 * mean + 16 * (zigzag < VALUE_MAX ? zigzag : VALUE_MAX)) >> 5;
    return (zigzag >>> 1) ^ -(zigzag & 1);
  }
}
