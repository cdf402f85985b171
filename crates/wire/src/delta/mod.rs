//! Replication deltas: the state of many entities, told as the difference from what the peer has acknowledged.

mod baseline;
mod fast;
mod frame;
mod orientation;
mod past;
mod predict;
mod small;
mod walk;

pub use baseline::Baseline;
pub use frame::{Field, Frame, Layout};
pub use past::Past;
pub use predict::{Guess, Linear, Predictor, magnitude};

use thiserror::Error;

use crate::entropy::EntropyError;
use crate::entropy::arith::{Decoder, Encoder};
use crate::entropy::rice::{BitReader, BitWriter};

use small::{Models, Small};

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

/// Turns frames into bytes and back.
#[derive(Debug, Clone)]
pub struct Codec<P = Linear> {
    layout: Layout,
    mode: Mode,
    limits: Limits,
    predictor: P,
}

impl<P: Predictor + Clone> Codec<P> {
    /// A codec.
    pub fn new(layout: Layout, mode: Mode, predictor: P) -> Self {
        Self { layout, mode, limits: Limits::default(), predictor }
    }

    /// Appends `frame` to `out` and returns the baseline it becomes once it is acknowledged.
    pub fn encode(
        &mut self,
        frame: &Frame,
        past: &[&Baseline],
        out: &mut Vec<u8>,
    ) -> Result<Baseline, DeltaError> {
        frame.check(&self.layout)?;
        let past = &past[..past.len().min(Past::DEPTH)];
        out.push(u8::from(self.mode == Mode::Small) | (past.len() as u8) << 1);
        let base: &[u32] = past.first().map_or(&[], |baseline| baseline.frame().ids());
        let lined = Past::new(frame.tick(), self.layout.width(), frame.ids(), past);
        let memory = past.first().map_or(&[][..], |baseline| &baseline.memory);
        self.predictor.start(&self.layout, &lined, memory);
        let (walked, models) = match self.mode {
            Mode::Fast => {
                let mut fast = fast::Fast { bits: BitWriter::new(out) };
                walk::ids(&mut fast, Some(frame), base, &self.limits)?;
                let walked =
                    walk::rows(&mut fast, &mut self.predictor, &self.layout, &lined, Some(frame.values()))?;
                fast.bits.finish();
                (walked, None)
            }
            Mode::Small => {
                let mut models = self.models(past);
                let mut small = Small { coder: Encoder::new(out), models: &mut models };
                walk::ids(&mut small, Some(frame), base, &self.limits)?;
                let walked =
                    walk::rows(&mut small, &mut self.predictor, &self.layout, &lined, Some(frame.values()))?;
                small.coder.finish();
                (walked, Some(models))
            }
        };
        Ok(Baseline {
            frame: frame.clone(),
            traces: walked.traces,
            errors: walked.errors,
            models,
            memory: self.predictor.memory(),
        })
    }

    /// Reads the frame of `tick` from all of `bytes`, coded against `past`, and returns the baseline it becomes.
    pub fn decode(&mut self, tick: u32, bytes: &[u8], past: &[&Baseline]) -> Result<Baseline, DeltaError> {
        let past = &past[..past.len().min(Past::DEPTH)];
        let (&header, body) = bytes.split_first().ok_or(EntropyError::Truncated)?;
        if header > 7 || header & 1 != u8::from(self.mode == Mode::Small) {
            return Err(DeltaError::Header { header });
        }
        if usize::from(header >> 1) != past.len() {
            return Err(DeltaError::Baselines { needed: usize::from(header >> 1), given: past.len() });
        }
        let base: &[u32] = past.first().map_or(&[], |baseline| baseline.frame().ids());
        let memory = past.first().map_or(&[][..], |baseline| &baseline.memory);
        let width = self.layout.width();
        let (ids, walked, models) = match self.mode {
            Mode::Fast => {
                let mut fast = fast::Fast { bits: BitReader::new(body) };
                let ids = walk::ids(&mut fast, None, base, &self.limits)?;
                let lined = Past::new(tick, width, &ids, past);
                self.predictor.start(&self.layout, &lined, memory);
                let walked = walk::rows(&mut fast, &mut self.predictor, &self.layout, &lined, None)?;
                fast.bits.finish()?;
                (ids, walked, None)
            }
            Mode::Small => {
                let mut models = self.models(past);
                let mut small = Small { coder: Decoder::new(body), models: &mut models };
                let ids = walk::ids(&mut small, None, base, &self.limits)?;
                let lined = Past::new(tick, width, &ids, past);
                self.predictor.start(&self.layout, &lined, memory);
                let walked = walk::rows(&mut small, &mut self.predictor, &self.layout, &lined, None)?;
                small.coder.finish()?;
                (ids, walked, Some(models))
            }
        };
        let frame = Frame::from_rows(tick, &self.layout, ids, walked.values)?;
        Ok(Baseline {
            frame,
            traces: walked.traces,
            errors: walked.errors,
            models,
            memory: self.predictor.memory(),
        })
    }

    fn models(&self, past: &[&Baseline]) -> Box<Models> {
        past.first()
            .and_then(|baseline| baseline.models.clone())
            .unwrap_or_else(|| Box::new(Models::new(&self.layout)))
    }
}
