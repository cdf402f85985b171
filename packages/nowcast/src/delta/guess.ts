/** A predictor's expectation in one column. */
export interface DeltaGuess {
  /** The expected value; any signed 32-bit number, it need not fit its column. */
  value: number;
  /** Where the truth may lie if the value is not it: −1 below, 1 above, 0 on either side. */
  lean: number;
  /** How far off the guess may be, as `magnitude` of sixteenths of a step. */
  doubt: number;
  /** How far the guess is from where the value was in the baseline. */
  moved: number;
}
