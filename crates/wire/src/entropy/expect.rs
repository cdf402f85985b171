//! Predicts the size of a number from its context, by least squares that are updated with one case at a time.
//!
//! Sizes are compared on a logarithmic scale. One such expectation replaces the votes of many contexts, because it is computed
//! once for a number and not once for each bit. The `f64` operations are only `+ - *` and `/`, in a fixed order, so all machines
//! agree.

/// Number of inputs of an expectation; the first is 1.
pub const INPUTS: usize = 8;

/// The inputs of an expectation. They are centred; see [`level`].
pub type Inputs = [f64; INPUTS];

/// Returns the base-2 logarithm of a size in sixteenths, by a piecewise linear approximation.
///
/// Half a step is added, so that small sizes have similar results. `size` must be below 2^31.
#[inline]
pub const fn log(size: u32) -> f64 {
    let size = size + 8;
    let octave = 31 - size.leading_zeros();
    octave as f64 - 1.0 + size as f64 * power_of_half(octave)
}

/// Converts a size to an input of an expectation.
#[inline]
pub const fn level(size: u32) -> f64 {
    log(size) - 6.0
}

/// 2^-`octaves`.
const fn power_of_half(octaves: u32) -> f64 {
    f64::from_bits((1_023 - octaves as u64) << 52)
}

/// A linear function of the inputs that is fitted to the observed cases (recursive least squares, Plackett 1950).
#[derive(Debug, Clone, PartialEq)]
pub struct Expectation {
    weights: Inputs,
    /// The covariance of the weights, in units of the noise.
    spread: [Inputs; INPUTS],
}

const WEIGHTS_START: Inputs = [6.0, 0.25, 0.25, 0.0, 0.25, 0.25, 0.0, 0.0];
const SPREAD_START: f64 = 0.2;
/// An expectation that was right to the octave is not changed, because most of the cost of an expectation is learning.
const SURPRISE: f64 = 1.0;
/// Variance that a weight gains from one case to the next.
const DRIFT: f64 = 5e-6;
/// An expectation outside of these limits is invalid.
const WEIGHT_MAX: f64 = 1e3;
const SPREAD_MAX: f64 = 1e4;
const TOTAL_MAX: f64 = 1e30;

impl Default for Expectation {
    fn default() -> Self {
        let mut spread = [[0.0; INPUTS]; INPUTS];
        for (at, row) in spread.iter_mut().enumerate() {
            row[at] = SPREAD_START;
        }
        Self { weights: WEIGHTS_START, spread }
    }
}

impl Expectation {
    /// Resets the expectation if rounding has made it invalid.
    pub fn check(&mut self) {
        let sound = (0..INPUTS).all(|at| {
            self.weights[at].abs() < WEIGHT_MAX && (0.0..SPREAD_MAX).contains(&self.spread[at][at])
        });
        if !sound {
            *self = Self::default();
        }
    }

    /// The expected logarithm.
    #[inline]
    pub fn expect(&self, inputs: &Inputs) -> f64 {
        product(&self.weights, inputs)
    }

    /// Learns that the logarithm exceeded the expectation by `error`, if this error is large enough.
    #[inline]
    pub fn learn(&mut self, inputs: &Inputs, error: f64) {
        if error.abs() > SURPRISE {
            self.correct(inputs, error);
        }
    }

    fn correct(&mut self, inputs: &Inputs, error: f64) {
        let mut gain = [0.0; INPUTS];
        for (row, input) in self.spread.iter().zip(inputs) {
            for (gain, spread) in gain.iter_mut().zip(row) {
                *gain += spread * input;
            }
        }
        let total = 1.0 + product(&gain, inputs);
        // Rounding can make the covariance negative. If so, the case is skipped.
        if !(1.0..TOTAL_MAX).contains(&total) {
            return;
        }
        let unit = 1.0 / total;
        for at in 0..INPUTS {
            let share = gain[at] * unit;
            self.weights[at] += share * error;
            for (spread, gain) in self.spread[at].iter_mut().zip(&gain) {
                *spread -= share * gain;
            }
            self.spread[at][at] += DRIFT;
        }
    }
}

/// Returns the sum of products, added by halves. Machines that process several numbers at once add in this order.
#[inline]
fn product(a: &Inputs, b: &Inputs) -> f64 {
    let mut four = [0.0; INPUTS / 2];
    for at in 0..INPUTS / 2 {
        four[at] = a[at] * b[at] + a[at + 4] * b[at + 4];
    }
    (four[0] + four[2]) + (four[1] + four[3])
}
