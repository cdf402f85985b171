//! The codec, which encodes the header, the entities and the rows of a frame.

use std::borrow::Cow;

use crate::entropy::EntropyError;
use crate::entropy::arith::{Decoder, Encoder};
use crate::entropy::rice::{BitReader, BitWriter};

use super::baseline::Baseline;
use super::fast::Fast;
use super::frame::{Frame, Layout};
use super::learnt::{Learnt, Means, Models};
use super::past::{Past, Prior};
use super::predict::{Linear, Predictor};
use super::small::Small;
use super::unlearnt::Unlearnt;
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
    scratch: Scratch,
}

/// Memory of the frames that were coded without baselines that learn, for reuse.
#[derive(Debug, Clone, Default)]
struct Scratch {
    unlearnt: Unlearnt,
    means: FreshMeans,
    /// The places at which `means` has left its initial state.
    touched: Vec<u16>,
    walked: Walked,
}

/// Means of which only the touched ones have left their initial state.
#[derive(Debug, Clone, Default)]
struct FreshMeans(Option<Box<Means>>);

impl FreshMeans {
    /// Returns means in their initial state.
    fn fresh(&mut self, layout: &Layout, touched: &mut Vec<u16>) -> &mut Means {
        let means = self.0.get_or_insert_with(|| Box::new(Means::new(layout)));
        means.restore(touched);
        touched.clear();
        means
    }
}

/// The header of the small mode in this version. The header of version 1 has no bit 3.
const HEADER_SMALL: u8 = 0b1001;
const HEADER_DEPTH_SHIFT: u32 = 1;
const HEADER_DEPTH: u8 = 0b110;

const fn header(mode: Mode, depth: usize) -> u8 {
    let small = if matches!(mode, Mode::Small) { HEADER_SMALL } else { 0 };
    small | ((depth as u8) << HEADER_DEPTH_SHIFT)
}

/// Returns the mode and the remaining bytes. Checks that the frame was encoded against `given` baselines.
fn read_header(bytes: &[u8], given: usize) -> Result<(Mode, &[u8]), DeltaError> {
    let (&header, body) = bytes.split_first().ok_or(EntropyError::Truncated)?;
    let mode = match header & !HEADER_DEPTH {
        0 => Mode::Fast,
        HEADER_SMALL => Mode::Small,
        _ => return Err(DeltaError::Header { header }),
    };
    let needed = usize::from((header & HEADER_DEPTH) >> HEADER_DEPTH_SHIFT);
    if needed == given { Ok((mode, body)) } else { Err(DeltaError::Baselines { needed, given }) }
}

impl<P: Predictor> Codec<P> {
    /// Creates a codec that writes in `mode`, and reads both modes.
    pub fn new(layout: Layout, mode: Mode, predictor: P) -> Self {
        Self { layout, mode, limits: Limits::default(), predictor, scratch: Scratch::default() }
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
        let prior = Prior::of_baselines(past);
        let memory = past.first().map_or(&[][..], |baseline| &baseline.memory);
        let mut walked = Walked::default();
        let (ids, learnt) = match self.mode {
            Mode::Fast => {
                let mut means = self.means(past);
                let (mut bits, mut touched) = (BitWriter::new(out), Vec::new());
                let mut fast = Fast { bits: &mut bits, means: &mut means, touched: &mut touched };
                let ids = self.frame(&mut fast, frame.tick(), prior, memory, Some(frame), &mut walked)?;
                bits.finish();
                (ids, Learnt::Fast(means))
            }
            Mode::Small => {
                let mut models = self.models(past);
                let mut small = Small::new(Encoder::new(out), &mut models);
                let ids = self.frame(&mut small, frame.tick(), prior, memory, Some(frame), &mut walked)?;
                small.coder.finish();
                (ids, Learnt::Small(models))
            }
        };
        Ok(self.baseline(frame.tick(), ids.into_owned(), walked, learnt))
    }

    /// Reads the frame of `tick`, which was encoded against `past`. The frame must take all of `bytes`. Returns the baseline that
    /// it becomes.
    ///
    /// # Errors
    /// Any [`DeltaError`] except misuse, if [`Codec::encode`] did not write these bytes against the same past. Damaged bytes may
    /// also decode to another frame, so the carrier must detect damage.
    pub fn decode(&mut self, tick: u32, bytes: &[u8], past: &[&Baseline]) -> Result<Baseline, DeltaError> {
        let past = &past[..past.len().min(Past::DEPTH)];
        let (mode, body) = read_header(bytes, past.len())?;
        let prior = Prior::of_baselines(past);
        let memory = past.first().map_or(&[][..], |baseline| &baseline.memory);
        let mut walked = Walked::default();
        let (ids, learnt) = match mode {
            Mode::Fast => {
                let mut means = self.means(past);
                let (mut bits, mut touched) = (BitReader::new(body), Vec::new());
                let mut fast = Fast { bits: &mut bits, means: &mut means, touched: &mut touched };
                let ids = self.frame(&mut fast, tick, prior, memory, None, &mut walked)?;
                bits.finish()?;
                (ids, Learnt::Fast(means))
            }
            Mode::Small => {
                let mut models = self.models(past);
                let mut small = Small::new(Decoder::new(body), &mut models);
                let ids = self.frame(&mut small, tick, prior, memory, None, &mut walked)?;
                small.coder.finish()?;
                (ids, Learnt::Small(models))
            }
        };
        Ok(self.baseline(tick, ids.into_owned(), walked, learnt))
    }

