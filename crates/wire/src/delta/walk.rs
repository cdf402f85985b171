//! Defines the bytes of a frame once, for both directions and both modes.

use std::borrow::Cow;

use crate::entropy::EntropyError;

use super::frame::{Column, Frame, Layout};
use super::past::Past;
use super::predict::{Guess, Predictor};
use super::{DeltaError, Limits};

/// A mode in one direction. A writer passes the symbol to write to each call. A reader's argument is ignored, and the call reads
/// a symbol. Both return the symbol.
pub(super) trait Symbols {
    fn plain(&mut self, value: u32, bits: u32) -> Result<u32, EntropyError>;
    fn row_changed(&mut self, changed: bool, scene: &Scene) -> Result<bool, EntropyError>;
    /// Whether this mode writes masks.
    const MASKS: bool;
    /// Codes a mask of the columns of a changed row in which a guess may have failed. `quiet` are the columns that had no recent
    /// failure.
    fn mask(&mut self, missed: u64, quiet: u64) -> Result<u64, EntropyError>;
    fn value(&mut self, residual: i32, column: usize, scene: &Scene) -> Result<i32, EntropyError>;
}

/// The context of a symbol before it is coded. Modes choose their models from it.
pub(super) struct Scene {
    /// Whether the row changed in the baseline (lowest bit), in the baseline of that baseline (next bit), and so on.
    pub(super) changed: u8,
    /// Whether the previous rows changed, with the last row in the lowest bit.
    pub(super) near_changed: usize,
    /// The flags of the row in the baseline, with the first flag in the lowest bit.
    pub(super) flags: u8,
    /// The greatest movement of a column of the row between the last two baselines.
    pub(super) speed: u32,
    /// The meaning of the column.
    pub(super) kind: Column,
    /// The group of the column.
    pub(super) group: usize,
    /// The recent error of the column's guesses, in sixteenths of a step.
    pub(super) error: u16,
    /// The error of the guesses in this row so far, or in the previous row, in sixteenths of a step.
    pub(super) row_error: u32,
    pub(super) guess: Guess,
}

/// The output of a walk in addition to symbols.
#[derive(Debug, Clone, Default)]
pub(super) struct Walked {
    pub(super) values: Vec<i32>,
    pub(super) changes: Vec<u8>,
    pub(super) errors: Vec<u16>,
}

/// Walks over the rows of a frame that has the given ids. When writing, `truth` holds the values. Replaces `out`.
pub(super) fn rows<S: Symbols, P: Predictor>(
    symbols: &mut S,
    predictor: &mut P,
    layout: &Layout,
    past: &Past<'_>,
    truth: Option<&[i32]>,
    out: &mut Walked,
) -> Result<(), DeltaError> {
    let columns = layout.columns();
    let mut flag_columns = columns.iter().enumerate().filter(|(_, column)| **column == Column::Flag);
    let flag_columns = [0; 2].map(|_| flag_columns.next().map(|(at, _)| at));
    out.start(past, columns.len());
    let guesses = [Guess::default(); Layout::COLUMNS_MAX];
    let (near_changed, last_error) = (0, 0);
    let mut walk = Walk {
        symbols,
        predictor,
        layout,
        columns,
        flag_columns,
        past,
        out,
        guesses,
        near_changed,
        last_error,
    };
    for row in 0..past.rows() {
        walk.row(row, truth.map(|values| &values[row * columns.len()..][..columns.len()]))?;
    }
    Ok(())
}

impl Walked {
    /// Starts with all rows as in the newest baseline, because most rows do not change.
    fn start(&mut self, past: &Past<'_>, width: usize) {
        let Self { values, changes, errors } = self;
        values.clear();
        changes.clear();
        errors.clear();
        let len = past.rows() * width;
        let Some(newest) = past.newest() else {
            values.resize(len, 0);
            return errors.resize(len, FRESH_ERROR);
        };
        if past.same_ids() {
            values.extend_from_slice(newest.values());
            return errors.extend_from_slice(past.errors());
        }
        for row in 0..past.rows() {
            if let Some(place) = past.place(0, row) {
                values.extend_from_slice(newest.row(place, width));
                errors.extend_from_slice(&past.errors()[place * width..][..width]);
            } else {
                values.resize(values.len() + width, 0);
                errors.resize(errors.len() + width, FRESH_ERROR);
            }
        }
    }
}

