/** Number of inputs of an expectation; the first is 1. */
export const INPUTS = 8;
/** The state of an expectation: its weights, and their covariance by rows. */
const KEPT = INPUTS + INPUTS * INPUTS;

const WEIGHTS_START = [6, 0.25, 0.25, 0, 0.25, 0.25, 0, 0];
const SPREAD_START = 0.2;
/** An expectation whose error is at most one octave is not changed. */
const SURPRISE = 1;
/** The assumed change of a weight from one case to the next, as a variance. */
const DRIFT = 5e-6;
/** Beyond these limits, an expectation is invalid and starts again. */
const WEIGHT_MAX = 1e3;
const SPREAD_MAX = 1e4;
const TOTAL_MAX = 1e30;

/** A piecewise linear logarithm to the base of two, of a size in sixteenths below 2^31. */
export function log(size: number): number {
  const octave = 31 - Math.clz32(size + 8);
  return octave - 1 + (size + 8) / (1 << octave);
}

/** A size as an input of an expectation. */
export function level(size: number): number {
  return log(size) - 6;
}

/**
 * The expected sizes of numbers, one expectation for each column. Each expectation is a linear
 * function of the known values around a number. It adapts to the cases that it is given (recursive
 * least squares; `spec/DELTA.md`, section 9.3).
 */
export class Expectations {
  /** The inputs for the current number. */
  readonly inputs = new Float64Array(INPUTS);
  readonly #gain = new Float64Array(INPUTS);

  constructor(readonly kept: Float64Array) {
    this.inputs[0] = 1;
  }

  /** The initial states. */
  static start(count: number): Float64Array {
    const kept = new Float64Array(count * KEPT);
    for (let which = 0; which < count; which++) restart(kept, which * KEPT);
    return kept;
  }

  /** Resets the expectations that rounding has made invalid. */
  check(): void {
    for (let at = 0; at < this.kept.length; at += KEPT) if (!isSound(this.kept, at)) restart(this.kept, at);
  }

  /** Returns the expected logarithm for the inputs. */
  expect(which: number): number {
    return product(this.kept, which * KEPT, this.inputs);
  }

  /** Adapts the weights if the logarithm exceeded the expectation by a large enough `error`. */
  learn(which: number, error: number): void {
    if (!(Math.abs(error) > SURPRISE)) return;
    const { kept, inputs } = this;
    const gain = this.#gain.fill(0);
    const weights = which * KEPT;
    const spread = weights + INPUTS;
    for (let row = 0; row < INPUTS; row++)
      for (let at = 0; at < INPUTS; at++) gain[at]! += kept[spread + INPUTS * row + at]! * inputs[row]!;
    const total = 1 + product(gain, 0, inputs);
    // Rounding can make the covariance negative. Then it cannot be used.
    if (!(total >= 1 && total < TOTAL_MAX)) return;
    const unit = 1 / total;
    for (let row = 0; row < INPUTS; row++) {
      const share = gain[row]! * unit;
      kept[weights + row]! += share * error;
      const start = spread + INPUTS * row;
      for (let at = 0; at < INPUTS; at++) kept[start + at]! -= share * gain[at]!;
      kept[start + row]! += DRIFT;
    }
  }
}

function restart(kept: Float64Array, at: number): void {
  kept.fill(0, at, at + KEPT);
  kept.set(WEIGHTS_START, at);
  for (let row = 0; row < INPUTS; row++) kept[at + INPUTS + (INPUTS + 1) * row] = SPREAD_START;
}

function isSound(kept: Float64Array, at: number): boolean {
  for (let row = 0; row < INPUTS; row++) {
    const spread = kept[at + INPUTS + (INPUTS + 1) * row]!;
    if (!(Math.abs(kept[at + row]!) < WEIGHT_MAX && spread >= 0 && spread < SPREAD_MAX)) return false;
  }
  return true;
}

/**
 * The sum of the products of two lists. The products are added pairwise, in the order of vector instructions.
 */
function product(a: Float64Array, at: number, b: Float64Array): number {
  const first = a[at]! * b[0]! + a[at + 4]! * b[4]!;
  const second = a[at + 1]! * b[1]! + a[at + 5]! * b[5]!;
  const third = a[at + 2]! * b[2]! + a[at + 6]! * b[6]!;
  const fourth = a[at + 3]! * b[3]! + a[at + 7]! * b[7]!;
  return first + third + (second + fourth);
}
