//! The codec, which encodes the header, the entities and the rows of a frame.

use crate::entropy::EntropyError;
use crate::entropy::arith::{Decoder, Encoder};
use crate::entropy::rice::{BitReader, BitWriter};

use super::baseline::Baseline;
use super::fast::Fast;
use super::frame::{Frame, Layout};
use super::learnt::{Learnt, Means, Models};
use super::past::Past;
use super::predict::{Linear, Predictor};
use super::small::Small;
use super::walk::{self, Symbols, Walked};
use super::{DeltaError, Limits, Mode};

/// Encodes frames and decodes them.
///
/// Both ends have a codec with the same layout and predictor. The writer chooses the mode of each frame. Between frames a codec
/// keeps only scratch memory, because the learned state is in the baselines.
#[derive(Debug, Clone)]
pub struct Codec<P = Linear> {
    layout: Layout,
    mode: Mode,
    limits: Limits,
    predictor: P,
}

/// The header of the small mode in this version. The header of version 1 has no bit 3.
const HEADER_SMALL: u8 = 0b1001;
const HEADER_DEPTH_SHIFT: u32 = 1;
const HEADER_DEPTH: u8 = 0b110;

const fn header(mode: Mode, depth: usize) -> u8 {
    let small = if matches!(mode, Mode::Small) { HEADER_SMALL } else { 0 };
    small | ((depth as u8) << HEADER_DEPTH_SHIFT)
}

impl<P: Predictor> Codec<P> {
    /// Creates a codec that writes in `mode`, and reads both modes.
    pub fn new(layout: Layout, mode: Mode, predictor: P) -> Self {
        Self { layout, mode, limits: Limits::default(), predictor }
    }

