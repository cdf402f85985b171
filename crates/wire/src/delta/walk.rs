//! The one description of a frame's bytes, in either direction and either mode.

use crate::entropy::EntropyError;

use super::frame::{Column, Frame, Layout};
use super::past::Past;
use super::predict::{Guess, Predictor, magnitude};
use super::{DeltaError, Limits};

/// A mode in one direction: each call takes what to write, or ignores it and reads, and returns what was written or read.
pub(super) trait Symbols {
    fn plain(&mut self, value: u32, bits: u32) -> Result<u32, EntropyError>;
    fn row_changed(&mut self, changed: bool, scene: &Scene) -> Result<bool, EntropyError>;
    /// Whether this mode writes masks.
    const MASKS: bool;
    /// Says in which columns of a row that changed a guess may have failed. `quiet` are those where none failed lately.
    fn mask(&mut self, missed: u64, quiet: u64) -> Result<u64, EntropyError>;
    fn value(
        &mut self,
        residual: i32,
        column: usize,
        kind: Column,
        scene: &Scene,
    ) -> Result<i32, EntropyError>;
}

/// What is known before a symbol is coded, for modes to choose contexts by.
pub(super) struct Scene {
    /// Whether the row changed in the baseline (lowest bit), in the baseline of that, and so on.
    pub(super) changed: u8,
    /// Whether the rows before this one changed, the last in the lowest bit.
    pub(super) near_changed: usize,
    /// The flags of the row in the baseline, first in the lowest bit.
    pub(super) flags: u8,
    /// The most that a column of the row moved between the last two baselines.
    pub(super) speed: u32,
    /// How far off the row's guesses have lately been, as a magnitude.
    pub(super) row_doubt: u8,
    /// The same for the column in question, in sixteenths of a step.
    pub(super) error: u16,
    /// How far off the guesses of this row have been so far, or those of the row before, in sixteenths of a step.
    pub(super) row_error: u32,
    pub(super) guess: Guess,
}

/// What a walk makes besides symbols.
pub(super) struct Walked {
    pub(super) values: Vec<i32>,
    pub(super) changes: Vec<u8>,
    pub(super) errors: Vec<u16>,
}

/// Walks over the rows of a frame with the given ids. `truth` holds its values when writing.
pub(super) fn rows<S: Symbols, P: Predictor>(
    symbols: &mut S,
    predictor: &mut P,
    layout: &Layout,
    past: &Past<'_>,
    truth: Option<&[i32]>,
) -> Result<Walked, DeltaError> {
    let width = layout.width();
    let count = past.rows();
    let mut walk = Walk {
        symbols,
        predictor,
        columns: layout.columns(),
        past,
        out: Walked {
            values: Vec::with_capacity(count * width),
            changes: Vec::with_capacity(count),
            errors: Vec::with_capacity(count * width),
        },
        near_changed: 0,
        last_error: 0,
    };
    for row in 0..count {
        walk.row(row, truth.map(|values| &values[row * width..][..width]))?;
    }
    Ok(walk.out)
}

struct Walk<'a, S, P> {
    symbols: &'a mut S,
    predictor: &'a mut P,
    columns: &'a [Column],
    past: &'a Past<'a>,
    out: Walked,
    near_changed: usize,
    last_error: u32,
}

/// Errors that a fresh row starts from: nothing is known of it.
const FRESH_ERROR: u16 = 1 << 12;

