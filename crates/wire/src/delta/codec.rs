//! The codec: the header, the entities and the rows of a frame, each defined once for both directions.

use std::borrow::Cow;

use super::DeltaError;
use super::bits::{BitReader, BitWriter, Bits, unzigzag, zigzag};
use super::frame::{Column, Frame, Layout};
use super::guess::{Guesses, expected_errors};
use super::past::{DEPTH_MAX, Past};

/// Encodes frames and decodes them. Both ends have a codec with the same layout. Between frames it keeps only scratch memory.
#[derive(Debug)]
pub struct Codec {
    layout: Layout,
    entities_max: usize,
    means: Means,
}

const HEADER_DEPTH_SHIFT: u32 = 1;
const HEADER_DEPTH: u8 = 0b110;

impl Codec {
    /// Creates a codec for frames with at most this number of entities.
    pub fn new(layout: Layout, entities_max: usize) -> Self {
        let means = Means::new(layout.width());
        Self { layout, entities_max, means }
    }

    /// Appends `frame` to `out`. `past` are frames that the peer has acknowledged, newest first. The frame is encoded against the
    /// first one, and up to two older frames improve the guesses. Further frames are not used.
    ///
    /// The values of `past` are not checked, because the receiver has these frames and has checked them.
    ///
    /// # Errors
    /// [`DeltaError::Frame`] if the frame does not fit the layout, or if a frame in `past` has rows with another
    /// width. [`DeltaError::TooMany`] if the frame has too many entities.
    pub fn encode(&mut self, frame: &Frame, past: &[&Frame], out: &mut Vec<u8>) -> Result<(), DeltaError> {
        let past = &past[..past.len().min(DEPTH_MAX)];
        frame.check_rows(&self.layout)?;
        past.iter().try_for_each(|past| past.check_rows_beside(frame, &self.layout))?;
        let start = out.len();
        out.push((past.len() as u8) << HEADER_DEPTH_SHIFT);
        let mut bits = BitWriter::new(out);
        let coded = self.code(&mut bits, frame.tick(), past, Some(frame));
        bits.finish();
        if coded.is_err() {
            out.truncate(start);
        }
        coded.map(drop)
    }

    /// Reads the frame of `tick`, which was encoded against `past`. The frame must take all of `bytes`.
    ///
    /// # Errors
    /// Any [`DeltaError`] except misuse, if [`Codec::encode`] did not write these bytes against the same past. Damaged bytes may
    /// also decode to another frame, so the carrier must detect damage. [`DeltaError::Frame`] if a frame of `past` does not fit
    /// the layout.
    pub fn decode(&mut self, tick: u32, bytes: &[u8], past: &[&Frame]) -> Result<Frame, DeltaError> {
        let past = &past[..past.len().min(DEPTH_MAX)];
        past.iter().try_for_each(|frame| frame.check(&self.layout))?;
        let (&header, body) = bytes.split_first().ok_or(DeltaError::Truncated)?;
        if header & !HEADER_DEPTH != 0 {
            return Err(DeltaError::Header { header });
        }
        let (needed, given) = (usize::from(header >> HEADER_DEPTH_SHIFT), past.len());
        if needed != given {
            return Err(DeltaError::Baselines { needed, given });
        }
        let mut bits = BitReader::new(body);
        let (ids, values) = self.code(&mut bits, tick, past, None)?;
        bits.finish()?;
        Ok(Frame::from_parts(tick, ids.into_owned(), values))
    }

    /// Codes a frame, which a writer passes as `truth`. Returns the ids and, for a reader, the values.
    fn code<'p, B: Bits>(
        &mut self,
        bits: &mut B,
        tick: u32,
        past: &[&'p Frame],
        truth: Option<&Frame>,
    ) -> Result<(Cow<'p, [u32]>, Vec<i32>), DeltaError> {
        let base = past.first().map_or(&[][..], |newest| newest.ids());
        let ids = code_ids(bits, truth.map(Frame::ids), base, self.entities_max)?;
        let past = Past::new(tick, self.layout.width(), &ids, past);
        self.means.reset();
        let mut walk = Walk {
            bits,
            layout: &self.layout,
            means: &mut self.means,
            past: &past,
            truth: truth.map(Frame::values),
            values: Vec::new(),
            last_error: 0,
        };
        for row in 0..ids.len() {
            walk.row(row)?;
        }
        let values = walk.values;
        Ok((ids, values))
    }
}

