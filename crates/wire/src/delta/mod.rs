//! Replication deltas: the state of many entities, told as the difference from what the peer has acknowledged.

mod baseline;
mod bodies;
mod codec;
mod fast;
mod fit;
mod frame;
mod orientation;
mod past;
mod predict;
mod rigid;
mod small;
mod walk;

pub use baseline::Baseline;
pub use bodies::{Bodies, BodyColumns};
pub use codec::Codec;
pub use frame::{Field, Frame, Layout};
pub use past::Past;
pub use predict::{Guess, Linear, Predictor, magnitude};

use thiserror::Error;

use crate::entropy::EntropyError;

/// How much effort goes into size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Masks and adaptive Rice codes.
    Fast,
    /// Adaptive contexts and an arithmetic coder: about a sixth smaller, several times the work.
    Small,
}

/// What a decoder accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most entities in a frame. A range coder can name a million rows in a hundred bytes, so this bounds time and memory.
    pub entities_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { entities_max: 65_536 }
    }
}

/// Why a frame could not be coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum DeltaError {
    /// The caller described an impossible layout.
    #[error("misuse: {reason}")]
    Layout {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The caller's frame does not fit the layout.
    #[error("misuse: {reason}")]
    Frame {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The bytes start with a header of another version or with reserved bits.
    #[error("incompatible: unknown header {header:#04x}")]
    Header {
        /// The first byte.
        header: u8,
    },
    /// The bytes were coded against another number of baselines.
    #[error("invalid message: coded against {needed} baselines, given {given}")]
    Baselines {
        /// How many the bytes name.
        needed: usize,
        /// How many the caller has.
        given: usize,
    },
    /// The frame has more entities than the receiver allows.
    #[error("invalid message: {count} entities, at most {max} are allowed")]
    TooMany {
        /// How many there would be.
        count: usize,
        /// The limit.
        max: usize,
    },
    /// The coded bytes are damaged.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}