    /// Sets the limits of [`Codec::decode`].
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the mode of frames that are written from now on. State that was learned in the other mode is not used, so after a
    /// switch the first frames are larger.
    pub fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
    }

    /// The layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Appends `frame` to `out`, and returns its baseline. The baseline may be used once the frame is acknowledged.
    ///
    /// `past` are baselines that the peer has acknowledged, newest first. The frame is encoded against the first baseline. The
    /// other baselines improve the guesses. There are at most [`Past::DEPTH`] baselines. The protocol that carries the bytes
    /// also carries the ticks of the frame and of these baselines.
    ///
    /// # Errors
    /// [`DeltaError::Frame`] if the frame does not fit the layout.
    pub fn encode(
        &mut self,
        frame: &Frame,
        past: &[&Baseline],
        out: &mut Vec<u8>,
    ) -> Result<Baseline, DeltaError> {
        frame.check_rows(&self.layout)?;
        let start = out.len();
        let written = self.write(frame, &past[..past.len().min(Past::DEPTH)], out);
        if written.is_err() {
            out.truncate(start);
        }
        written
    }

    fn write(
        &mut self,
        frame: &Frame,
        past: &[&Baseline],
        out: &mut Vec<u8>,
    ) -> Result<Baseline, DeltaError> {
        out.push(header(self.mode, past.len()));
        match self.mode {
            Mode::Fast => {
                let mut means = self.means(past);
                let mut fast = Fast { bits: BitWriter::new(out), means: &mut means };
                let coded = self.frame(&mut fast, frame.tick(), past, Some(frame))?;
                fast.bits.finish();
                self.baseline(frame.tick(), coded, Learnt::Fast(means))
            }
            Mode::Small => {
                let mut models = self.models(past);
                let mut small = Small::new(Encoder::new(out), &mut models);
                let coded = self.frame(&mut small, frame.tick(), past, Some(frame))?;
                small.coder.finish();
                self.baseline(frame.tick(), coded, Learnt::Small(models))
            }
        }
    }

    /// Reads the frame of `tick`, which was encoded against `past`. The frame must take all of `bytes`. Returns the baseline that
    /// it becomes.
    ///
    /// # Errors
    /// Any [`DeltaError`] except misuse, if [`Codec::encode`] did not write these bytes against the same past. Damaged bytes may
    /// also decode to another frame, so the carrier must detect damage.
    pub fn decode(&mut self, tick: u32, bytes: &[u8], past: &[&Baseline]) -> Result<Baseline, DeltaError> {
        let past = &past[..past.len().min(Past::DEPTH)];
        let (&header, body) = bytes.split_first().ok_or(EntropyError::Truncated)?;
        let mode = match header & !HEADER_DEPTH {
            0 => Mode::Fast,
            HEADER_SMALL => Mode::Small,
            _ => return Err(DeltaError::Header { header }),
        };
        let needed = usize::from((header & HEADER_DEPTH) >> HEADER_DEPTH_SHIFT);
        if needed != past.len() {
            return Err(DeltaError::Baselines { needed, given: past.len() });
        }
        let (coded, learnt) = match mode {
            Mode::Fast => {
                let mut means = self.means(past);
                let mut fast = Fast { bits: BitReader::new(body), means: &mut means };
                let coded = self.frame(&mut fast, tick, past, None)?;
                fast.bits.finish()?;
                (coded, Learnt::Fast(means))
            }
            Mode::Small => {
                let mut models = self.models(past);
                let mut small = Small::new(Decoder::new(body), &mut models);
                let coded = self.frame(&mut small, tick, past, None)?;
                small.coder.finish()?;
                (coded, Learnt::Small(models))
            }
        };
        self.baseline(tick, coded, learnt)
    }

    /// Like [`Codec::encode`], for ends that keep only frames. The bytes depend only on the frames.
    ///
    /// Use it if many receivers with different losses share one encoding, or if a baseline for each receiver takes too much
    /// memory. The result is a little larger, because nothing is learned from packet to packet.
    ///
    /// # Errors
    /// [`DeltaError::Frame`] if a frame does not fit the layout.
    pub fn encode_against_frames(
        &mut self,
        frame: &Frame,
        past: &[&Frame],
        out: &mut Vec<u8>,
    ) -> Result<(), DeltaError> {
        let past = self.of_frames(past)?;
        self.encode(frame, &past.iter().collect::<Vec<_>>(), out).map(|_| ())
    }

    /// Reads the bytes of [`Codec::encode_against_frames`].
    ///
    /// # Errors
    /// Like [`Codec::decode`], and [`DeltaError::Frame`] if a frame of `past` does not fit the layout.
    pub fn decode_against_frames(
        &mut self,
        tick: u32,
        bytes: &[u8],
        past: &[&Frame],
    ) -> Result<Frame, DeltaError> {
        let past = self.of_frames(past)?;
        self.decode(tick, bytes, &past.iter().collect::<Vec<_>>()).map(Baseline::into_frame)
    }

    fn of_frames(&self, past: &[&Frame]) -> Result<Vec<Baseline>, DeltaError> {
        let past = &past[..past.len().min(Past::DEPTH)];
        past.iter().try_for_each(|frame| frame.check(&self.layout))?;
        Ok(Baseline::of_frames(&self.layout, past))
    }

    fn frame<S: Symbols>(
        &mut self,
        symbols: &mut S,
        tick: u32,
        past: &[&Baseline],
        truth: Option<&Frame>,
    ) -> Result<(Vec<u32>, Walked), DeltaError> {
        let base: &[u32] = past.first().map_or(&[], |baseline| baseline.frame.ids());
        let entities_max = self.limits.entities_max.min(self.predictor.entities_max());
        let ids = walk::ids(symbols, truth, base, &Limits { entities_max })?;
        let lined = Past::new(tick, self.layout.width(), &ids, past);
        let memory = past.first().map_or(&[][..], |baseline| &baseline.memory);
        self.predictor.start(&self.layout, &lined, memory);
        let walked =
            walk::rows(symbols, &mut self.predictor, &self.layout, &lined, truth.map(Frame::values))?;
        Ok((ids, walked))
    }

    fn baseline(
        &self,
        tick: u32,
        (ids, walked): (Vec<u32>, Walked),
        learnt: Learnt,
    ) -> Result<Baseline, DeltaError> {
        Ok(Baseline {
            frame: Frame::from_parts(tick, ids, walked.values),
            changes: walked.changes,
            errors: walked.errors,
            learnt,
            memory: self.predictor.memory(),
        })
    }

    /// Returns the learned state of the newest baseline, or the initial state if there is none.
    fn means(&self, past: &[&Baseline]) -> Box<Means> {
        match past.first().map(|baseline| &baseline.learnt) {
            Some(Learnt::Fast(means)) => means.clone(),
            _ => Box::new(Means::new(&self.layout)),
        }
    }

    fn models(&self, past: &[&Baseline]) -> Box<Models> {
        match past.first().map(|baseline| &baseline.learnt) {
            Some(Learnt::Small(models)) => models.clone(),
            _ => Box::new(Models::new(&self.layout)),
        }
    }
}