/// Codes the entities of the frame: those of the baseline that remain, and the new ones. A writer passes the ids as `truth`.
fn code_ids<'b, B: Bits>(
    coder: &mut B,
    truth: Option<&[u32]>,
    base: &'b [u32],
    entities_max: usize,
) -> Result<Cow<'b, [u32]>, DeltaError> {
    if coder.bits(u32::from(truth == Some(base)), 1)? == 1 {
        return Ok(Cow::Borrowed(base));
    }
    let mut ids = Vec::new();
    for &id in base {
        let stays = truth.is_some_and(|truth| truth.binary_search(&id).is_ok());
        if coder.bits(u32::from(stays), 1)? == 1 {
            ids.push(id);
        }
    }
    let new = truth.unwrap_or_default().iter().copied().filter(|id| base.binary_search(id).is_err());
    let new: Vec<u32> = new.collect();
    let count = coder.bits(new.len() as u32, 24)? as usize;
    if ids.len() + count > entities_max {
        return Err(DeltaError::TooMany { count: ids.len() + count, max: entities_max });
    }
    let mut next = Some(0u32);
    for at in 0..count {
        let first = next.ok_or(DeltaError::Range)?;
        // A gap is coded as its width in bits, followed by these bits.
        let gap = new.get(at).map_or(0, |id| id - first);
        let width = coder.bits(32 - gap.leading_zeros(), 6)?;
        if width > 32 {
            return Err(DeltaError::Range);
        }
        let id = first.checked_add(coder.bits(gap, width)?).ok_or(DeltaError::Range)?;
        if base.binary_search(&id).is_ok() {
            return Err(DeltaError::Range);
        }
        ids.push(id);
        next = id.checked_add(1);
    }
    ids.sort_unstable();
    Ok(Cow::Owned(ids))
}

/// Codes the rows of a frame, one after the other.
struct Walk<'a, B> {
    bits: &'a mut B,
    layout: &'a Layout,
    means: &'a mut Means,
    past: &'a Past<'a>,
    /// All values, for a writer.
    truth: Option<&'a [i32]>,
    /// The values that a reader has decoded.
    values: Vec<i32>,
    /// The error of the guesses in the last row that was coded, in sixteenths of a step.
    last_error: u32,
}

