//! Entropy coding. Numbers with a known distribution take about as many bits as their information content.
//!
//! There are two coders, for two budgets of time:
//!
//! - [`rice`] writes whole bits. The parameter for each number follows the sizes of earlier numbers. This coder takes a few
//!   nanoseconds for a number, and stays within a tenth of the entropy for the bell-shaped residuals of predictions.
//! - [`arith`] writes fractions of a bit. Its probabilities come from [`model`], which learns a probability for each decision.
//!   [`expect`] predicts how large a number will be.
//!
//! Both directions run through the same code. A [`Coder`](arith::Coder) that encodes returns its argument, and one that decodes
//! returns the bit that it has read. A model cannot diverge between the two ends, because it is described only once. All
//! arithmetic uses 32-bit integers, or `f64` with operations that IEEE 754 defines exactly. So JavaScript computes the same bits.
//!
//! Sources: Rice 1979 for the codes; Rissanen and Langdon 1979 for arithmetic coding; Plackett 1950 for least squares.

pub mod arith;
pub mod expect;
pub mod model;
pub mod rice;

use thiserror::Error;

/// Entropy-coded bytes that no encoder writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum EntropyError {
    /// The bytes end before the last symbol.
    #[error("invalid message: entropy-coded data ends early")]
    Truncated,
    /// Bytes remain at the end, or the last bytes are not those of an encoder.
    #[error("invalid message: entropy-coded data does not end where it must")]
    Trailing,
    /// A number is larger than its field can hold.
    #[error("invalid message: a coded number is out of range")]
    Range,
}