struct Walk<'a, S, P> {
    symbols: &'a mut S,
    predictor: &'a mut P,
    layout: &'a Layout,
    columns: &'a [Column],
    /// The first two flags.
    flag_columns: [Option<usize>; 2],
    past: &'a Past<'a>,
    out: &'a mut Walked,
    /// The guesses of the present row, if the mask was written by them.
    guesses: [Guess; Layout::COLUMNS_MAX],
    near_changed: usize,
    last_error: u32,
}

/// The error with which a new row starts, because nothing is known about it.
const FRESH_ERROR: u16 = 1 << 12;

impl<S: Symbols, P: Predictor> Walk<'_, S, P> {
    fn row(&mut self, row: usize, truth: Option<&[i32]>) -> Result<(), DeltaError> {
        let base = self.past.row(0, row);
        let mut scene = Scene {
            changed: 1,
            near_changed: self.near_changed,
            flags: 0,
            speed: 0,
            kind: Column::Number,
            group: 0,
            error: 0,
            row_error: self.last_error,
            guess: Guess::default(),
        };
        // A row that was not in the baseline always counts as changed.
        let mut changed = true;
        if let Some(base) = base {
            scene.changed = self.past.changes(row);
            scene.flags = self.flags(base);
            // Most rows rest. For such a row, the speed is not needed and not computed.
            if scene.changed != 0 {
                scene.speed = self.past.row(1, row).map_or(0, |before| speed(self.columns, base, before));
            }
            changed = self.symbols.row_changed(truth.is_some_and(|truth| truth != base), &scene)?;
        }
        self.out.changes.push((scene.changed << 1) | u8::from(changed));
        self.near_changed = (self.near_changed << 1) | usize::from(changed);
        if changed { self.changed_row(row, base.is_some(), truth, &mut scene) } else { Ok(()) }
    }

    fn changed_row(
        &mut self,
        row: usize,
        known: bool,
        truth: Option<&[i32]>,
        scene: &mut Scene,
    ) -> Result<(), DeltaError> {
        // Unchanged rows need no check, because they equal the baseline.
        truth.map_or(Ok(()), |truth| self.layout.check(truth))?;
        let width = self.columns.len();
        let at = row * width;
        let mask = self.mask(row, known, truth)?;
        let mut row_error = None;
        for column in 0..width {
            scene.kind = self.columns[column];
            scene.group = self.layout.groups()[column];
            scene.guess = match truth {
                Some(_) if S::MASKS => self.guesses[column],
                _ => self.guess(row, column, known, truth),
            };
            scene.error = self.out.errors[at + column];
            let mut rest = truth.map_or(0, |truth| residual(scene.kind, truth[column], scene.guess.value));
            if (mask >> column) & 1 == 1 {
                rest = self.symbols.value(rest, column, scene)?;
            }
            let value = match truth {
                Some(truth) => truth[column],
                None => restore(scene.kind, rest, scene.guess.value),
            };
            if truth.is_none() && !scene.kind.holds(value) {
                return Err(EntropyError::Range.into());
            }
            self.out.values[at + column] = value;
            let size = sixteenths(rest);
            self.out.errors[at + column] = ((u32::from(scene.error) + size) / 2) as u16;
            if !matches!(scene.kind, Column::Flag | Column::Largest { .. }) {
                scene.row_error = row_error.map_or(size, |before| u32::midpoint(before, size));
                row_error = Some(scene.row_error);
            }
        }
        self.last_error = scene.row_error;
        if known {
            self.predictor.learn(self.past, row, &self.out.values[at..at + width]);
        }
        Ok(())
    }

    /// Codes which columns have wrong guesses. Columns whose recent guesses were right are not coded one by one while all of them
    /// stay right.
    fn mask(&mut self, row: usize, known: bool, truth: Option<&[i32]>) -> Result<u64, EntropyError> {
        if !S::MASKS {
            return Ok(u64::MAX);
        }
        let mut missed = 0;
        if let Some(truth) = truth {
            // A reader computes these guesses one by one, while it decodes the earlier columns.
            self.guess_row(row, known, truth);
            for (column, (kind, guess)) in self.columns.iter().zip(&self.guesses).enumerate() {
                missed |= u64::from(residual(*kind, truth[column], guess.value) != 0) << column;
            }
        }
        let errors = &self.out.errors[row * self.columns.len()..][..self.columns.len()];
        let quiet = errors.iter().enumerate();
        let quiet = quiet.fold(0, |all, (column, &error)| all | (u64::from(error == 0) << column));
        self.symbols.mask(missed, quiet)
    }

    /// Guesses all columns of a row that is written.
    fn guess_row(&mut self, row: usize, known: bool, truth: &[i32]) {
        let width = self.columns.len();
        if known {
            return self.predictor.guess_row(self.past, row, truth, &mut self.guesses[..width]);
        }
        for column in 0..width {
            self.guesses[column] = self.guess(row, column, known, Some(truth));
        }
    }

    /// Guesses a column, given the columns before it. A writer uses the true values of these columns, and a reader uses the
    /// decoded values.
    #[inline]
    fn guess(&mut self, row: usize, column: usize, known: bool, truth: Option<&[i32]>) -> Guess {
        let start = row * self.columns.len();
        if known {
            let before = truth.unwrap_or(&self.out.values[start..]);
            return self.predictor.guess(self.past, row, column, &before[..column]);
        }
        // For an entity that is not in the baseline, the previous row is the best guess.
        let before = start.checked_sub(self.columns.len());
        let value = before.map_or(0, |before| self.out.values[before + column]);
        Guess { value, lean: 0, doubt: 31, moved: 0 }
    }

    fn flags(&self, row: &[i32]) -> u8 {
        let flag = |at: usize| self.flag_columns[at].map_or(0, |column| row[column] as u8);
        flag(0) | flag(1) << 1
    }
}