impl<S: Symbols, P: Predictor> Walk<'_, S, P> {
    fn row(&mut self, row: usize, truth: Option<&[i32]>) -> Result<(), DeltaError> {
        let width = self.columns.len();
        let kept = self.past.newest().zip(self.past.place(0, row));
        let kept =
            kept.map(|(newest, place)| (newest.changes[place], &newest.errors[place * width..][..width]));
        let base = self.past.row(0, row);
        let (changes, errors) = kept.unzip();
        let changed = changes.unwrap_or(1);
        let mut scene = Scene {
            changed,
            near_changed: self.near_changed,
            flags: base.map_or(0, |base| flags(self.columns, base)),
            speed: 0,
            row_doubt: 0,
            error: 0,
            row_error: self.last_error,
            guess: Guess::default(),
        };
        // Most rows rest, and for those nothing is worked out that needs no saying.
        if let (Some(base), Some(errors), true) = (base, errors, changed != 0) {
            scene.speed = self.past.row(1, row).map_or(0, |before| speed(self.columns, base, before));
            scene.row_doubt = magnitude(errors.iter().map(|&error| u32::from(error)).sum());
        }
        // A row that was not there before has always changed.
        let changed = match base {
            None => true,
            Some(base) => self.symbols.row_changed(truth.is_some_and(|truth| truth != base), &scene)?,
        };
        self.out.changes.push((scene.changed << 1) | u8::from(changed));
        self.near_changed = (self.near_changed << 1) | usize::from(changed);
        match (base, errors) {
            (Some(base), Some(errors)) if !changed => {
                self.out.values.extend_from_slice(base);
                self.out.errors.extend_from_slice(errors);
                Ok(())
            }
            _ => self.changed_row(row, errors, truth, &mut scene),
        }
    }

    fn changed_row(
        &mut self,
        row: usize,
        errors: Option<&[u16]>,
        truth: Option<&[i32]>,
        scene: &mut Scene,
    ) -> Result<(), DeltaError> {
        let at = self.out.values.len();
        let mask = self.mask(row, errors, truth)?;
        let mut row_error = None;
        for column in 0..self.columns.len() {
            let kind = self.columns[column];
            scene.guess = self.guess(row, column, truth);
            scene.error = errors.map_or(FRESH_ERROR, |errors| errors[column]);
            let mut rest = truth.map_or(0, |truth| residual(kind, truth[column], scene.guess.value));
            if (mask >> column) & 1 == 1 {
                rest = self.symbols.value(rest, column, kind, scene)?;
            }
            let value = restore(kind, rest, scene.guess.value);
            if !kind.holds(value) {
                return Err(EntropyError::Range.into());
            }
            self.out.values.push(value);
            let size = sixteenths(rest);
            self.out.errors.push(((u32::from(scene.error) + size) / 2) as u16);
            if !matches!(kind, Column::Flag | Column::Largest { .. }) {
                scene.row_error = row_error.map_or(size, |before| u32::midpoint(before, size));
                row_error = Some(scene.row_error);
            }
        }
        self.last_error = scene.row_error;
        if errors.is_some() {
            self.predictor.learn(self.past, row, &self.out.values[at..]);
        }
        Ok(())
    }

    /// Columns whose guess was right lately are not mentioned one by one as long as all of them still are.
    fn mask(
        &mut self,
        row: usize,
        errors: Option<&[u16]>,
        truth: Option<&[i32]>,
    ) -> Result<u64, EntropyError> {
        if !S::MASKS {
            return Ok(u64::MAX);
        }
        let mut missed = 0;
        if let Some(truth) = truth {
            // A reader makes these guesses one by one, as it comes to know the columns before them.
            for column in 0..self.columns.len() {
                let guess = self.guess(row, column, Some(truth));
                let rest = residual(self.columns[column], truth[column], guess.value);
                missed |= u64::from(rest != 0) << column;
            }
        }
        let quiet = errors.unwrap_or(&[]).iter().enumerate();
        let quiet = quiet.fold(0, |all, (column, &error)| all | (u64::from(error == 0) << column));
        self.symbols.mask(missed, quiet)
    }

    /// The guess for a column, given those before it: the truth where it is known, or else what was read.
    fn guess(&mut self, row: usize, column: usize, truth: Option<&[i32]>) -> Guess {
        let start = row * self.columns.len();
        if self.past.place(0, row).is_some() {
            let known = truth.unwrap_or(&self.out.values[start..]);
            return self.predictor.guess(self.past, row, column, &known[..column]);
        }
        // The row before is the best that is known of a row that was not there.
        let before = start.checked_sub(self.columns.len());
        let value = before.map_or(0, |before| self.out.values[before + column]);
        Guess { value, lean: 0, doubt: 31, moved: 0 }
    }
}

/// The size of a residual in sixteenths of a step; larger ones are all alike.
fn sixteenths(rest: i32) -> u32 {
    rest.unsigned_abs().min(4_000) * 16
}

fn residual(kind: Column, value: i32, guess: i32) -> i32 {
    match kind {
        Column::Flag => value ^ (guess & 1),
        // The others are numbered from the guess on.
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

fn flags(columns: &[Column], row: &[i32]) -> u8 {
    let flags = columns.iter().zip(row).filter(|(column, _)| **column == Column::Flag);
    flags.take(2).enumerate().fold(0, |all, (at, (_, &value))| all | (value as u8) << at)
}

fn speed(columns: &[Column], base: &[i32], before: &[i32]) -> u32 {
    let moved = columns.iter().zip(base.iter().zip(before));
    moved
        .map(|(column, (&to, &from))| column.difference(to, from).unsigned_abs())
        .max()
        .unwrap_or(0)
        .min(1 << 20)
}

/// Codes which entities the frame has: those of the baseline without some, and some that are new.
pub(super) fn ids<S: Symbols>(
    symbols: &mut S,
    frame: Option<&Frame>,
    base: &[u32],
    limits: &Limits,
) -> Result<Vec<u32>, DeltaError> {
    let truth = frame.map(Frame::ids);
    let same = symbols.plain(u32::from(truth.is_some_and(|ids| ids == base)), 1)? == 1;
    if same {
        return Ok(base.to_vec());
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
        // A gap is told by its width in bits, then its bits.
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
    Ok(kept)
}
