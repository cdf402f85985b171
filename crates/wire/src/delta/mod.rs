//! Replication deltas: the state of many entities, told as the difference from what the peer has acknowledged.
//!
//! **What is learnt belongs to a baseline.** A [`Baseline`] is a frame together with all that its coding taught. The sender
//! keeps those it sent and refers to one that was acknowledged; the receiver keeps those it may still be referred to. A lost
//! packet therefore costs its own frame and nothing else: the ends cannot drift apart.
//!
//! ```
//! use nowcast_wire::delta::{Codec, Field, Frame, Layout, Linear, Mode};
//!
//! let layout = Layout::new(&[Field::Number, Field::Number, Field::Angle { bits: 16 }])?;
//! let mut sender = Codec::new(layout.clone(), Mode::Small, Linear::default());
//! let mut receiver = Codec::new(layout, Mode::Small, Linear::default());
//!
//! let mut first = Frame::new(100);
//! first.push(7, &[1_500, -20, 65_000]);
//! let mut packet = Vec::new();
//! let sent = sender.encode(&first, &[], &mut packet)?;
//! let got = receiver.decode(100, &packet, &[])?;
//! assert_eq!(got.frame(), &first);
//!
//! // The receiver acknowledged frame 100, so the next one is told as what changed since.
//! let mut second = Frame::new(101);
//! second.push(7, &[1_510, -20, 65_100]);
//! packet.clear();
//! sender.encode(&second, &[&sent], &mut packet)?;
//! assert_eq!(receiver.decode(101, &packet, &[&got])?.frame(), &second);
//! # Ok::<(), nowcast_wire::delta::DeltaError>(())
//! ```
//!
//! | when | use |
//! | --- | --- |
//! | bytes matter less than time | [`Mode::Fast`] |
//! | a link is narrow, or there are many viewers of one encoding | [`Mode::Small`] |
//! | entities are rigid bodies under physics | [`Bodies`] as predictor |
//! | you know better how your entities move | your own [`Predictor`] |
//! | many viewers are to share one encoding, whatever each has lost | [`Codec::encode_against_frames`] |
//!
//! The session is not known here: whoever carries the bytes names the tick of the frame and those of its baselines, and says
//! which have been acknowledged. The format is specified in `spec/DELTA.md`.

mod baseline;
mod bodies;
mod codec;
mod fast;
mod fit;
mod frame;
mod learnt;
mod neighbours;
mod orientation;
mod past;
mod predict;
mod rigid;
mod small;
mod unlearnt;
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
    #[error("incompatible: header {header:#04x} is not of this version of the format")]
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
