//! The state that each end keeps of a frame, so that later frames can be encoded against it.

use super::frame::Frame;
use super::learnt::Learnt;

/// A frame together with the state learned up to it.
///
/// The sender keeps a baseline for each frame that it sent, until the receiver has acknowledged a later one. The receiver keeps
/// the baselines to which the sender may still refer. The models are part of the baseline. So a lost packet cannot make the two
/// ends disagree, because state that was learned from a lost packet is never used.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    pub(super) frame: Frame,
    /// For each row, whether it changed in this frame (lowest bit), in the frame's baseline (next bit), and so on.
    pub(super) changes: Vec<u8>,
    /// For each value, the recent error of its guess, in sixteenths of a step.
    pub(super) errors: Vec<u16>,
    pub(super) learnt: Learnt,
    /// The predictor's memory.
    pub(super) memory: Vec<f64>,
}

impl Baseline {
    /// The frame.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }
}