impl<B: Bits> Walk<'_, B> {
    fn row(&mut self, row: usize) -> Result<(), DeltaError> {
        let width = self.layout.width();
        let start = row * width;
        let truth = self.truth.map(|truth| &truth[start..start + width]);
        let rows = self.past.rows(row);
        // A row that was not in the baseline always counts as changed.
        if let Some([base, ..]) = rows {
            let is_changed = truth.is_some_and(|truth| truth != base);
            if self.bits.bits(u32::from(is_changed), 1)? == 0 {
                if truth.is_none() {
                    self.values.extend_from_slice(base);
                }
                return Ok(());
            }
        }
        // Unchanged rows need no check, because they equal the baseline.
        truth.map_or(Ok(()), |truth| self.layout.check(truth))?;
        self.changed_row(start, rows)
    }

    fn changed_row(&mut self, start: usize, rows: Option<[&[i32]; DEPTH_MAX]>) -> Result<(), DeltaError> {
        let columns = self.layout.columns();
        let errors = expected_errors(rows);
        let mut guesses = Guesses::new(rows, self.past, start, columns.len());
        let mut residuals = [0; Layout::COLUMNS_MAX];
        if let Some(truth) = self.truth {
            for (column, &kind) in columns.iter().enumerate() {
                residuals[column] = kind.residual(truth[start + column], guesses.column(column, kind, truth));
            }
        }
        let coded = self.mask(&errors[..columns.len()], &residuals)?;
        let mut row_error = None;
        for (column, &kind) in columns.iter().enumerate() {
            let mut residual = residuals[column];
            if coded >> column & 1 == 1 {
                let error = row_error.unwrap_or(self.last_error);
                residual = self.residual(residual, column, kind, errors[column], error)?;
            }
            if self.truth.is_none() {
                // A reader guesses a column when it knows the earlier ones.
                let guess = guesses.column(column, kind, &self.values);
                self.values.push(kind.value(residual, guess)?);
            }
            if kind != Column::Largest {
                let size = residual.unsigned_abs().min(RESIDUAL_MAX) * 16;
                row_error = Some(row_error.map_or(size, |before| u32::midpoint(before, size)));
            }
        }
        self.last_error = row_error.unwrap_or(self.last_error);
        Ok(())
    }

    /// Codes which columns have a residual, and returns them as bits. Columns whose guesses are expected to be right are not coded
    /// one by one while all of them are right.
    fn mask(&mut self, errors: &[u32], residuals: &[i32]) -> Result<u64, DeltaError> {
        let columns = |holds: &dyn Fn(usize) -> bool| {
            (0..errors.len()).fold(0, |all, column| all | (u64::from(holds(column)) << column))
        };
        let quiet = columns(&|column| errors[column] == 0);
        let missed = columns(&|column| residuals[column] != 0);
        let mut coded = !quiet;
        if quiet != 0 && self.bits.bits(u32::from(missed & quiet != 0), 1)? == 1 {
            for column in (0..errors.len()).filter(|column| quiet >> column & 1 == 1) {
                coded |= u64::from(self.bits.bits((missed >> column) as u32 & 1, 1)?) << column;
            }
        }
        Ok(coded)
    }

    fn residual(
        &mut self,
        residual: i32,
        column: usize,
        kind: Column,
        error: u32,
        row_error: u32,
    ) -> Result<i32, DeltaError> {
        if kind == Column::Largest {
            let other = self.bits.rice(residual as u32, 0)?;
            return if other < 4 { Ok(other as i32) } else { Err(DeltaError::Range) };
        }
        let mean = self.means.of(column, error, row_error);
        let share = *mean / 22;
        let k = if share == 0 { 0 } else { 32 - share.leading_zeros() };
        let value = self.bits.rice(zigzag(residual), k)?;
        *mean = (*mean * 31 + value.min(1 << 16) * 16) / 32;
        Ok(unzigzag(value))
    }
}

/// A residual of this size or more counts as this size.
const RESIDUAL_MAX: u32 = 4_000;

/// The mean zigzagged residuals of a frame in sixteenths, for each column and situation.
#[derive(Debug)]
struct Means {
    means: Vec<u32>,
    /// The places at which a mean may have left its initial state.
    touched: Vec<u16>,
}

const SITUATIONS: usize = 32 * 16;

const _: () = assert!(Layout::COLUMNS_MAX * SITUATIONS <= 1 << 16, "16 bits hold every place");

/// The initial state of a column.
static COLUMN: [u32; SITUATIONS] = {
    let mut means = [0; SITUATIONS];
    let mut situation = 0;
    while situation < SITUATIONS {
        // The value for the first half octave of a magnitude, doubled because zigzag doubles numbers.
        let own = (situation / 16) as u32;
        means[situation] = if own < 4 { own * 2 } else { (2 + (own & 1)) << (own / 2) };
        situation += 1;
    }
    means
};

impl Means {
    fn new(columns: usize) -> Self {
        Self { means: COLUMN.repeat(columns), touched: Vec::new() }
    }

    /// Returns all means to their initial state.
    fn reset(&mut self) {
        for place in self.touched.drain(..) {
            self.means[usize::from(place)] = COLUMN[usize::from(place) % SITUATIONS];
        }
    }

    fn of(&mut self, column: usize, error: u32, row_error: u32) -> &mut u32 {
        let place = column * SITUATIONS + magnitude(error) * 16 + magnitude(row_error) / 2;
        self.touched.push(place as u16);
        &mut self.means[place]
    }
}

/// The size of a number on a scale of half octaves: 0, 1, 2, 3, 4 (for 4 and 5), 5 (6 and 7), 6 (8 to 11), … up to 31.
#[inline]
fn magnitude(size: u32) -> usize {
    if size < 4 {
        return size as usize;
    }
    let octave = 31 - size.leading_zeros();
    (2 * octave + (size >> (octave - 1) & 1)).min(31) as usize
}
