//! Least squares, updated with one case at a time (recursive least squares, Plackett 1950).

// With indices, the code looks like the formulas.
#![allow(clippy::needless_range_loop)]

/// `M` linear functions of the same `N` inputs, fitted to the observed cases.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fit<const N: usize, const M: usize = 1> {
    weights: [[f64; N]; M],
    /// The covariance of the weights, in units of the noise.
    spread: [[f64; N]; N],
}

/// Variance that a weight gains from one frame to the next.
const DRIFT: f64 = 1e-6;
/// Maximum of a covariance. If it is exceeded, the fit starts again.
const SPREAD_MAX: f64 = 1e4;

impl<const N: usize, const M: usize> Fit<N, M> {
    /// The number of values that [`Fit::store`] appends.
    pub(super) const STORED: usize = M * N + N * N;

    /// Starts at `weights` with the given variances.
    pub(super) fn new(weights: [f64; N], variances: [f64; N]) -> Self {
        let mut spread = [[0.0; N]; N];
        for at in 0..N {
            spread[at][at] = variances[at];
        }
        Self { weights: [weights; M], spread }
    }

    #[inline]
    pub(super) fn predict(&self, inputs: &[f64; N]) -> [f64; M] {
        let mut sums = [0.0; M];
        for (sum, weights) in sums.iter_mut().zip(&self.weights) {
            for at in 0..N {
                *sum += weights[at] * inputs[at];
            }
        }
        sums
    }

    /// Updates the weights with the errors of predictions. `noise` is the variance of these errors.
    pub(super) fn learn(&mut self, inputs: &[f64; N], errors: [f64; M], noise: f64) {
        let mut gain = [0.0; N];
        let mut total = noise;
        for at in 0..N {
            let mut sum = 0.0;
            for other in 0..N {
                sum += self.spread[at][other] * inputs[other];
            }
            gain[at] = sum;
            total += inputs[at] * sum;
        }
        // Rounding can make the covariance negative. If so, the case is skipped.
        if !(total >= noise && total < 1e30) {
            return;
        }
        for at in 0..N {
            let share = gain[at] / total;
            for (weights, error) in self.weights.iter_mut().zip(errors) {
                weights[at] += share * error;
            }
            for other in 0..N {
                self.spread[at][other] -= share * gain[other];
            }
        }
    }

    pub(super) fn store(&self, memory: &mut Vec<f64>) {
        memory.extend(self.weights.iter().flatten());
        memory.extend(self.spread.iter().flatten());
    }

    /// Restores the values that [`Fit::store`] appended, unless they are out of bounds. Returns the remaining values.
    pub(super) fn restore<'a>(&mut self, memory: &'a [f64]) -> &'a [f64] {
        let Some((mine, rest)) = memory.split_at_checked(Self::STORED) else { return &[] };
        let (weights, spread) = mine.split_at(M * N);
        let sound = weights.iter().all(|weight| weight.abs() < 1e3)
            && (0..N).all(|at| (0.0..SPREAD_MAX).contains(&spread[at * N + at]));
        if sound {
            for at in 0..M {
                self.weights[at].copy_from_slice(&weights[at * N..][..N]);
            }
            for at in 0..N {
                self.spread[at].copy_from_slice(&spread[at * N..][..N]);
                self.spread[at][at] += DRIFT;
            }
        }
        rest
    }
}