/// The size of a residual in sixteenths of a step. Larger residuals are limited.
#[inline]
pub(super) fn sixteenths(rest: i32) -> u32 {
    rest.unsigned_abs().min(4_000) * 16
}

fn residual(kind: Column, value: i32, guess: i32) -> i32 {
    match kind {
        Column::Flag => value ^ (guess & 1),
        // The other indices are numbered from the guess on, in a circle.
        Column::Largest { .. } => value.wrapping_sub(guess) & 3,
        _ => kind.difference(value, guess),
    }
}

fn restore(kind: Column, residual: i32, guess: i32) -> i32 {
    match kind {
        Column::Flag => residual ^ (guess & 1),
        Column::Largest { .. } => guess.wrapping_add(residual) & 3,
        _ => kind.sum(guess, residual),
    }
}

fn speed(columns: &[Column], base: &[i32], before: &[i32]) -> u32 {
    let moved = columns.iter().zip(base.iter().zip(before));
    moved
        .map(|(column, (&to, &from))| column.difference(to, from).unsigned_abs())
        .max()
        .unwrap_or(0)
        .min(1 << 20)
}

/// Codes the entities of the frame: those of the baseline that remain, and the new ones.
pub(super) fn ids<'b, S: Symbols>(
    symbols: &mut S,
    frame: Option<&Frame>,
    base: &'b [u32],
    limits: &Limits,
) -> Result<Cow<'b, [u32]>, DeltaError> {
    let truth = frame.map(Frame::ids);
    let same = symbols.plain(u32::from(truth.is_some_and(|ids| ids == base)), 1)? == 1;
    if same {
        return Ok(Cow::Borrowed(base));
    }
    let mut kept = Vec::new();
    for &id in base {
        let stays = truth.is_some_and(|ids| ids.binary_search(&id).is_ok());
        if symbols.plain(u32::from(stays), 1)? == 1 {
            kept.push(id);
        }
    }
    let fresh: Vec<u32> = truth
        .map_or(Vec::new(), |ids| ids.iter().copied().filter(|id| base.binary_search(id).is_err()).collect());
    let count = symbols.plain(fresh.len() as u32, 24)? as usize;
    if kept.len() + count > limits.entities_max {
        return Err(DeltaError::TooMany { count: kept.len() + count, max: limits.entities_max });
    }
    let mut next = 0u32;
    let mut added = Vec::new();
    for at in 0..count {
        // A gap is coded as its width in bits, followed by these bits.
        let gap = fresh.get(at).map_or(0, |id| id - next);
        let bits = symbols.plain(32 - gap.leading_zeros(), 6)?;
        if bits > 32 {
            return Err(EntropyError::Range.into());
        }
        let id = next.checked_add(symbols.plain(gap, bits)?).ok_or(EntropyError::Range)?;
        if base.binary_search(&id).is_ok() {
            return Err(EntropyError::Range.into());
        }
        added.push(id);
        next = match id.checked_add(1) {
            Some(next) => next,
            None if at + 1 == count => 0,
            None => return Err(EntropyError::Range.into()),
        };
    }
    kept.extend(added);
    kept.sort_unstable();
    Ok(Cow::Owned(kept))
}
