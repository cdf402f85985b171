//! What an end keeps of a frame, so that later ones can be told as differences.

use super::frame::Frame;
use super::small::Models;

/// A frame together with everything that was learnt up to it.
///
/// The sender keeps one for each frame it sent, until the receiver has acknowledged a later one; the receiver keeps those
/// the sender may still refer to. Because the models are part of it, a lost packet cannot make the two ends disagree:
/// what a lost packet taught is never used.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    pub(super) frame: Frame,
    /// For every row, what is remembered of its motion.
    pub(super) traces: Vec<Trace>,
    /// For every value, how far off its guess has lately been, in sixteenths of a step.
    pub(super) errors: Vec<u16>,
    /// The models of the small mode; none after a frame of the fast mode.
    pub(super) models: Option<Box<Models>>,
    /// What the predictor keeps.
    pub(super) memory: Vec<f64>,
}

impl Baseline {
    /// The frame.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }
}

/// What is remembered of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Trace {
    /// Whether the row changed in this frame (lowest bit), in the baseline of it, and so on.
    pub(super) changed: u8,
    /// Which columns were not as guessed.
    pub(super) missed: u64,
}

/// The new average of errors after one of `error` steps: half of the old, half of the new.
#[inline]
pub(super) fn average(before: u16, error: u32) -> u16 {
    let error = error.min(4_000) * 16;
    ((u32::from(before) + error) / 2) as u16
}
