//! Replication deltas: the state of many entities, encoded as the difference from states that the peer has acknowledged.
//!
//! **The bytes depend on the frames alone.** Both ends keep frames, and nothing is learned from packet to packet. So a lost
//! packet costs only its own frame, and all receivers that have the same frames can share one encoding.
//!
//! ```
//! use nowcast_wire::delta::{Codec, Field, Frame, Layout};
//!
//! let layout = Layout::new(&[Field::Number, Field::Number, Field::Orientation { bits: 10 }])?;
//! let mut sender = Codec::new(layout.clone(), 1_000);
//! let mut receiver = Codec::new(layout, 1_000);
//!
//! let mut first = Frame::new(100);
//! first.push(7, &[1_500, -20, 3, 512, 512, 512]);
//! let mut packet = Vec::new();
//! sender.encode(&first, &[], &mut packet)?;
//! assert_eq!(receiver.decode(100, &packet, &[])?, first);
//!
//! // The receiver acknowledged frame 100, so the next frame is encoded against it.
//! let mut second = Frame::new(101);
//! second.push(7, &[1_510, -20, 3, 512, 512, 514]);
//! packet.clear();
//! sender.encode(&second, &[&first], &mut packet)?;
//! assert_eq!(receiver.decode(101, &packet, &[&first])?, second);
//! # Ok::<(), nowcast_wire::delta::DeltaError>(())
//! ```
//!
//! This module does not know sessions. The protocol that carries the bytes states the ticks of a frame and its baselines, and
//! tracks acknowledgements. `spec/DELTA.md` specifies the format.

mod bits;
mod codec;
mod frame;
mod guess;
mod past;

pub use codec::Codec;
pub use frame::{Field, Frame, Layout};

use thiserror::Error;

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
    /// The header of the bytes is of another version, such as the small mode of version 2.
    #[error("incompatible: header {header:#04x} is not of version 3 of the delta format")]
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
    /// The bytes end before the last number.
    #[error("invalid message: the delta ends early")]
    Truncated,
    /// Bytes or bits remain after the last number.
    #[error("invalid message: the delta does not end where it must")]
    Trailing,
    /// A number is larger than its field can hold.
    #[error("invalid message: a coded number is out of range")]
    Range,
}
