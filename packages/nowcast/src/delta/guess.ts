/** A predictor's expectation in one column. */
export interface DeltaGuess {
  /** The expected value; any signed 32-bit number, it need not fit its column. */
  value: number;
  /** The side on which the true value may be: −1 below, 1 above, 0 either. */
  lean: number;
  /** The possible error of the guess, as `magnitude` of sixteenths of a step. */
  doubt: number;
  /** Distance of the guess from the value in the baseline. */
  moved: number;
}
