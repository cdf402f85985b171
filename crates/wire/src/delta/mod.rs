//! Replication deltas: the state of many entities, encoded as the difference from states that the peer has acknowledged.
//!
//! **Learned state belongs to a baseline.** A [`Baseline`] is a frame together with the state that was learned while the frame
//! was coded. The sender keeps the baselines that it sent, and encodes against an acknowledged one. The receiver keeps those to
//! which the sender may still refer. So a lost packet costs only its own frame, and the states of the two ends cannot diverge.
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
//! // The receiver acknowledged frame 100, so the next frame is encoded against it.
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
//! | many viewers with different losses share one encoding | [`Codec::encode_against_frames`] |
//!
//! This module does not know sessions. The protocol that carries the bytes states the ticks of the frame and of its baselines,
//! and tracks acknowledgements. `spec/DELTA.md` specifies the format.

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

/// The trade-off between bytes and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Masks and adaptive Rice codes.
    Fast,
    /// Adaptive contexts and an arithmetic coder. Compared with the fast mode, the result is about a sixth smaller, and the
    /// work is several times as much.
    Small,
}

/// Limits of a decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of entities in a frame. A range coder can name a million rows in a hundred bytes, so this limit bounds time
    /// and memory.
    pub entities_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { entities_max: 65_536 }
    }
}

/// The reason why a frame could not be coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum DeltaError {
    /// The caller described an impossible layout.
    #[error("misuse: {reason}")]
    Layout {
        /// The reason.
        reason: &'static str,
    },
    /// The caller's frame does not fit the layout.
    #[error("misuse: {reason}")]
    Frame {
        /// The reason.
        reason: &'static str,
    },
    /// The header of the bytes has another version or reserved bits.
    #[error("incompatible: header {header:#04x} is not of this version of the format")]
    Header {
        /// The first byte.
        header: u8,
    },
    /// The bytes were encoded against a different number of baselines.
    #[error("invalid message: coded against {needed} baselines, given {given}")]
    Baselines {
        /// The number of baselines in the header.
        needed: usize,
        /// The number of baselines that the caller gave.
        given: usize,
    },
    /// The frame has more entities than the receiver allows.
    #[error("invalid message: {count} entities, at most {max} are allowed")]
    TooMany {
        /// The number of entities in the frame.
        count: usize,
        /// The limit.
        max: usize,
    },
    /// The coded bytes are damaged.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}
