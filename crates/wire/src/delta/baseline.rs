//! What an end keeps of a frame, so that later ones can be told as differences.

use super::frame::Frame;
use super::learnt::Learnt;

/// A frame together with everything that was learnt up to it.
///
/// The sender keeps one for each frame it sent, until the receiver has acknowledged a later one; the receiver keeps those
/// the sender may still refer to. Because the models are part of it, a lost packet cannot make the two ends disagree:
/// what a lost packet taught is never used.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    pub(super) frame: Frame,
    /// For every row, whether it changed in this frame (lowest bit), in the baseline of it, and so on.
    pub(super) changes: Vec<u8>,
    /// For every value, how far off its guess has lately been, in sixteenths of a step.
    pub(super) errors: Vec<u16>,
    pub(super) learnt: Learnt,
    /// What the predictor keeps.
    pub(super) memory: Vec<f64>,
}

impl Baseline {
    /// The frame.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    pub(super) fn into_frame(self) -> Frame {
        self.frame
    }
}
