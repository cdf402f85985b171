/** A predictor's guess for one column. */
export interface DeltaGuess {
  /** The expected value: any signed 32-bit number, which may be outside the range of its column. */
  value: number;
  /** The side of the guess on which the true value probably is: −1 below, 1 above, 0 unknown. */
  lean: number;
  /** The possible error of the guess, as `magnitude` of sixteenths of a step. */
  doubt: number;
  /** Distance of the guess from the value in the baseline. */
  moved: number;
}