    /// Like [`Codec::encode`], for ends that keep only frames. The bytes depend only on the frames.
    ///
    /// Use it if many receivers with different losses share one encoding, or if a baseline for each receiver takes too much
    /// memory. The result is a little larger, because nothing is learned from packet to packet.
    ///
    /// The values of `past` are not checked, because the receiver has these frames and has checked them.
    ///
    /// # Errors
    /// [`DeltaError::Frame`] if the frame does not fit the layout, or if the rows of a frame of `past` have another width.
    pub fn encode_against_frames(
        &mut self,
        frame: &Frame,
        past: &[&Frame],
        out: &mut Vec<u8>,
    ) -> Result<(), DeltaError> {
        let past = &past[..past.len().min(Past::DEPTH)];
        frame.check_rows(&self.layout)?;
        past.iter().try_for_each(|past| past.check_rows_beside(frame, &self.layout))?;
        let start = out.len();
        let mut scratch = std::mem::take(&mut self.scratch);
        let written = self.write_against_frames(frame, past, &mut scratch, out);
        self.scratch = scratch;
        if written.is_err() {
            out.truncate(start);
        }
        written
    }

    fn write_against_frames(
        &mut self,
        frame: &Frame,
        past: &[&Frame],
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Result<(), DeltaError> {
        out.push(header(self.mode, past.len()));
        let Scratch { unlearnt, means, touched, walked } = scratch;
        unlearnt.estimate(&self.layout, past);
        let prior = Prior::of_frames(past, &unlearnt.changes, &unlearnt.errors);
        match self.mode {
            Mode::Fast => {
                let means = means.fresh(&self.layout, touched);
                let mut bits = BitWriter::new(out);
                let mut fast = Fast { bits: &mut bits, means, touched };
                self.frame(&mut fast, frame.tick(), prior, &[], Some(frame), walked)?;
                bits.finish();
            }
            Mode::Small => {
                let mut models = Box::new(Models::new(&self.layout));
                let mut small = Small::new(Encoder::new(out), &mut models);
                self.frame(&mut small, frame.tick(), prior, &[], Some(frame), walked)?;
                small.coder.finish();
            }
        }
        Ok(())
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
        let past = self.check_frames(past)?;
        let mut scratch = std::mem::take(&mut self.scratch);
        let read = self.read_against_frames(tick, bytes, past, &mut scratch);
        self.scratch = scratch;
        read
    }

    fn read_against_frames(
        &mut self,
        tick: u32,
        bytes: &[u8],
        past: &[&Frame],
        scratch: &mut Scratch,
    ) -> Result<Frame, DeltaError> {
        let (mode, body) = read_header(bytes, past.len())?;
        let Scratch { unlearnt, means, touched, walked } = scratch;
        unlearnt.estimate(&self.layout, past);
        let prior = Prior::of_frames(past, &unlearnt.changes, &unlearnt.errors);
        let ids = match mode {
            Mode::Fast => {
                let means = means.fresh(&self.layout, touched);
                let mut bits = BitReader::new(body);
                let mut fast = Fast { bits: &mut bits, means, touched };
                let ids = self.frame(&mut fast, tick, prior, &[], None, walked)?;
                bits.finish()?;
                ids
            }
            Mode::Small => {
                let mut models = Box::new(Models::new(&self.layout));
                let mut small = Small::new(Decoder::new(body), &mut models);
                let ids = self.frame(&mut small, tick, prior, &[], None, walked)?;
                small.coder.finish()?;
                ids
            }
        };
        Ok(Frame::from_parts(tick, ids.into_owned(), walked.values.clone()))
    }

    fn check_frames<'p, 'f>(&self, past: &'p [&'f Frame]) -> Result<&'p [&'f Frame], DeltaError> {
        let past = &past[..past.len().min(Past::DEPTH)];
        past.iter().try_for_each(|frame| frame.check(&self.layout))?;
        Ok(past)
    }

    /// Codes a frame, and returns its ids. `walked` receives its rows.
    fn frame<'p, S: Symbols>(
        &mut self,
        symbols: &mut S,
        tick: u32,
        prior: Prior<'p>,
        memory: &[f64],
        truth: Option<&Frame>,
        walked: &mut Walked,
    ) -> Result<Cow<'p, [u32]>, DeltaError> {
        let base: &[u32] = prior.newest().map_or(&[], Frame::ids);
        let entities_max = self.limits.entities_max.min(self.predictor.entities_max());
        let ids = walk::ids(symbols, truth, base, &Limits { entities_max })?;
        let lined = Past::new(tick, self.layout.width(), &ids, prior);
        self.predictor.start(&self.layout, &lined, memory);
        let truth = truth.map(Frame::values);
        walk::rows(symbols, &mut self.predictor, &self.layout, &lined, truth, walked)?;
        Ok(ids)
    }

    fn baseline(&self, tick: u32, ids: Vec<u32>, walked: Walked, learnt: Learnt) -> Baseline {
        let Walked { values, changes, errors } = walked;
        let frame = Frame::from_parts(tick, ids, values);
        Baseline { frame, changes, errors, learnt, memory: self.predictor.memory() }
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
