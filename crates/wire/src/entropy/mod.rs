//! Entropy coding: numbers with a known distribution become as few bits as they carry information.
//!
//! Two coders, for two budgets of time:
//!
//! - [`rice`] writes whole bits. A parameter per number follows the sizes seen before. It costs a few nanoseconds a
//!   number and stays within a tenth of the entropy for the bell-shaped residuals that predictions leave.
//! - [`arith`] writes fractions of a bit. Probabilities come from [`model`], which learns them for each decision; how large a
//!   number will be is foretold by [`expect`].
//!
//! Both directions run through the same code: a [`Coder`](arith::Coder) that encodes returns its argument, one that
//! decodes returns the bit that it read. A model cannot drift apart between the two ends, because there is only one
//! description of it. All arithmetic is on 32-bit integers, or on `f64` with operations that IEEE 754 defines exactly,
//! so that JavaScript gives the same bits.
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
    /// Bytes are left over, or the last ones are not those of an encoder.
    #[error("invalid message: entropy-coded data does not end where it must")]
    Trailing,
    /// A number is larger than its field can hold.
    #[error("invalid message: a coded number is out of range")]
    Range,
}
